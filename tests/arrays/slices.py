"""Random slices of random arrays, described so that they can be sent to ranks, and NumPy's copies of them.

A `Slice` says how elements of a given shape lie within a larger array: steps of either sign, transposed, beside
dimensions that an index took away, as a field of larger elements. The same shape can be had by many slices, so a
message can be sent from one and received into another.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from support import equal, memory
from support.typemap import Bytes

Array = np.ndarray[Any, np.dtype[Any]]

DTYPES = [
    *("?", "i1", "<i2", "<u4", "<i8", "<f2", "<f4", "<f8", "<c8", "<c16", "g", "G"),
    *(">i4", ">f8", ">c16", "S3", "<U2", "<M8[s]", "<m8[ms]", "V5"),
    [("a", "i1"), ("z", "<c16"), ("b", "<f4")],
    [("p", "<f4", (2, 3)), ("q", [("r", "<i2"), ("s", "S1")])],
    {"names": ["x", "y"], "formats": ["i1", "<f8"], "offsets": [0, 8], "itemsize": 24},
]
# Types that __cuda_array_interface__ cannot describe.
HOST_DTYPES = [
    {"names": ["x", "y"], "formats": ["<f8", "i1"], "offsets": [8, 0], "itemsize": 24},
    {"names": ["whole", "half"], "formats": ["<i8", "<i4"], "offsets": [0, 4]},
]


class Axis(NamedTuple):
    """Positions of one dimension's indices in the larger array."""

    start: int
    step: int
    behind: int


class Slice(NamedTuple):
    axes: tuple[Axis, ...]
    order: tuple[int, ...]  # of the dimensions in memory
    indexed: int  # extent of a further dimension, of which only the last index is taken; 0: there is none
    padding: tuple[int, int]  # bytes around each element

    def of(self, shape: tuple[int, ...], dtype: np.dtype[Any], contents: Bytes | None = None) -> tuple[Bytes, Array]:
        """The bytes of the larger array, and the slice of it. Without `contents` all zeros."""
        parent, index = self._parent(shape)
        before, after = self.padding
        element = np.dtype(
            {"names": ["v"], "formats": [dtype], "offsets": [before], "itemsize": before + dtype.itemsize + after}
        )
        raw = np.zeros(int(np.prod(parent)) * element.itemsize, np.uint8) if contents is None else contents
        larger = np.ndarray(parent, element, raw) if raw.size else np.empty(parent, element)
        return raw, larger["v"][(*index, ...)].transpose(np.argsort(self.order, kind="stable"))

    def _parent(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[Any, ...]]:
        extents: list[int] = []
        index: list[Any] = []
        for dimension in self.order:
            axis, n = self.axes[dimension], shape[dimension]
            used = (n - 1) * abs(axis.step) + 1 if n else 0
            extents.append(axis.start + used + axis.behind)
            forward = slice(axis.start, axis.start + used, abs(axis.step))
            last = axis.start + used - 1
            index.append(
                forward if axis.step > 0 or not n else slice(last, axis.start - 1 if axis.start else None, axis.step)
            )
        if self.indexed:
            return (*extents, self.indexed), (*index, self.indexed - 1)
        return tuple(extents), tuple(index)


def slices(n_dims: int) -> st.SearchStrategy[Slice]:
    steps = st.sampled_from((1, 1, 1, -1, 2, -2, 3))
    axis = st.builds(Axis, st.integers(0, 2), steps, st.integers(0, 2))
    return st.builds(
        Slice,
        st.tuples(*[axis] * n_dims),
        st.permutations(range(n_dims)).map(tuple),
        st.sampled_from((0, 0, 1, 3)),
        st.sampled_from(((0, 0), (0, 0), (0, 8), (4, 4), (1, 2))),
    )


class Case(NamedTuple):
    """One message: its elements, and where they lie at either end."""

    shape: tuple[int, ...]
    dtype: Any
    seed: int
    source: Slice
    target: Slice
    kinds: tuple[str, str] = (memory.HOST, memory.HOST)


@st.composite
def cases(draw: st.DrawFn, kinds: tuple[str, ...] = (memory.HOST,)) -> Case:
    """Up to four dimensions, some without elements, one in four over the eager limits."""
    shape = draw(st.lists(st.sampled_from((0, 1, 2, 2, 3, 5, 7)), max_size=4))
    if shape and draw(st.integers(0, 3)) == 0:
        shape[draw(st.integers(0, len(shape) - 1))] *= 60
    kind = st.sampled_from(kinds)
    return Case(
        tuple(shape),
        draw(st.sampled_from(DTYPES + HOST_DTYPES if kinds == (memory.HOST,) else DTYPES)),
        draw(st.integers(0, 2**32 - 1)),
        draw(slices(len(shape))),
        draw(slices(len(shape))),
        (draw(kind), draw(kind)),
    )


def random_bytes(size: int, seed: int) -> Bytes:
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


def assign(target: Array, source: Array) -> None:
    """NumPy's copy, field by field: padding stays as it is."""
    if target.dtype.names is None:
        target[...] = source
    else:
        for name in target.dtype.names:
            assign(target[name], source[name])


class OnGpu:
    """The slice in the memory of a GPU or of the fake device."""

    def __init__(self, kind: str, raw: Bytes, array: Array) -> None:
        self._memory = memory.at_hand(kind, raw)
        inside = array.__array_interface__["data"][0] - raw.ctypes.data if array.size else 0
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
            "descr": array.dtype.descr,
            "data": (self._memory.address + inside, False),
        }

    def read(self) -> Bytes:
        return self._memory.read()


class End:
    """One end of a message: the array to pass to tempi.view, and the bytes that it is a slice of."""

    def __init__(self, kind: str, raw: Bytes, array: Array) -> None:
        self._on_gpu = None if kind == memory.HOST else OnGpu(kind, raw, array)
        self._raw = raw
        self.array: Array | OnGpu = self._on_gpu or array

    def read(self) -> Bytes:
        return self._on_gpu.read() if self._on_gpu else self._raw


def source_of(case: Case) -> End:
    dtype = np.dtype(case.dtype)
    raw, _ = case.source.of(case.shape, dtype)
    return End(case.kinds[0], *case.source.of(case.shape, dtype, random_bytes(raw.size, case.seed)))


def target_of(case: Case) -> End:
    return End(case.kinds[1], *case.target.of(case.shape, np.dtype(case.dtype)))


def check_received(case: Case, target: End) -> None:
    """The received elements are those that NumPy would have copied; nothing beside them was touched."""
    dtype = np.dtype(case.dtype)
    sent = source_of(case._replace(kinds=(memory.HOST, memory.HOST))).array
    wanted, array = case.target.of(case.shape, dtype)
    assign(array, sent)
    equal.check(target.read(), wanted)
