"""What HaloExchange is told, checked on each rank and agreed on by all of them before anything is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mpi4py import MPI

from tempi.arrays import ArrayView, describe
from tempi.ghosts import Width, check_room, own_shape, widths_of
from tempi.process_grid import MAX_DIMENSIONS, Neighbours, ProcessGrid, directions
from tempi.region_types import Strided, Walk

Axes = Sequence[int] | Sequence[Sequence[int]]


@dataclass(frozen=True)
class Agreement:
    """What one rank wants to exchange.

    Attributes
    ----------
    cells : tuple of str
        The dtype and the further axes of each array.
    own : tuple of int
        The grid's cells on this rank, without ghost cells.
    walks : tuple of Walk
        The order of cells in messages that suits each of this rank's arrays.
    """

    grid: ProcessGrid
    widths: tuple[Width, ...]
    neighbours: Neighbours
    cells: tuple[str, ...]
    own: tuple[int, ...]
    walks: tuple[Walk, ...]

    def check_like(self, first: Agreement, rank: int) -> None:
        """Whether this rank's messages are those that rank 0 expects; ValueError if not."""
        for name in ("grid", "widths", "neighbours", "cells"):
            mine, theirs = getattr(self, name), getattr(first, name)
            if mine != theirs:
                raise ValueError(f"{name} must be the same on all ranks: {theirs} on rank 0, {mine} on rank {rank}")


def agree(comm: MPI.Comm, find: Callable[[], Agreement]) -> list[Agreement]:
    """What all ranks want, in the order of ranks: one raises, all raise, so that none waits for another in vain.

    Raises
    ------
    ValueError
        If `find` raises on another rank, or two ranks want what does not fit together. What `find` raises on this
        rank is raised as it is.
    """
    try:
        found: Agreement | str = find()
    except Exception as error:
        comm.allgather(f"{type(error).__name__}: {error}")
        raise
    every: list[Agreement | str] = comm.allgather(found)
    agreements = []
    for rank, one in enumerate(every):
        if isinstance(one, str):
            raise ValueError(f"HaloExchange cannot be made, because of rank {rank}: {one}")
        agreements.append(one)
    for rank, agreement in enumerate(agreements):
        agreement.check_like(agreements[0], rank)
    check_blocks_meet([agreement.own for agreement in agreements], agreements[0].grid)
    return agreements


def check_blocks_meet(own: Sequence[tuple[int, ...]], grid: ProcessGrid) -> None:
    """Whether all ranks in a plane of the grid own equally many cells across it.

    Raises
    ------
    ValueError
        If two do not: their common face would be of two sizes.
    """
    for rank, shape in enumerate(own):
        for dimension, at in enumerate(grid.coords(rank)):
            first = grid.rank([at if d == dimension else 0 for d in range(grid.n_dims)]) or 0
            if shape[dimension] != own[first][dimension]:
                raise ValueError(
                    f"dimension {dimension} has {own[first][dimension]} own cells on rank {first} and "
                    f"{shape[dimension]} on rank {rank}, which are at the same place along it (dims is {grid.dims})"
                )


def find_grid(
    comm: MPI.Comm, dims: Sequence[int] | None, periods: bool | Sequence[bool] | None, n_dims: int
) -> ProcessGrid:
    """The grid of a Cartesian communicator, or the one that `dims` and `periods` describe.

    Raises
    ------
    ValueError
        If they contradict each other, or have no place for the communicator's ranks.
    """
    wanted = None if periods is None else (periods,) * n_dims if isinstance(periods, bool) else tuple(periods)
    if isinstance(comm, MPI.Cartcomm):
        found = ProcessGrid(tuple(comm.dims), tuple(map(bool, comm.periods)))
        if (dims is not None and tuple(dims) != found.dims) or wanted not in (None, found.periods):
            raise ValueError(f"dims {dims} or periods {periods} differ from those of the Cartesian communicator: {found}")
        return found
    if comm.is_inter:
        raise ValueError("the communicator is an intercommunicator; use Merge() to make one group of its ranks")
    sizes = MPI.Compute_dims(comm.size, list(dims or [0] * n_dims)) if not dims or 0 in dims else dims
    grid = ProcessGrid(tuple(sizes), wanted or (False,) * n_dims)
    if grid.size != comm.size:
        raise ValueError(f"dims {grid.dims} are for {grid.size} ranks; the communicator has {comm.size}")
    return grid


