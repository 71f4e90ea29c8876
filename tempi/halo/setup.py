"""The arguments of HaloExchange, checked on each rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from mpi4py import MPI

from tempi._library import enabled, library
from tempi.arrays.array_view import ArrayView, describe
from tempi.arrays.strides import loops_of, may_overlap, share_bytes
from tempi.cuda.device_memory import reaches
from tempi.halo.ghosts import Width, check_room, own_shape, widths_of
from tempi.halo.process_grid import (
    MAX_DIMENSIONS,
    Neighbours,
    ProcessGrid,
    directions,
    integers,
    length_of,
    periods_of,
)
from tempi.halo.region_types import Strided, Walk

Axes = Sequence[int] | Sequence[Sequence[int]]
Widths = int | Sequence[int | Sequence[int]]


@dataclass(frozen=True)
class Wish:
    """The exchange that one rank wants, for the other ranks to compare.

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

    def find(self, comm: MPI.Comm) -> tuple[Wish, list[tuple[Strided, ArrayView]]]:
        """The wish of this rank, and its arrays, also as cells with the grid's axes first.

        Raises
        ------
        TypeError, ValueError
            If something does not fit together.
        RuntimeError
            As `check_reach` says.
        """
        if not self.arrays:
            raise ValueError("there are no arrays to exchange: give at least one")
        views = [describe(array) for array in self.arrays]
        check_reach(views)
        n_dims = self._n_dims(comm, len(views[0].shape), len(views))
        grid = self._grid(comm, n_dims)
        axes = find_axes(self.axes, n_dims, len(views))
        cells = [find_cells(view, axes[i], f"array {i}") for i, view in enumerate(views)]
        check_apart(cells)
        return self._wish(grid, views, cells), list(zip(cells, views, strict=True))

    def _n_dims(self, comm: MPI.Comm, n_axes: int, n_arrays: int) -> int:
        """The grid's number of dimensions: of the communicator, one of the arguments, or the first array."""
        if isinstance(comm, MPI.Cartcomm):
            return int(comm.ndim)
        axes = None if self.axes is None else axes_of_each(self.axes, n_arrays)[0]
        for name, told in zip(
            ("dims", "width", "periods", "axes"), (self.dims, self.width, self.periods, axes), strict=True
        ):
            if (n_dims := length_of(told)) is not None:
                if not 1 <= n_dims <= MAX_DIMENSIONS:
                    raise ValueError(f"{name} is {told!r}; a grid has 1 to {MAX_DIMENSIONS} dimensions")
                return n_dims
        if not 1 <= n_axes <= MAX_DIMENSIONS:
            raise ValueError(
                f"which of the arrays' {n_axes} axes are the grid's? dims=(0, 0, 0) says the first "
                "three, with as many ranks along each as MPI_Dims_create thinks best"
            )
        return n_axes

    def _grid(self, comm: MPI.Comm, n_dims: int) -> ProcessGrid:
        """The grid of a Cartesian communicator, or the one that `dims` and `periods` describe."""
        periods = None if self.periods is None else periods_of(self.periods, n_dims)
        dims = None if self.dims is None else integers("dims", self.dims)
        if isinstance(comm, MPI.Cartcomm):
            found = ProcessGrid(tuple(comm.dims), tuple(map(bool, comm.periods)))
            if dims not in (None, found.dims) or periods not in (None, found.periods):
                raise ValueError(f"the Cartesian communicator has {found}; leave dims and periods out")
            return found
        if comm.Is_inter():
            raise ValueError(
                "the communicator is an intercommunicator; its Merge() makes one group of its ranks"
            )
        dims = filled_dims(comm.size, (0,) * n_dims if dims is None else dims)
        grid = ProcessGrid(dims, (False,) * n_dims if periods is None else periods)
        if grid.size != comm.size:
            raise ValueError(f"dims {grid.dims} are for {grid.size} ranks; the communicator has {comm.size}")
        return grid

    def _wish(self, grid: ProcessGrid, views: Sequence[ArrayView], cells: Sequence[Strided]) -> Wish:
        list(directions(grid.n_dims, self.neighbours))  # raises if `neighbours` is invalid
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
        names = tuple(f"{name_of(view.dtype)} x {shape}" for view, shape in zip(views, further, strict=True))
        return Wish(grid, widths, self.neighbours, own, names, tuple(one.fastest_walk() for one in cells))


