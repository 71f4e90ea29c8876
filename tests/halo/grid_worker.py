"""The ranks of test_grid_halos.py and test_adjoint_halos.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from grid_cases import Grid, GridField, Points, points_of, whole_shape
from halo_arrays import Array
from halo_cases import random_cells
from mpi4py import MPI

import tempi
from support import equal

COMM = MPI.COMM_WORLD


class OneField:
    """This rank's array of a field, and the whole one that its own points are cut from."""

    def __init__(self, grid: Grid, number: int, contents: str) -> None:
        one: GridField = grid.fields[number]
        dtype = one.field.numpy_dtype
        self.points: Points = points_of(grid, one, COMM.rank)
        shape = (*self.points.shape, *one.field.further)
        whole = (*whole_shape(grid, one), *one.field.further)
        seed = grid.seed + 77 * number
        if contents == "bytes":
            self.before = random_cells(seed + COMM.rank + 1, shape, dtype.itemsize)
            self.whole = random_cells(seed, whole, dtype.itemsize)
            own = self.points.own
            self.before[own] = self.whole[tuple(self.points.index[:, own])]
        else:
            self.before = small_numbers(seed + COMM.rank, shape, dtype)
            self.whole = np.zeros(whole, dtype)
        self.array = Array(one.field, COMM.rank, as_bytes(self.before))
        self.given = tempi.Field(self.array.array, one.widths, one.stagger, one.field.axes)

    def now(self) -> np.ndarray:
        """All points, the axes of the grid first."""
        return self.array.cells()

    def filled(self) -> np.ndarray:
        """What an exchange leaves."""
        after, filled = self.before.copy(), self.points.filled
        after[filled] = self.whole[tuple(self.points.index[:, filled])]
        return after

    def accumulated(self) -> np.ndarray:
        """What the adjoint leaves."""
        total = np.zeros_like(self.whole)
        for mine in (self.points.own, self.points.filled):
            np.add.at(total, tuple(self.points.index[:, mine]), self.before[mine])
        summed = np.empty_like(total)
        COMM.Allreduce(total, summed)
        after, own = self.before.copy(), self.points.own
        after[own] = summed[tuple(self.points.index[:, own])]
        after[self.points.filled] = 0
        return after


def small_numbers(seed: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Numbers whose sums are exact."""
    found = np.random.default_rng(seed).integers(0, 3, (2, *shape))
    return (found[0] + 1j * found[1]).astype(dtype) if dtype.kind == "c" else found[0].astype(dtype)


def as_bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(f"V{array.dtype.itemsize}") if array.dtype.kind != "V" else array


def make(grid: Grid, fields: list[OneField], boundary: Any = None) -> tempi.HaloExchange:
    given = [one.given for one in fields]
    axes = range(len(grid.dims)) if all(one.field.further for one in grid.fields) or grid.listed else None
    if grid.listed:
        neighbours = grid.neighbours_of(COMM.rank)
        return tempi.HaloExchange(COMM, given, neighbours=neighbours, axes=axes, boundary=boundary)
    mask = None if grid.mask is None else np.reshape(grid.mask, grid.dims)
    return tempi.HaloExchange(
        COMM,
        given,
        periods=grid.periods,
        dims=grid.dims,
        neighbours=grid.neighbours,
        axes=axes,
        mask=mask,
        boundary=boundary,
    )


def exchange(grid: Grid) -> None:
    fields = [OneField(grid, i, "bytes") for i in range(len(grid.fields))]
    with make(grid, fields) as made:
        for _ in range(2):
            made()
            for one in fields:
                one.array.check(one.filled())


def accumulate(grid: Grid) -> None:
    """Twice, because the first call makes the messages; from the same numbers, because sums may not overflow."""
    fields = [OneField(grid, i, "numbers") for i in range(len(grid.fields))]
    with make(grid, fields) as made:
        for _ in range(2):
            wanted = [one.accumulated() for one in fields]
            made.accumulate()
            for one, after in zip(fields, wanted, strict=True):
                one.array.check(as_bytes(after))
            made()
            for one in fields:
                one.array.write(..., as_bytes(one.before))


def products(grid: Grid) -> tuple[list[complex], list[complex]]:
    """<Hx, y> and <x, H^T y> of random x and y, over all points of all ranks, by field."""
    x, y = ([OneField(shifted(grid, seed), i, "numbers") for i in range(len(grid.fields))] for seed in (0, 1))
    with make(grid, x) as forward, make(grid, y) as back:
        before = [one.before for one in x], [one.before for one in y]
        forward()
        back.accumulate()
    dtype = [one.before.dtype for one in x]
    after = [[one.now().view(kind) for one, kind in zip(each, dtype, strict=True)] for each in (x, y)]
    left = [dot(a, b) for a, b in zip(after[0], before[1], strict=True)]
    right = [dot(a, b) for a, b in zip(before[0], after[1], strict=True)]
    return COMM.allreduce(np.array(left)).tolist(), COMM.allreduce(np.array(right)).tolist()


def shifted(grid: Grid, seed: int) -> Grid:
    return Grid(**(vars(grid) | {"seed": grid.seed + 1000 * seed}))


def dot(a: np.ndarray, b: np.ndarray) -> complex:
    return complex((a.astype(complex) * b.astype(complex)).sum())


def partly_periodic() -> None:
    """Rank 0 is periodic along dimension 1; rank 1, which lies behind it along dimension 0, is not."""
    array = np.full((4, 5), -1.0)
    array[1:-1, 1:-1] = 10 * COMM.rank + np.arange(6).reshape(2, 3)
    before = array.copy()
    neighbours = [{(0, 1): 0, (0, -1): 0, (1, 0): 1}, {(-1, 0): 0}][COMM.rank]
    with tempi.HaloExchange(COMM, array, neighbours=neighbours) as made:
        made()
    after = before
    if COMM.rank == 0:
        after[1:-1, 0], after[1:-1, -1] = before[1:-1, -2], before[1:-1, 1]
        after[-1, 1:-1] = [10, 11, 12]
    else:
        after[0, 1:-1] = [3, 4, 5]
    equal.check(array, after)


def three_blocks_at_a_corner() -> None:
    """As on three faces of a cube. Rank 0 takes the corner from the neighbour along the first dimension."""
    neighbours = [{(0, 1): 1, (1, 0): 2}, {(0, -1): 0}, {(-1, 0): 0}][COMM.rank]
    array = np.full((3, 3), float(COMM.rank))  # the points of 2 x 2 cells, without ghost cells
    with tempi.HaloExchange(COMM, tempi.Field(array, stagger=1), 0, neighbours=neighbours) as made:
        made()
    after = np.full((3, 3), float(COMM.rank))
    if COMM.rank == 0:
        after[:2, 2], after[2] = 1, 2
    equal.check(array, after)
