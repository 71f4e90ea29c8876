"""One class for each MPI datatype constructor: its arguments and the placement of its children's copies."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from support.typemap import Bounds, BoundsOf, Int64s, Placement, Spec


def _steps(count: int, step: int) -> Int64s:
    return np.arange(count, dtype=np.int64) * step


def _blocks(blocklengths: tuple[int, ...], displacements: list[int], extent: int) -> Int64s:
    """Blocks of consecutive elements, each at its displacement in bytes."""
    assert len(blocklengths) == len(displacements)
    lengths = np.array(blocklengths, np.int64)
    begins = np.array(displacements, np.int64) - (np.cumsum(lengths) - lengths) * extent  # of a block at index 0
    return np.repeat(begins, lengths) + _steps(int(lengths.sum()), extent)


@dataclass(frozen=True)
class Dup(Spec):
    child: Spec

    @property
    def inherits_bounds(self) -> bool:
        return True

    def placements(self, bounds: BoundsOf) -> list[Placement]:
        return [(self.child, _steps(1, 0))]

    def explicit_bounds(self, bounds: BoundsOf) -> Bounds:
        return bounds(self.child)


@dataclass(frozen=True)
class Resized(Spec):
    lower: int
    extent: int
    child: Spec

    def placements(self, bounds: BoundsOf) -> list[Placement]:
        return [(self.child, _steps(1, 0))]

    def explicit_bounds(self, bounds: BoundsOf) -> Bounds:
        return Bounds(self.lower, self.lower + self.extent)


@dataclass(frozen=True)
class Contiguous(Spec):
    count: int
    child: Spec

    def placements(self, bounds: BoundsOf) -> list[Placement]:
        return [(self.child, _steps(self.count, bounds(self.child).extent))]


@dataclass(frozen=True)
class Hvector(Spec):
    count: int
    blocklength: int
    stride_bytes: int
    child: Spec

    def placements(self, bounds: BoundsOf) -> list[Placement]:
        within = _steps(self.blocklength, bounds(self.child).extent)
        return [(self.child, (_steps(self.count, self.stride_bytes)[:, None] + within).ravel())]


@dataclass(frozen=True)
class Vector(Spec):
    count: int
    blocklength: int
    stride: int
    child: Spec

    def placements(self, bounds: BoundsOf) -> list[Placement]:
        extent = bounds(self.child).extent
        return Hvector(self.count, self.blocklength, self.stride * extent, self.child).placements(bounds)


@dataclass(frozen=True)
class Hindexed(Spec):
    blocklengths: tuple[int, ...]
    displacements: tuple[int, ...]  # bytes
    child: Spec

    def placements(self, bounds: BoundsOf) -> list[Placement]:
        extent = bounds(self.child).extent
        return [(self.child, _blocks(self.blocklengths, list(self.displacements), extent))]


@dataclass(frozen=True)
class Indexed(Spec):
    blocklengths: tuple[int, ...]
    displacements: tuple[int, ...]  # extents of the child
    child: Spec

    def placements(self, bounds: BoundsOf) -> list[Placement]:
        extent = bounds(self.child).extent
        return [(self.child, _blocks(self.blocklengths, [d * extent for d in self.displacements], extent))]


@dataclass(frozen=True)
class HindexedBlock(Spec):
    blocklength: int
    displacements: tuple[int, ...]  # bytes
    child: Spec

    def placements(self, bounds: BoundsOf) -> list[Placement]:
        lengths = (self.blocklength,) * len(self.displacements)
        return Hindexed(lengths, self.displacements, self.child).placements(bounds)


@dataclass(frozen=True)
class IndexedBlock(Spec):
    blocklength: int
    displacements: tuple[int, ...]  # extents of the child
    child: Spec

    def placements(self, bounds: BoundsOf) -> list[Placement]:
        lengths = (self.blocklength,) * len(self.displacements)
        return Indexed(lengths, self.displacements, self.child).placements(bounds)


@dataclass(frozen=True)
class Struct(Spec):
    blocklengths: tuple[int, ...]
    displacements: tuple[int, ...]  # bytes
    members: tuple[Spec, ...]

    @property
    def children(self) -> tuple[Spec, ...]:
        return self.members

    def placements(self, bounds: BoundsOf) -> list[Placement]:
        blocks = zip(self.blocklengths, self.displacements, self.members, strict=True)
        return [(child, d + _steps(n, bounds(child).extent)) for n, d, child in blocks]


def _grid(indices: list[Int64s], sizes: tuple[int, ...], order: str) -> Int64s:
    """Linear positions in an array of `sizes` of all combinations of `indices`, in the array's own order."""
    dims = list(zip(indices, sizes, strict=True))
    if order == "F":
        dims.reverse()  # now the last dimension is the fastest in both orders
    positions = np.zeros(1, np.int64)
    for index, size in dims:
        positions = (positions[:, None] * size + index[None, :]).ravel()
    return positions


@dataclass(frozen=True)
class Subarray(Spec):
    sizes: tuple[int, ...]
    subsizes: tuple[int, ...]
    starts: tuple[int, ...]
    order: str  # "C" or "F"
    child: Spec

    def placements(self, bounds: BoundsOf) -> list[Placement]:
        indices = [s + _steps(n, 1) for s, n in zip(self.starts, self.subsizes, strict=True)]
        return [(self.child, _grid(indices, self.sizes, self.order) * bounds(self.child).extent)]

    def explicit_bounds(self, bounds: BoundsOf) -> Bounds:
        return Bounds(0, prod(self.sizes) * bounds(self.child).extent)


@dataclass(frozen=True)
class Darray(Spec):
    rank: int
    sizes: tuple[int, ...]
    distributions: tuple[str, ...]  # "block", "cyclic" or "none"
    arguments: tuple[int | None, ...]  # None is the default argument
    processes: tuple[int, ...]  # the grid; ranks are in row-major order whatever `order` is
    order: str
    child: Spec

    def _owned(self, dim: int, coordinate: int) -> Int64s:
        """The global indices of one dimension that this process holds, ascending."""
        size, processes = self.sizes[dim], self.processes[dim]
        index, argument = _steps(size, 1), self.arguments[dim]
        if self.distributions[dim] == "none":
            return index
        if argument is None:
            argument = 1 if self.distributions[dim] == "cyclic" else -(-size // processes)
        return index[index // argument % processes == coordinate]

    def placements(self, bounds: BoundsOf) -> list[Placement]:
        coordinates = np.unravel_index(self.rank, self.processes)
        indices = [self._owned(dim, int(c)) for dim, c in enumerate(coordinates)]
        return [(self.child, _grid(indices, self.sizes, self.order) * bounds(self.child).extent)]

    def explicit_bounds(self, bounds: BoundsOf) -> Bounds:
        return Bounds(0, prod(self.sizes) * bounds(self.child).extent)
