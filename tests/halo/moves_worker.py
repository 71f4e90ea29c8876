"""The ranks of test_redistribution.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from halo_arrays import Array
from halo_cases import Field, random_cells
from mpi4py import MPI

import tempi

COMM = MPI.COMM_WORLD


@dataclass(frozen=True)
class Grid:
    """The arguments of a Decomposition, and the arrays of its ranks."""

    shape: tuple[int, ...]
    dims: tuple[int, ...]
    width: tuple[tuple[int, int], ...]
    periods: tuple[bool, ...]
    stagger: tuple[int, ...]
    field: Field
    mask: tuple[bool, ...] | None = None

    def decomposition(self) -> tempi.Decomposition:
        mask = None if self.mask is None else np.reshape(self.mask, self.dims)
        return tempi.Decomposition(self.shape, self.dims, self.width, self.periods, self.field.axes, self.stagger, mask)


class Moved:
    """This rank's array of a grid, with random bytes; `wanted`: with own cells of the whole array."""

    def __init__(self, grid: Grid, seed: int) -> None:
        self.grid = grid.decomposition()
        plain = Grid(**(vars(grid) | {"field": Field(axes=None)})).decomposition()  # the axes of the grid first
        shape = (*self.grid.local_shape(COMM.rank), *grid.field.further)
        self.before = random_cells(seed + COMM.rank + 1, shape, grid.field.numpy_dtype.itemsize)
        self.wanted = self.before.copy()
        whole = whole_of(grid, seed)
        self.wanted[plain.interior(COMM.rank)] = whole[plain.block(COMM.rank)]
        self.whole = np.ascontiguousarray(np.moveaxis(whole, range(len(grid.dims)), self.grid.grid_axes))


def whole_of(grid: Grid, seed: int) -> np.ndarray[Any, Any]:
    """The axes of the grid first."""
    shape = (*grid.decomposition().global_shape, *grid.field.further)
    return random_cells(seed, shape, grid.field.numpy_dtype.itemsize)


def redistribute(one: Grid, other: Grid, seed: int) -> None:
    source, target = Moved(one, seed), Moved(other, seed)
    array, out = Array(one.field, COMM.rank, source.wanted), Array(other.field, COMM.rank, target.before)
    assert source.grid.redistribute(COMM, array.array, target.grid, out.array) is out.array
    out.check(target.wanted)
    array.check(source.wanted)
    if one.field.kind == "host":
        made = source.grid.redistribute(COMM, array.array, target.grid)
        wanted = target.grid.scatter(target.whole, COMM.rank, np.zeros((), target.whole.dtype))
        assert (made.dtype, made.shape) == (one.field.numpy_dtype, wanted.shape)
        assert made.tobytes() == wanted.tobytes()


def typed(whole: np.ndarray[Any, Any], grid: Grid) -> np.ndarray[Any, Any]:
    return whole.view(grid.field.numpy_dtype)


def collect_and_save(grid: Grid, seed: int, path: str) -> None:
    """The array of one rank, a memory map, and a file, of cells that all ranks have; 0 where a mask has no rank."""
    moved = Moved(grid, seed)
    array = Array(grid.field, COMM.rank, moved.wanted)
    wanted = moved.whole.copy()  # as bytes: NumPy does not copy the padding of structures
    if grid.mask is not None:
        empty = np.ones(wanted.shape, bool)
        for rank in range(COMM.size):
            index = [slice(None)] * wanted.ndim
            for axis, part in zip(moved.grid.grid_axes, moved.grid.block(rank), strict=True):
                index[axis] = part
            empty[tuple(index)] = False
        wanted[empty] = np.zeros((), wanted.dtype)
    wanted = typed(wanted, grid)
    root = seed % COMM.size
    out = None
    if COMM.rank == root:
        out = np.lib.format.open_memmap(path + ".map", "w+", wanted.dtype, wanted.shape)
    mapped = moved.grid.collect(COMM, array.array, out, root)
    assert mapped is out
    assert out is None or out.tobytes() == wanted.tobytes()
    if grid.field.kind == "host":
        found = moved.grid.collect(COMM, array.array, root=root)
        assert (found is None) == (COMM.rank != root)
        assert found is None or (found.dtype, found.tobytes()) == (wanted.dtype, wanted.tobytes())
    if COMM.rank == root:
        with open(path, "wb") as file:  # an older and longer file
            file.write(b"x" * (wanted.nbytes + 1000))
    COMM.Barrier()
    moved.grid.save(COMM, path, array.array)
    found = np.load(path)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert found.tobytes() == wanted.tobytes()
    COMM.Barrier()
