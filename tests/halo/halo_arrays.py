"""Arrays of any strides in any memory: a view of a block of bytes, all of which can be read back."""

from __future__ import annotations

from typing import Any

import numpy as np
from halo_cases import Field

from support.memory import HOST, at_hand

_GAP = 5  # bytes before and behind the array's own


def strides_of(layout: str, shape: tuple[int, ...], cell_bytes: int, axes: tuple[int, ...]) -> tuple[list[int], int]:
    """Strides by axis, and the offset of the cell with all indices 0 from the lowest one."""
    order = {"F": range(len(shape)), "turned": axes[::-1]}.get(layout, range(len(shape))[::-1])
    order = [*order, *(axis for axis in range(len(shape)) if axis not in order)]
    strides, step, first = [0] * len(shape), cell_bytes, 0
    for axis in order:
        strides[axis] = step * (2 if layout == "steps" else 1)
        step = strides[axis] * max(1, shape[axis])
    if layout == "back":
        for axis in range(0, len(shape), 2):
            first += strides[axis] * max(0, shape[axis] - 1)
            strides[axis] = -strides[axis]
    return strides, first


class _OnGpu:
    """The interface of a GPU library's array."""

    def __init__(self, address: int, like: np.ndarray) -> None:
        descr = like.dtype.descr
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": like.shape,
            "typestr": like.dtype.str,
            "descr": descr,
            "data": (address, False),
            "strides": like.strides,
            "stream": None,
        }


class Array:
    """One array of a field; `contents` has the grid's axes first."""

    def __init__(self, field: Field, rank: int, contents: np.ndarray) -> None:
        n_dims = contents.ndim - len(field.further)
        first = field.axes or tuple(range(n_dims))
        self._order = [*first, *(axis for axis in range(contents.ndim) if axis not in first)]
        shape = [0] * contents.ndim
        for at, axis in enumerate(self._order):
            shape[axis] = contents.shape[at]
        layout = field.layouts[rank % len(field.layouts)]
        self._dtype = field.numpy_dtype
        self._place = tuple(shape), *strides_of(layout, tuple(shape), self._dtype.itemsize, first)
        self._gaps = np.random.default_rng(rank).integers(0, 256, self._n_bytes(), np.uint8)
        image = self._gaps.copy()
        self._cells(image)[...] = contents
        self._memory = at_hand(field.kind, image)
        self.array = self._given(field.kind)

    def _n_bytes(self) -> int:
        shape, strides, _ = self._place
        reach = sum(abs(stride) * max(0, n - 1) for n, stride in zip(shape, strides, strict=True))
        return 2 * _GAP * 8 + reach + self._dtype.itemsize

    def _view(self, image: np.ndarray, dtype: Any) -> np.ndarray:
        shape, strides, first = self._place
        return np.ndarray(shape, dtype, image, 8 * _GAP + first, strides)

    def _cells(self, image: np.ndarray) -> np.ndarray:
        return self._view(image, f"V{self._dtype.itemsize}").transpose(self._order)

    def _given(self, kind: str) -> object:
        if kind == HOST:
            return self._view(self._memory.read(), self._dtype)
        like = self._view(self._gaps, self._dtype)
        return _OnGpu(self._memory.address + 8 * _GAP + self._place[2], like)

    def write(self, region: Any, cells: np.ndarray) -> None:
        """Overwrite cells, the grid's axes first."""
        image = self._memory.read().copy()
        self._cells(image)[region] = cells
        self._memory.write(image)

    def cells(self) -> np.ndarray:
        """A copy of all cells, the grid's axes first."""
        return self._cells(self._memory.read()).copy()

    def check(self, cells: np.ndarray) -> None:
        """It holds these cells, and the bytes between and around them are untouched."""
        wanted = self._gaps.copy()
        self._cells(wanted)[...] = cells
        found = self._memory.read()
        wrong = np.argwhere(self._cells(found) != self._cells(wanted))
        assert not len(wrong), f"{len(wrong)} cells differ, the first ones at {wrong[:5].tolist()}"
        assert (found == wanted).all(), "bytes between cells have changed"
