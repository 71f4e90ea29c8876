"""The messages of a halo exchange on a periodic grid of ranks: one to each of up to 26 neighbours.

Axes are z, y, x; x is contiguous in memory and varies fastest among the ranks, as MPI_Cart_create numbers
them. A rank's array is `radius` cells wider on every side. Boxes and their features are made by the native
module, from the tree of a subarray, as the shim makes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from tempi import _native
from tempi._words import counted
from tempi.halo.process_grid import Direction, directions
from tempi.model.features import PAGE_BYTES, SECTOR_BYTES, Features, units
from tempi.simulate.errors import SimulationError
from tempi.simulate.messages import Integers, Messages

AXES = "zyx"
MOST_RANKS = 1 << 18  # half an hour, and 4 GiB
MOST_BYTES = 1 << 50  # of a rank's arrays
Cells = tuple[int, int, int]


def check_ranks(n_ranks: int) -> None:
    """SimulationError if there are too many ranks."""
    if n_ranks > MOST_RANKS:
        raise SimulationError(
            f"the job has {n_ranks:,} ranks: at most {MOST_RANKS:,} are possible (--nodes, --ranks-per-node)"
        )


def balanced_dims(n_ranks: int) -> Cells:
    """Ranks along z, y and x, as nearly a cube as possible, the most along z: MPI_Dims_create's grid."""
    best: Cells = (n_ranks, 1, 1)
    for x in (n for n in range(1, round(n_ranks ** (1 / 3)) + 1) if n_ranks % n == 0):
        rest = n_ranks // x
        y = max(n for n in range(1, int(rest**0.5) + 1) if rest % n == 0)
        if y >= x:
            best = min(best, (rest // y, y, x), key=lambda dims: (max(dims) - min(dims), dims))
    return best


def parts_of(n_cells: int, n_parts: int) -> Integers:
    """Cells of each part; if it does not divide evenly, the first own one more."""
    size, longer = divmod(n_cells, n_parts)
    return size + (np.arange(n_parts) < longer)


def features_of(boxes: Sequence[_native.Box]) -> Features:
    """Features of a transfer, as ``src/pack/plan.cpp`` counts them."""
    found = [0, 0, 0, 0]
    for box in boxes:
        blocks = box.payload_bytes // box.block_bytes
        sectors = units(box.block_bytes, SECTOR_BYTES) * SECTOR_BYTES
        apart = max(abs(box.dims[0].src_stride), box.block_bytes) if box.dims else box.block_bytes
        span = box.block_bytes + sum(abs(dim.src_stride) * (dim.count - 1) for dim in box.dims)
        pages = min(blocks * units(box.block_bytes, PAGE_BYTES), units(span, PAGE_BYTES))
        for i, n in enumerate((box.payload_bytes, blocks, blocks * min(apart, sectors), pages)):
            found[i] += n
    return Features(*found)


@dataclass(frozen=True)
class Halo:
    """A halo exchange.

    Attributes
    ----------
    cells : tuple of int
        Of the global grid, along z, y and x.
    dims : tuple of int
        Ranks along z, y and x.
    radius, quantities, element_bytes : int
        Ghost cells on each side, arrays, and bytes of an element.

    Raises
    ------
    SimulationError
        If a rank has fewer cells than its neighbours want, or the numbers are too large.
    """

    cells: Cells
    dims: Cells
    radius: int = 3
    quantities: int = 8
    element_bytes: int = 8

    def __post_init__(self) -> None:
        check_ranks(self.n_ranks)
        if self._bytes_of_rank > MOST_BYTES:
            raise SimulationError(
                f"the arrays of a rank take more than {MOST_BYTES >> 40:,} TiB, which is the limit: use a "
                "smaller grid (--size) or fewer arrays (--quantities)"
            )
        for axis, n_cells, n_ranks in zip(AXES, self.cells, self.dims, strict=True):
            if n_cells // n_ranks < max(1, self.radius):
                share = f"{counted(n_cells, 'cell')} for {counted(n_ranks, 'rank')}"
                raise SimulationError(
                    f"along {axis}, the grid has {share}, but each rank needs at least {self.radius} "
                    "(--radius): use fewer ranks, a larger grid or a smaller radius"
                )

    @property
    def n_ranks(self) -> int:
        """Ranks of the grid."""
        return prod(self.dims)

    @property
    def _bytes_of_rank(self) -> int:
        padded = [n // k + 2 * self.radius for n, k in zip(self.cells, self.dims, strict=True)]
        return prod(padded) * self.quantities * self.element_bytes

    def messages(self, each_quantity: bool = False) -> Messages:
        """A message for each rank and direction: of all quantities, or of one, that is sent for each of them.

        They are in the order of ranks, and of a rank in that of the directions.
        """
        ways = tuple(directions(3))
        n = self.n_ranks
        features = [[self._features(size, d, each_quantity) for d in ways] for size in self._sizes]
        of_rank = np.array(features, np.int64)[self._size_of_rank]
        n_bytes, blocks, touched, pages = of_rank.reshape(n * len(ways), 4).T.copy()
        target = np.stack([self._neighbour(d) for d in ways], axis=1).reshape(-1)
        source = np.repeat(np.arange(n), len(ways))
        indexed = np.zeros(len(source), bool)
        return Messages(source, target, n_bytes, blocks, touched, pages, blocks == 1, indexed)

    @cached_property
    def _coordinates(self) -> list[Integers]:
        return [at.reshape(-1) for at in np.indices(self.dims)]

    @cached_property
    def _sizes(self) -> list[Cells]:
        """The different blocks that ranks own."""
        along = [sorted(set(parts_of(n, k).tolist())) for n, k in zip(self.cells, self.dims, strict=True)]
        return list(product(*along))

    @cached_property
    def _size_of_rank(self) -> Integers:
        number = {size: i for i, size in enumerate(self._sizes)}
        axes = zip(self.cells, self.dims, self._coordinates, strict=True)
        parts = [parts_of(n, k)[at] for n, k, at in axes]
        sizes, place = np.unique(np.stack(parts, axis=1), axis=0, return_inverse=True)
        numbers = np.array([number[(int(z), int(y), int(x))] for z, y, x in sizes])
        return np.asarray(numbers[place.reshape(-1)], np.int64)

    def _neighbour(self, direction: Direction) -> Integers:
        z, y, x = (
            (at + step) % n for at, step, n in zip(self._coordinates, direction, self.dims, strict=True)
        )
        return np.asarray((z * self.dims[1] + y) * self.dims[2] + x, np.int64)

    def _features(self, size: Cells, direction: Direction, each_quantity: bool) -> Features:
        tree = self._tree(size, direction, 1 if each_quantity else self.quantities)
        return features_of(_native.layout(_native.canonicalise(tree)).boxes)

    def _tree(self, size: Cells, direction: Direction, quantities: int) -> _native.Tree:
        """The subarray that travels in a direction, of each quantity."""
        counts = [self.radius if step else n for step, n in zip(direction, size, strict=True)]
        tree = _native.dense(counts[2] * self.element_bytes)
        stride = self.element_bytes
        for axis, count in ((2, counts[1]), (1, counts[0]), (0, quantities)):
            stride *= size[axis] + 2 * self.radius
            tree = _native.strided(count, stride, tree)
        return tree