def find_n_dims(comm: MPI.Comm, told: Sequence[object], first_array: object) -> int:
    """How many dimensions the grid has: what the communicator or one of the `told` sequences has, or the array."""
    if isinstance(comm, MPI.Cartcomm):
        return int(comm.ndim)
    for one in told:
        if isinstance(one, Sequence):
            return len(one)
    n_axes = len(describe(first_array).shape)
    if not 1 <= n_axes <= MAX_DIMENSIONS:
        raise ValueError(
            f"which of the array's {n_axes} axes are the grid's? say dims=(0, 0, 0) for the first three, cut as MPI "
            "thinks best, or give a Cartesian communicator"
        )
    return n_axes


def find_axes(axes: Axes | None, n_dims: int, n_arrays: int) -> list[tuple[int, ...]]:
    """For each array the axes that are the grid's."""
    if axes is None:
        return [tuple(range(n_dims))] * n_arrays
    for_all = all(isinstance(axis, int) for axis in axes)
    each: list[Any] = [axes] * n_arrays if for_all else list(axes)
    if len(each) != n_arrays or any(len(set(one)) != n_dims for one in each):
        raise ValueError(f"axes is {axes}; it must be {n_dims} different axes, or as many for each of {n_arrays} arrays")
    return [tuple(one) for one in each]


def find_cells(view: ArrayView, axes: tuple[int, ...], name: str) -> Strided:
    """An array's cells with the grid's axes first.

    Raises
    ------
    TypeError
        If they are Python objects.
    ValueError
        If the array has too few axes, is read-only, or shows some of its memory twice.
    """
    n_axes = len(view.shape)
    if not all(-n_axes <= axis < n_axes for axis in axes):
        raise ValueError(f"{name} has shape {view.shape}; the grid's axes {axes} must be among its own")
    if view.dtype.hasobject:
        raise TypeError(f"{name} holds Python objects ({view.dtype}), whose pointers mean nothing to other ranks")
    if view.readonly:
        raise ValueError(f"{name} is read-only; its ghost cells are written: pass the array itself or a copy")
    first = [axis % n_axes for axis in axes]
    order = [*first, *(axis for axis in range(n_axes) if axis not in first)]
    return Strided(
        view.address,
        tuple(view.shape[axis] for axis in order),
        tuple(view.strides[axis] for axis in order),
        view.dtype.itemsize,
    )


def find_agreement(
    grid: ProcessGrid, width: int | Sequence[int | Sequence[int]], neighbours: Neighbours,
    views: Sequence[ArrayView], cells: Sequence[Strided],
) -> Agreement:  # fmt: skip
    """What this rank wants.

    Raises
    ------
    ValueError
        If the arrays' grids differ, or have too few cells for the ghost cells.
    """
    list(directions(grid.n_dims, neighbours))
    widths = widths_of(width, grid.n_dims)
    shapes = [one.shape[: grid.n_dims] for one in cells]
    for index, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise ValueError(f"array 0 has a grid of {shapes[0]} cells, array {index} one of {shape}; they must be equal")
    own = own_shape(shapes[0], widths)
    check_room(grid, own, widths)
    further = [one.shape[grid.n_dims :] for one in cells]
    names = tuple(f"{view.dtype.descr} x {shape}" for view, shape in zip(views, further, strict=True))
    return Agreement(grid, widths, neighbours, names, own, tuple(one.fastest_walk() for one in cells))
