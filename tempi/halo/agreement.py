"""Agreement of all ranks of a HaloExchange, on its arguments and on its construction: one raises, all
raise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from mpi4py import MPI

from tempi.halo.messages import Messages
from tempi.halo.process_grid import ProcessGrid
from tempi.halo.setup import Wish

Local = TypeVar("Local")


def agree(comm: MPI.Comm, find: Callable[[], tuple[Wish, Local]]) -> tuple[Wish, Local]:
    """The wish of rank 0, which all others share, and the rest of `find`'s result here. Collective.

    Raises
    ------
    ValueError
        If `find` raises on another rank, for which others would wait in vain, or two wishes do not fit
        together. An error that `find` raises on this rank is raised as it is.
    """
    try:
        mine, local = find()
    except Exception as error:
        comm.allgather(f"{type(error).__name__}: {error}")
        raise
    wishes = []
    for rank, other in enumerate(comm.allgather(mine)):
        if isinstance(other, str):
            raise ValueError(f"HaloExchange fails on rank {rank}: {other}")
        wishes.append(other)
    check_alike(wishes)
    check_blocks_meet([wish.own for wish in wishes], wishes[0].grid)
    return wishes[0], local


def make_together(comm: MPI.Comm, make: Callable[[], Messages]) -> Messages:
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
    for rank, wish in enumerate(wishes):
        for name in ("grid", "widths", "neighbours", "arrays"):
            here, there = getattr(wishes[0], name), getattr(wish, name)
            if here != there:
                raise ValueError(
                    f"{name} must be the same on all ranks: rank 0 has {here}, rank {rank} {there}"
                )


def check_blocks_meet(own: Sequence[tuple[int, ...]], grid: ProcessGrid) -> None:
    """Check that ranks at the same place along a dimension own equally many cells; ValueError if not."""
    for rank, cells in enumerate(own):
        for dimension, at in enumerate(grid.coords(rank)):
            first = grid.rank([at if d == dimension else 0 for d in range(grid.n_dims)]) or 0
            if cells[dimension] != own[first][dimension]:
                raise ValueError(
                    f"ranks {first} and {rank} are at the same place along dimension {dimension} (dims "
                    f"{grid.dims}), but own {own[first][dimension]} and {cells[dimension]} cells of it: "
                    "neighbours' faces must fit"
                )
