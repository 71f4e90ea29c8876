"""The oracle: MPI datatypes straight from the standard's definitions, independent of the C++ that they check.

A datatype is described by a *spec*. Every derived spec gives the placement of its children's copies (`placements`, in
type-map order); the type map and the bounds follow from that alone. The extents of children come from a `bounds`
function, because the padding of struct-like extents is left to the implementation: tests that run a library pass the
library's bounds (`Builder.bounds` in building.py), all others use `standard_bounds`.

Example: Vector(3, 2, 4, Named("INT")) has the runs (0,4) (4,4) (16,4) (20,4) (32,4) (36,4) and the bounds 0, 40.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Bounds:
    lower: int
    upper: int

    @property
    def extent(self) -> int:
        return self.upper - self.lower


BoundsOf = Callable[["Spec"], Bounds]
Placement = tuple["Spec", Int64s]  # a child and the displacements (bytes) of its copies, in type-map order


@dataclass(frozen=True)
class Spec:
    """A datatype. Equality and hash are structural, so results can be cached by spec."""

    @property
    def children(self) -> tuple[Spec, ...]:
        child = getattr(self, "child", None)
        return () if child is None else (child,)

    @property
    def inherits_bounds(self) -> bool:
        return False

    @property
    def depth(self) -> int:
        return 1 + max((child.depth for child in self.children), default=0)

    def placements(self, bounds: BoundsOf) -> list[Placement]:
        raise NotImplementedError

    def explicit_bounds(self, bounds: BoundsOf) -> Bounds | None:
        """Bounds that the constructor sets whatever the type map says (resized, subarray, darray, named)."""
        return None


def nodes(spec: Spec) -> Iterator[Spec]:
    yield spec
    for child in spec.children:
        yield from nodes(child)


# The named types: bytes of data at their offsets, and the extent. Pair types have holes.
NAMED: dict[str, tuple[list[tuple[int, int]], int]] = {
    **{name: ([(0, 1)], 1) for name in ("BYTE", "CHAR", "SIGNED_CHAR", "UINT8_T", "INT8_T", "CHARACTER")},
    **{name: ([(0, 2)], 2) for name in ("SHORT", "UINT16_T")},
    **{name: ([(0, 4)], 4) for name in ("INT", "UNSIGNED", "FLOAT", "INT32_T", "INTEGER", "REAL")},
    **{
        name: ([(0, 8)], 8)
        for name in ("LONG", "LONG_LONG", "DOUBLE", "INT64_T", "UINT64_T", "AINT", "OFFSET", "COUNT")
    },
    **{name: ([(0, 8)], 8) for name in ("DOUBLE_PRECISION", "C_FLOAT_COMPLEX", "COMPLEX")},
    **{name: ([(0, 16)], 16) for name in ("C_DOUBLE_COMPLEX", "DOUBLE_COMPLEX", "LONG_DOUBLE")},
    "PACKED": ([(0, 1)], 1),
    "WCHAR": ([(0, 4)], 4),
    "C_BOOL": ([(0, 1)], 1),
    "TWOINT": ([(0, 4), (4, 4)], 8),
    "FLOAT_INT": ([(0, 4), (4, 4)], 8),
    "SHORT_INT": ([(0, 2), (4, 4)], 8),
    "LONG_INT": ([(0, 8), (8, 4)], 16),
    "DOUBLE_INT": ([(0, 8), (8, 4)], 16),
    "LONG_DOUBLE_INT": ([(0, 16), (16, 4)], 32),
}
PAIRS = ("TWOINT", "FLOAT_INT", "SHORT_INT", "LONG_INT", "DOUBLE_INT", "LONG_DOUBLE_INT")


@dataclass(frozen=True)
class Named(Spec):
    name: str

    def explicit_bounds(self, bounds: BoundsOf) -> Bounds:
        return Bounds(0, NAMED[self.name][1])


@dataclass(frozen=True)
class F90(Spec):
    """MPI_Type_create_f90_{integer,real,complex}: kind, precision (reals) and range."""

    kind: str
    precision: int
    range: int

    @property
    def bytes(self) -> int:
        if self.kind == "integer":
            return next(size for digits, size in ((2, 1), (4, 2), (9, 4), (18, 8)) if self.range <= digits)
        real = 4 if self.precision <= 6 and self.range <= 37 else 8
        return real if self.kind == "real" else 2 * real

    def explicit_bounds(self, bounds: BoundsOf) -> Bounds:
        return Bounds(0, self.bytes)


def standard_bounds(spec: Spec) -> Bounds:
    """Bounds by the standard without alignment padding."""
    return derived_bounds(spec, standard_bounds)


def marked(spec: Spec, bounds: BoundsOf) -> bool:
    """True if the type map holds bounds set explicitly: then, by the standard, no other entry counts for the bounds."""
    if isinstance(spec, Named | F90):
        return False
    if spec.explicit_bounds(bounds) is not None and not spec.inherits_bounds:
        return True
    return any(len(d) and marked(child, bounds) for child, d in spec.placements(bounds))


def derived_bounds(spec: Spec, bounds: BoundsOf) -> Bounds:
    """Bounds of a spec whose children have `bounds`: those of the outermost copies, 0 and 0 without any."""
    explicit = spec.explicit_bounds(bounds)
    if explicit is not None:
        return explicit
    copies = [(child, displacements) for child, displacements in spec.placements(bounds) if len(displacements)]
    if any(marked(child, bounds) for child, _ in copies):
        copies = [(child, displacements) for child, displacements in copies if marked(child, bounds)]
    return Bounds(
        min((int(d.min()) + bounds(child).lower for child, d in copies), default=0),
        max((int(d.max()) + bounds(child).upper for child, d in copies), default=0),
    )


@dataclass(frozen=True)
class TypeMap:
    """(offset, length) of every basic element, in type-map order."""

    offsets: Int64s
    lengths: Int64s = field(repr=False)

    @cached_property
    def size(self) -> int:
        return int(self.lengths.sum())

    @cached_property
    def true_bounds(self) -> Bounds:
        if not self.size:
            return Bounds(0, 0)
        return Bounds(int(self.offsets.min()), int((self.offsets + self.lengths).max()))

    def repeated(self, displacements: Int64s) -> TypeMap:
        offsets = (displacements[:, None] + self.offsets[None, :]).ravel()
        return TypeMap(offsets, np.tile(self.lengths, len(displacements)))

    @cached_property
    def is_contiguous(self) -> bool:
        """Each element begins where the one before it ends."""
        return bool((self.offsets[1:] == self.offsets[:-1] + self.lengths[:-1]).all())

    @cached_property
    def pieces(self) -> tuple[Int64s, int]:
        """The bytes in type-map order, in equal pieces as long as can be: their offsets, and the length of each."""
        is_first = np.ones(len(self.offsets), bool)  # of the elements that follow each other without a gap
        is_first[1:] = self.offsets[1:] != self.offsets[:-1] + self.lengths[:-1]
        (first,) = is_first.nonzero()
        begins, lengths = self.offsets[first], np.add.reduceat(self.lengths, first) if len(first) else first
        length = int(np.gcd.reduce(lengths)) or 1
        n_before = np.cumsum(lengths // length) - lengths // length
        within = np.arange(self.size // length, dtype=np.int64) - np.repeat(n_before, lengths // length)
        return np.repeat(begins, lengths // length) + within * length, length

    def byte_offsets(self) -> Int64s:
        """The offset of every byte, in type-map order."""
        offsets, length = self.pieces
        return (offsets[:, None] + np.arange(length, dtype=np.int64)).ravel()


def joined(maps: Iterable[TypeMap]) -> TypeMap:
    maps = list(maps)
    empty = [np.zeros(0, np.int64)]
    return TypeMap(
        np.concatenate([m.offsets for m in maps] or empty), np.concatenate([m.lengths for m in maps] or empty)
    )


def type_map(spec: Spec, bounds: BoundsOf = standard_bounds) -> TypeMap:
    if isinstance(spec, Named):
        runs = np.array(NAMED[spec.name][0], np.int64)
        return TypeMap(runs[:, 0], runs[:, 1])
    if isinstance(spec, F90):
        return TypeMap(np.array([0], np.int64), np.array([spec.bytes], np.int64))
    return joined(type_map(child, bounds).repeated(d) for child, d in spec.placements(bounds))


def message_map(spec: Spec, count: int, bounds: BoundsOf = standard_bounds) -> TypeMap:
    """The type map of `count` elements, an extent apart."""
    return _message_map(spec, count, tuple(map(bounds, nodes(spec))))


@lru_cache(maxsize=4)  # both ends of a message, for all of its rounds; a large one takes megabytes
def _message_map(spec: Spec, count: int, bounds_of_nodes: tuple[Bounds, ...]) -> TypeMap:
    bounds = dict(zip(nodes(spec), bounds_of_nodes, strict=True))
    return type_map(spec, bounds.__getitem__).repeated(np.arange(count, dtype=np.int64) * bounds[spec].extent)


def overlaps(message: TypeMap) -> bool:
    """True if a byte occurs twice: such a datatype may be packed, but not unpacked into."""
    return len(np.unique(message.byte_offsets())) != message.size


def _every_piece(memory: Bytes, length: int) -> Any:
    """The piece that begins at each byte."""
    return np.ndarray((max(len(memory) - length + 1, 0),), f"V{length}", buffer=memory, strides=(1,))


def reference_pack(message: TypeMap, memory: Bytes, origin: int) -> Bytes:
    """The packed bytes; `origin` is the index in `memory` of the address that MPI_Pack would get."""
    offsets, length = message.pieces
    packed: Bytes = _every_piece(memory, length)[offsets + origin].view(np.uint8)
    return packed


def reference_unpack(message: TypeMap, packed: Bytes, memory: Bytes, origin: int) -> None:
    """Where there are fewer bytes than the message has, they are the first ones."""
    offsets, length = message.pieces
    assert len(packed) <= message.size
    n_whole = len(packed) // length
    whole, rest = np.split(np.ascontiguousarray(packed), [n_whole * length])
    _every_piece(memory, length)[offsets[:n_whole] + origin] = whole.view(f"V{length}")
    if len(rest):
        begin = offsets[n_whole] + origin
        memory[begin : begin + len(rest)] = rest
