"""What HaloExchange is told, checked on each rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mpi4py import MPI

from tempi._library import enabled, library
from tempi.arrays import ArrayView, describe
from tempi.ghosts import Width, check_room, own_shape, widths_of
from tempi.process_grid import MAX_DIMENSIONS, Neighbours, ProcessGrid, directions
from tempi.region_types import Strided, Walk
from tempi.strides import loops_of, may_overlap

Axes = Sequence[int] | Sequence[Sequence[int]]
Widths = int | Sequence[int | Sequence[int]]


@dataclass(frozen=True)
class Wish:
    """What one rank wants to exchange, for the other ranks to compare.

    Attributes
    ----------
    own : tuple of int
        The grid's cells on this rank, without ghost cells.
    arrays : tuple of str
        The dtype and the further axes of each array.
    walks : tuple of Walk
        The order of cells in messages that suits each of this rank's arrays.
    """

    grid: ProcessGrid
    widths: tuple[Width, ...]
    neighbours: Neighbours
    own: tuple[int, ...]
    arrays: tuple[str, ...]
    walks: tuple[Walk, ...]


@dataclass(frozen=True)
class Request:
    """The arguments of HaloExchange, as they were given."""

    arrays: Sequence[object]
    width: Widths
    periods: bool | Sequence[bool] | None
    dims: Sequence[int] | None
    neighbours: Neighbours
    axes: Axes | None

    def find(self, comm: MPI.Comm) -> tuple[Wish, list[Strided]]:
        """What this rank wants, and its arrays' cells with the grid's axes first.

        Raises
        ------
        TypeError, ValueError
            If something does not fit together.
        RuntimeError
            If arrays are in GPU memory that neither TEMPI nor the MPI library reaches.
        """
        if not self.arrays:
            raise ValueError("there are no arrays to exchange: give at least one")
        views = [describe(array) for array in self.arrays]
        check_reach(views)
        n_dims = self._n_dims(comm, len(views[0].shape))
        grid = self._grid(comm, n_dims)
        axes = find_axes(self.axes, n_dims, len(views))
        cells = [find_cells(view, axes[i], f"array {i}") for i, view in enumerate(views)]
        return self._wish(grid, views, cells), cells

    def _n_dims(self, comm: MPI.Comm, n_axes: int) -> int:
        """Of the grid: what the communicator or one of the arguments has, or the first array."""
        if isinstance(comm, MPI.Cartcomm):
            return int(comm.ndim)
        for told in (self.dims, self.width, self.periods):
            if isinstance(told, Sequence):
                return len(told)
        if not 1 <= n_axes <= MAX_DIMENSIONS:
            raise ValueError(
                f"which of the arrays' {n_axes} axes are the grid's? dims=(0, 0, 0) says the first "
                "three, with as many ranks along each as MPI_Dims_create thinks best"
            )
        return n_axes

    def _grid(self, comm: MPI.Comm, n_dims: int) -> ProcessGrid:
        """The grid of a Cartesian communicator, or the one that `dims` and `periods` describe."""
        periods = (self.periods,) * n_dims if isinstance(self.periods, bool) else self.periods
        if isinstance(comm, MPI.Cartcomm):
            found = ProcessGrid(tuple(comm.dims), tuple(map(bool, comm.periods)))
            if (
                tuple(self.dims or found.dims) != found.dims
                or tuple(periods or found.periods) != found.periods
            ):
                raise ValueError(f"the Cartesian communicator has {found}; leave dims and periods out")
            return found
        if comm.Is_inter():
            raise ValueError(
                "the communicator is an intercommunicator; its Merge() makes one group of its ranks"
            )
        dims = self.dims or (0,) * n_dims
        if 0 in dims:
            dims = MPI.Compute_dims(comm.size, list(dims))
        grid = ProcessGrid(tuple(dims), tuple(periods or (False,) * n_dims))
        if grid.size != comm.size:
            raise ValueError(f"dims {grid.dims} are for {grid.size} ranks; the communicator has {comm.size}")
        return grid

    def _wish(self, grid: ProcessGrid, views: Sequence[ArrayView], cells: Sequence[Strided]) -> Wish:
        list(directions(grid.n_dims, self.neighbours))  # raises where `neighbours` is no such thing
        widths = widths_of(self.width, grid.n_dims)
        shapes = [one.shape[: grid.n_dims] for one in cells]
        for index, shape in enumerate(shapes):
            if shape != shapes[0]:
                raise ValueError(
                    f"array {index} has a grid of {shape} cells, array 0 one of {shapes[0]}: make them equal"
                )
        own = own_shape(shapes[0], widths)
        check_room(grid, own, widths)
        further = [one.shape[grid.n_dims :] for one in cells]
        names = tuple(f"{view.dtype.descr} x {shape}" for view, shape in zip(views, further, strict=True))
        return Wish(grid, widths, self.neighbours, own, names, tuple(one.fastest_walk() for one in cells))


def check_reach(views: Sequence[ArrayView]) -> None:
    """Whether somebody can send these arrays; RuntimeError if not."""
    if any(view.on_gpu for view in views) and not enabled() and library().cuda_aware().startswith("no"):
        raise RuntimeError(
            "the arrays are in GPU memory, which this MPI library cannot reach by itself: import tempi "
            "before mpi4py.MPI, or start the program with tempi run; tempi info shows more"
        )


def find_axes(axes: Axes | None, n_dims: int, n_arrays: int) -> list[tuple[int, ...]]:
    """For each array the axes that are the grid's; ValueError if they are not `n_dims` different ones."""
    if axes is None:
        return [tuple(range(n_dims))] * n_arrays
    for_all = all(isinstance(axis, int) for axis in axes)
    each: list[Any] = [axes] * n_arrays if for_all else list(axes)
    if len(each) != n_arrays or any(len(one) != n_dims for one in each):
        raise ValueError(f"axes is {axes}; name {n_dims} axes, for all arrays or for each of the {n_arrays}")
    return [tuple(one) for one in each]


def find_cells(view: ArrayView, axes: tuple[int, ...], name: str) -> Strided:
    """An array's cells with the grid's axes first.

    Raises
    ------
    TypeError
        If they are Python objects.
    ValueError
        If the array does not have these axes, is read-only, or has cells that share memory.
    """
    n_axes = len(view.shape)
    first = [axis % n_axes for axis in axes if -n_axes <= axis < n_axes]
    if len(set(first)) != len(axes):
        raise ValueError(
            f"{name} has shape {view.shape}; the grid's axes {axes} must be different ones of its own"
        )
    if view.dtype.hasobject:
        raise TypeError(f"{name} holds Python objects ({view.dtype}), which mean nothing to other ranks")
    if view.readonly:
        raise ValueError(f"{name} is read-only, but its ghost cells are to be written: pass a copy")
    order = first + [axis for axis in range(n_axes) if axis not in first]
    shape, strides = (tuple(sizes[axis] for axis in order) for sizes in (view.shape, view.strides))
    cells = Strided(view.address, shape, strides, view.dtype.itemsize)
    if cells.n_bytes and may_overlap(loops_of(shape, strides), cells.cell_bytes):
        raise ValueError(f"{name} has cells that share memory (strides {view.strides}): pass a copy")
    return cells
