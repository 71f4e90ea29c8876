"""Agreement of all ranks of a HaloExchange, on its arguments and on its construction: one raises, all
raise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from mpi4py import MPI

from tempi._arguments import wrong
from tempi.halo.block_graph import BlockGraph
from tempi.halo.ghosts import check_room
from tempi.halo.process_grid import ProcessGrid
from tempi.halo.setup import Wish

Grid = ProcessGrid | BlockGraph
Told = TypeVar("Told")
Local = TypeVar("Local")


class Freeable(Protocol):
    """What holds resources."""

    def free(self) -> None:
        """Give them back."""


Made = TypeVar("Made", bound=Freeable)


def check_comm(comm: object, call: str) -> None:
    """Check a communicator; `call` shows the order of the arguments.

    Raises
    ------
    TypeError
        If it is none.
    ValueError
        If this rank is not in it.
    """
    if not isinstance(comm, MPI.Comm):
        raise wrong("comm", comm, f"a communicator of mpi4py, which comes first: {call}")
    if comm == MPI.COMM_NULL:
        raise ValueError("comm is MPI.COMM_NULL; it must be a communicator with this rank in it")


def agreed(comm: MPI.Comm, find: Callable[[], tuple[Told, Local]], what: str) -> tuple[list[Told], Local]:
    """The first part of `find`'s result of all ranks, and the second part here. Collective.

    Raises
    ------
    ValueError
        If `find` raises on another rank, for which others would wait in vain. An error that `find` raises on
        this rank is raised as it is.
    """
    try:
        mine, local = find()
    except Exception as error:
        comm.allgather(f"{type(error).__name__}: {error}")
        raise
    every = []
    for rank, other in enumerate(comm.allgather((mine,))):
        if isinstance(other, str):
            raise ValueError(f"{what} fails on rank {rank}: {other}")
        every.append(other[0])
    return every, local


def agree(
    comm: MPI.Comm, find: Callable[[], tuple[Wish, tuple[ProcessGrid | None, Local]]]
) -> tuple[Grid, Wish, Local]:
    """The grid, the wish of rank 0, which all others share, and the rest of `find`'s result here. Collective.

    The own cells are those of this rank.

    Raises
    ------
    ValueError
        As `agreed`, and if two wishes do not fit together.
    """
    wishes, (grid, local) = agreed(comm, find, "HaloExchange")
    check_alike(wishes)
    return topology_of(grid, wishes), replace(wishes[0], own=wishes[comm.rank].own), local


def topology_of(grid: ProcessGrid | None, wishes: Sequence[Wish]) -> Grid:
    """The grid, or that of the listed neighbours; ValueError if the ranks' blocks do not fit together."""
    own = [wish.own for wish in wishes]
    if grid is not None:
        check_blocks_meet(own, grid)
        return grid
    graph = BlockGraph(wishes[0].n_dims, tuple(wish.grid for wish in wishes))  # type: ignore[misc]
    graph.check_faces(own)
    for wish in wishes:
        for layout in wish.layouts:
            check_room(graph, wish.own, layout.widths, layout.stagger)
    return graph


def make_together(comm: MPI.Comm, make: Callable[[], Made]) -> Made:
    """The result of `make` here, if it returns on all ranks. Collective.

    Raises
    ------
    RuntimeError
        If `make` raises on another rank, for which others would wait in vain; the result here is freed. An
        error that `make` raises on this rank is raised as it is.
    """
    try:
        made = make()
    except Exception as error:
        comm.allgather(f"{type(error).__name__}: {error}")
        raise
    for rank, failure in enumerate(comm.allgather(None)):
        if failure is not None:
            made.free()
            raise RuntimeError(f"HaloExchange fails on rank {rank}: {failure}")
    return made


def check_alike(wishes: Sequence[Wish]) -> None:
    """Check that all ranks were told the same; ValueError if not."""
    check_same([dict(_compared(wish)) for wish in wishes])


def check_same(every: Sequence[Mapping[str, object]]) -> None:
    """Check that all ranks have the same values of arguments, by name; ValueError if not."""
    for rank, told in enumerate(every):
        for name, here in every[0].items():
            if here != (there := told.get(name, "none")):
                raise ValueError(
                    f"{name} must be the same on all ranks: rank 0 has {here}, rank {rank} {there}"
                )


def _compared(wish: Wish) -> Iterator[tuple[str, object]]:
    """What must be the same on all ranks, by its name in errors."""
    is_grid = isinstance(wish.grid, ProcessGrid)
    yield "neighbours", repr(wish.neighbours) if is_grid else "a dict"
    yield "the number of dimensions", wish.n_dims
    if isinstance(wish.grid, ProcessGrid):
        yield "dims", wish.grid.dims
        yield "periods", wish.grid.periods
    yield "mask", wish.mask
    yield "the number of arrays", len(wish.arrays)
    for i, kind in enumerate(wish.arrays):
        yield f"dtype of array {i}", kind.dtype
        yield f"further axes of array {i}", kind.further
    for i, layout in enumerate(wish.layouts):
        yield f"widths of array {i}", layout.widths
        yield f"stagger of array {i}", layout.stagger


def check_blocks_meet(own: Sequence[tuple[int, ...]], grid: ProcessGrid) -> None:
    """Check that ranks at the same place along a dimension own equally many cells; ValueError if not."""
    first: dict[tuple[int, int], int] = {}
    for rank, cells in enumerate(own):
        for place in enumerate(grid.coords(rank)):
            dimension, other = place[0], first.setdefault(place, rank)
            if cells[dimension] != own[other][dimension]:
                raise ValueError(
                    f"ranks {other} and {rank} are at the same place along dimension {dimension} (dims "
                    f"{grid.dims}), but own {own[other][dimension]} and {cells[dimension]} cells of it: "
                    "neighbours' faces must fit"
                )
