"""The ranks of test_reorder.py: topologies of MPI, made and asked."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from support.calls import handle

WORLD = MPI.COMM_WORLD


def pretend(nodes: str) -> None:
    """Set the node of each rank, for nodes_tool.c."""
    os.environ["TESTS_NODES"] = nodes


class Made(NamedTuple):
    """A communicator as one of its ranks sees it.

    Attributes
    ----------
    rank : int
    processes : list of int
        The ranks in MPI_COMM_WORLD, in the communicator's order.
    answers : object
        Of the calls that ask for its topology.
    """

    rank: int
    processes: list[int]
    answers: Any


def seen(comm: MPI.Intracomm, answers: Any) -> Made:
    processes = comm.Get_group().Translate_ranks(list(range(comm.size)), WORLD.Get_group()).copy()
    heard = np.zeros(comm.size, int)
    comm.Allgather(np.array(WORLD.rank), heard)
    assert heard.tolist() == list(processes)
    made = Made(comm.rank, list(processes), answers)
    comm.Free()
    return made


@contextmanager
def parent(of: str) -> Iterator[MPI.Intracomm]:
    """A communicator of all ranks: the world, or the world in the opposite order."""
    comm = WORLD.Dup() if of == "world" else WORLD.Split(0, -WORLD.rank)
    yield comm
    comm.Free()


def cart(of: str, dims: list[int], periods: list[bool], reorder: bool = True) -> Made | None:
    with parent(of) as comm:
        made = comm.Create_cart(dims, periods, reorder)
    if made == MPI.COMM_NULL:
        return None
    shifts = [made.Shift(i, 1) for i in range(len(dims))]
    assert made.Get_cart_rank(made.coords) == made.rank
    assert [made.Get_coords(rank) for rank in range(made.size)][made.rank] == made.coords
    return seen(made, (made.Get_topo(), shifts))


def graph(of: str, index: list[int], edges: list[int], reorder: bool = True) -> Made | None:
    with parent(of) as comm:
        made = comm.Create_graph(index, edges, reorder)
    return None if made == MPI.COMM_NULL else seen(made, (made.Get_topo(), made.Get_neighbors(made.rank)))


# ---- distributed graphs; `lists[vertex]`: its sources, their weights, its destinations, their weights

Lists = list[tuple[list[int], list[int], list[int], list[int]]]


def adjacent(of: str, lists: Lists, weighted: bool, reorder: bool = True) -> Made:
    with parent(of) as comm:
        sources, into, destinations, out = lists[comm.rank]
        weights = ((into or MPI.WEIGHTS_EMPTY), (out or MPI.WEIGHTS_EMPTY)) if weighted else (MPI.UNWEIGHTED,) * 2
        made = comm.Create_dist_graph_adjacent(sources, destinations, *weights, reorder=reorder)
    exchange(made)
    return seen(made, made.Get_dist_neighbors())


def distributed(of: str, edges: list[tuple[int, int, int]], weighted: bool, seed: int, reorder: bool = True) -> Made:
    """Any process tells any of the edges."""
    with parent(of) as comm:
        draw = Random(seed)
        mine = [edge for edge in edges if draw.randrange(comm.size) == comm.rank]
        sources, destinations, weights = ([edge[i] for edge in mine] for i in range(3))
        told = (weights or MPI.WEIGHTS_EMPTY) if weighted else MPI.UNWEIGHTED
        made = comm.Create_dist_graph(sources, [1] * len(mine), destinations, told, reorder=reorder)
    exchange(made)
    return seen(made, made.Get_dist_neighbors())


def exchange(comm: Any) -> None:
    """A message along each edge: ranks and edges fit together."""
    sources, destinations, _ = comm.Get_dist_neighbors()
    heard = np.full((len(sources), 1), -1)
    requests = [comm.Irecv(heard[i], source) for i, source in enumerate(sources)]
    requests += [comm.Isend(np.array([comm.rank]), destination) for destination in destinations]
    MPI.Request.Waitall(requests)
    assert heard.ravel().tolist() == list(sources)


# ---- errors


def error_of(kind: str, wrong: str, reorder: bool) -> int:
    """The MPI error class of a call whose arguments are wrong on all ranks; 0: none."""
    call = getattr(WrongCalls(reorder), kind)
    try:
        made = call(wrong)
    except MPI.Exception as error:
        return int(error.Get_error_class())
    if made != MPI.COMM_NULL:
        made.Free()
    return 0


class WrongCalls:
    def __init__(self, reorder: bool) -> None:
        self.reorder = reorder
        self.rank, self.size = WORLD.rank, WORLD.size

    def cart(self, wrong: str) -> Any:
        dims = {"too large": [WORLD.size, 2], "negative": [-1], "zero": [0]}[wrong]
        return WORLD.Create_cart(dims, [False] * len(dims), self.reorder)

    def graph(self, wrong: str) -> Any:
        index, edges = {"too large": ([1] * (self.size + 1), [0]), "no vertex": ([1, 2], [1, self.size])}[wrong]
        return WORLD.Create_graph(index, edges, self.reorder)

    def adjacent(self, wrong: str) -> Any:
        ranks = [{"too large": self.size, "negative": -5, "nobody": MPI.PROC_NULL}[wrong]]
        return WORLD.Create_dist_graph_adjacent(ranks, ranks, reorder=self.reorder)

    def distributed(self, wrong: str) -> Any:
        source, rank, weight = {
            "too large": (self.rank, self.size, 1),
            "no source": (-5, 0, 1),
            "negative weight": (self.rank, 0, -1),
        }[wrong]
        return WORLD.Create_dist_graph([source], [1], [rank], [weight], reorder=self.reorder)


def with_nobody_on_one_rank() -> list[int]:
    """A list with MPI_PROC_NULL on one rank alone, which MPICH takes."""
    nobody = [MPI.PROC_NULL] if WORLD.rank == 1 else []
    made = WORLD.Create_dist_graph_adjacent(nobody, nobody, reorder=True)
    found = list(made.Get_group().Translate_ranks(list(range(made.size)), WORLD.Get_group()))
    made.Free()
    return found


def on_no_communicator() -> list[int]:
    """The errors of calls without reorder and with it, on MPI_COMM_NULL and on an inter-communicator."""
    half = WORLD.Split(WORLD.rank % 2)
    between = half.Create_intercomm(0, WORLD, 1 - WORLD.rank % 2)
    between.Set_errhandler(MPI.ERRORS_RETURN)
    found = [_cart_by_c(comm, reorder) for comm in (MPI.COMM_NULL, between) for reorder in (0, 1)]
    between.Free()
    half.Free()
    return found


def _cart_by_c(comm: MPI.Comm, reorder: int) -> int:
    dims, made = (ctypes.c_int * 1)(1), ctypes.c_void_p()
    code = ctypes.CDLL(None).MPI_Cart_create(handle(comm), 1, dims, dims, reorder, ctypes.byref(made))
    return int(MPI.Get_error_class(code))


# ---- the communicator itself


def inherited() -> tuple[bool, bool]:
    """Does the new communicator have the parent's error handler, and any of its attributes?"""
    keyval = MPI.Comm.Create_keyval(copy_fn=lambda _comm, _key, value: value)
    with parent("world") as comm:
        comm.Set_errhandler(MPI.ERRORS_RETURN)
        comm.Set_attr(keyval, 7)
        made = comm.Create_cart([2, comm.size // 2], reorder=True)
    is_alike = made.Get_errhandler() == MPI.ERRORS_RETURN
    has_attribute = made.Get_attr(keyval) is not None
    made.Free()
    return is_alike, has_attribute


def make_many(n: int) -> None:
    """More than a library has room for, if any of them stayed."""
    for _ in range(n):
        WORLD.Create_cart([2, WORLD.size // 2], reorder=True).Free()
        vertex = [(WORLD.rank + WORLD.size // 2) % WORLD.size]
        WORLD.Create_dist_graph_adjacent(vertex, vertex, reorder=True).Free()


def messages_beside() -> None:
    """A receive from anybody that is posted before takes the program's message, not one of ours."""
    heard = np.full(64, -1)
    request = WORLD.Irecv(heard, MPI.ANY_SOURCE, MPI.ANY_TAG)
    there, back = (WORLD.rank + 3) % WORLD.size, (WORLD.rank - 3) % WORLD.size
    made = WORLD.Create_dist_graph_adjacent([back], [there], reorder=True)
    WORLD.Send(np.full(64, WORLD.rank), there, 5)
    request.Wait()
    assert (heard == back).all()
    made.Free()


def unusual_addresses(reorder: int) -> int:
    """MPI_Dist_graph_create_adjacent without arrays where there are no edges, as a C program calls it."""
    made, none = MPI.Intracomm(), ctypes.c_void_p(None)
    into = ctypes.c_void_p(MPI._addressof(made))
    nothing = (0, none, none)
    call = ctypes.CDLL(None).MPI_Dist_graph_create_adjacent
    return int(call(handle(WORLD), *nothing, *nothing, handle(MPI.INFO_NULL), reorder, into))
