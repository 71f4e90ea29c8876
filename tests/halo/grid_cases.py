"""Exchanges on staggered and masked grids, and their results point by point, without tempi's geometry.

A point of an array with the stagger 1 lies between two cells of a dimension. It belongs to the block of the upper
cell, if a rank has this cell, else to that of the lower one. Cells have their index for the whole grid.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from halo_cases import Field

Cell = tuple[int, ...]


@dataclass(frozen=True)
class GridField:
    widths: tuple[tuple[int, int], ...]
    stagger: tuple[int, ...]
    field: Field = dataclasses.field(default_factory=Field)


@dataclass(frozen=True)
class Grid:
    dims: tuple[int, ...]
    shape: tuple[int, ...]  # cells of the whole grid
    periods: tuple[bool, ...]
    fields: tuple[GridField, ...]
    neighbours: str = "all"
    mask: tuple[bool, ...] | None = None  # of all places, the last dimension fastest
    listed: bool = False  # the ranks list their neighbours
    seed: int = 0

    @property
    def places(self) -> np.ndarray:
        """The number of the rank at each place, -1 where there is none."""
        full = np.ones(self.dims, bool) if self.mask is None else np.reshape(self.mask, self.dims)
        return np.where(full, np.cumsum(full).reshape(self.dims) - 1, -1)

    def cells_of(self, rank: int) -> list[range]:
        """The cells of a rank, by dimension."""
        (at,) = np.argwhere(self.places == rank)
        found = [np.array_split(np.arange(n), k)[i] for n, k, i in zip(self.shape, self.dims, at, strict=True)]
        return [range(part[0], part[-1] + 1) for part in found]

    def rank_of(self, cell: Cell) -> int:
        """The rank that has a cell, -1 if none; the index may be beyond a periodic end."""
        at = []
        for i, n, k, wraps in zip(cell, self.shape, self.dims, self.periods, strict=True):
            if not (wraps or 0 <= i < n):
                return -1
            parts = np.array_split(np.arange(n), k)
            at.append(next(place for place, part in enumerate(parts) if i % n in part))
        return int(self.places[tuple(at)])

    def neighbours_of(self, rank: int) -> dict[Cell, int]:
        (at,) = np.argwhere(self.places == rank)
        found = {}
        for direction in product((-1, 0, 1), repeat=len(self.dims)):
            there = at + direction
            inside = [w or 0 <= i < k for i, k, w in zip(there, self.dims, self.periods, strict=True)]
            if any(direction) and all(inside):
                peer = int(self.places[tuple(there % self.dims)])
                if peer >= 0 and (self.neighbours == "all" or sum(map(abs, direction)) == 1):
                    found[direction] = peer
        return found


@dataclass
class Points:
    """The points of a rank's array: which are its own, which an exchange fills, and their place in the whole array."""

    shape: tuple[int, ...]
    own: np.ndarray = field(init=False)
    filled: np.ndarray = field(init=False)
    index: np.ndarray = field(init=False)  # in the whole array, by dimension

    def __post_init__(self) -> None:
        self.own, self.filled = np.zeros(self.shape, bool), np.zeros(self.shape, bool)
        self.index = np.zeros((len(self.shape), *self.shape), int)


def whole_shape(grid: Grid, one: GridField) -> tuple[int, ...]:
    each = zip(grid.shape, one.stagger, grid.periods, strict=True)
    return tuple(n + (extra and not wraps) for n, extra, wraps in each)


def points_of(grid: Grid, one: GridField, rank: int) -> Points:
    cells = grid.cells_of(rank)
    begins = [part.start - low for part, (low, _) in zip(cells, one.widths, strict=True)]
    each = zip(cells, one.widths, one.stagger, strict=True)
    points = Points(tuple(len(part) + low + high + extra for part, (low, high), extra in each))
    for place in np.ndindex(points.shape):
        point = [i + begin for i, begin in zip(place, begins, strict=True)]
        cell = next((cell for cell in _cells_at(point, one.stagger) if grid.rank_of(cell) >= 0), None)
        if cell is None:
            continue
        n_outside = sum(i not in part for i, part in zip(cell, cells, strict=True))
        points.own[place] = n_outside == 0
        points.filled[place] = 1 <= n_outside <= (1 if grid.neighbours == "faces" else len(cells))
        points.index[(slice(None), *place)] = [
            i % n if wraps else i for i, n, wraps in zip(point, grid.shape, grid.periods, strict=True)
        ]
    return points


def _cells_at(point: list[int], stagger: tuple[int, ...]) -> Iterator[Cell]:
    """The cells that touch a point, those that it belongs to first."""
    for back in product(*((0, 1) if extra else (0,) for extra in stagger)):
        yield tuple(i - step for i, step in zip(point, back, strict=True))