def check_apart(cells: Sequence[Strided]) -> None:
    """Check that no memory is in two arrays, which would be received twice; ValueError if some is."""
    for (i, one), (j, other) in combinations(enumerate(cells), 2):
        if one.n_bytes and other.n_bytes and share_bytes(one, other):
            raise ValueError(
                f"arrays {i} and {j} share memory: give each cell in one array only, or pass a copy"
            )


def check_reach(views: Sequence[ArrayView]) -> None:
    """Check that the shim or the library can send these arrays; RuntimeError if not."""
    with_cells = [view for view in views if prod(view.shape)]
    gpu_array = next((view for view in with_cells if view.on_gpu), None)
    if gpu_array is None or (enabled() and reaches(gpu_array.address)):
        return
    if library().cuda_aware().startswith("no"):
        raise RuntimeError(
            f"arrays are in GPU memory, which this MPI library does not reach by itself: {_advice()}"
        )
    if not all(view.on_gpu for view in with_cells):
        raise RuntimeError(
            "arrays are in host memory and in GPU memory, which only TEMPI sends in one message: "
            f"{_advice()}. Or make an exchange of each kind"
        )


def _advice() -> str:
    if enabled():
        return (
            "TEMPI does not reach it either. Leave TEMPI_DEVICE unset, look whether tempi info finds the "
            "GPU, and whether that has memory left"
        )
    return "import tempi before mpi4py.MPI, or start the program with tempi run; tempi info shows more"


def filled_dims(n_ranks: int, dims: tuple[int, ...]) -> tuple[int, ...]:
    """`dims` with its zeros replaced by numbers of ranks; ValueError if none fit."""
    fixed = prod(n for n in dims if n)
    if 0 not in dims:
        return dims
    if min(dims) < 0 or n_ranks % fixed:
        raise ValueError(f"dims is {dims}; no numbers in place of 0 make it a grid of {n_ranks} ranks")
    return tuple(MPI.Compute_dims(n_ranks, list(dims)))


def name_of(dtype: np.dtype[Any]) -> str:
    """A key that is equal for dtypes of one memory layout. `dtype.descr` knows no fields that overlap."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"{name_of(base)}{list(shape)}"
    if dtype.fields is None or dtype.names is None:
        return str(dtype.str)
    fields = sorted((dtype.fields[name][1], name, name_of(dtype.fields[name][0])) for name in dtype.names)
    return f"{dtype.itemsize} bytes with " + ", ".join(f"{name}: {of} at {at}" for at, name, of in fields)


def find_axes(axes: Axes | None, n_dims: int, n_arrays: int) -> list[tuple[int, ...]]:
    """For each array the axes that are the grid's; ValueError if they are not `n_dims` different ones."""
    if axes is None:
        return [tuple(range(n_dims))] * n_arrays
    each = axes_of_each(axes, n_arrays)
    if any(len(one) != n_dims for one in each):
        raise ValueError(f"axes is {axes}; name {n_dims} axes, for all arrays or for each of the {n_arrays}")
    return each


def axes_of_each(axes: Axes, n_arrays: int) -> list[tuple[int, ...]]:
    """For each array what `axes` names; TypeError if not integers, ValueError if not for as many arrays."""
    if length_of(axes) is None or all(length_of(axis) is None for axis in axes):
        return [integers("axes", axes)] * n_arrays  # type: ignore[arg-type]
    if len(axes) != n_arrays:
        raise ValueError(f"axes is {axes}; name axes for all arrays or for each of the {n_arrays}")
    return [integers("an entry of axes", one) for one in axes]  # type: ignore[arg-type]


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
