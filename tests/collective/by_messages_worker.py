"""Collective calls by messages: each rank checks its bytes, and tells the path of its calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from mpi4py import MPI

from support import equal, outcomes
from support.direct_counts import BOUNCED, DIRECT, TIMED_OUT
from support.memory import Buffer, at_hand

DEVICE = "device"
CELLS = 64  # ints a block, every other one of which is data


PATIENT = {"TEMPI_DEVICE": "fake", "TEMPI_STRATEGY": "direct", "TEMPI_MATCH_TIMEOUT": "5000000"}


def check_launches(of_ranks: Iterable[tuple[dict[str, int], tuple[int, int]]], n_calls: int, rounds: int) -> None:
    """All calls were by messages, and all messages to all direct: one launch a round, or as many as there are peers
    that come one after the other."""
    found = list(of_ranks)
    for by_outcome, (n_direct, n_launches) in found:
        assert by_outcome == {DIRECT[1]: n_calls}
        assert n_direct == rounds * len(found)
        assert rounds <= n_launches <= rounds * len(found)


def filled(values: np.ndarray, kind: str) -> Buffer:
    return at_hand(kind, np.ascontiguousarray(values, "i4").view("u1"))


def ints(buffer: Buffer) -> np.ndarray:
    return buffer.read().view("i4")


def spec(buffer: Buffer, *rest: Any) -> list[Any]:
    return [MPI.buffer.fromaddress(buffer.address, 1 << 24), *rest]


def strided() -> MPI.Datatype:
    return MPI.INT.Create_vector(CELLS // 2, 1, 2).Create_resized(0, 4 * CELLS).Commit()


def rows_of(function: str, before: outcomes.Rows) -> dict[str, int]:
    """This rank's calls of the function since then, by outcome."""
    rows = outcomes.rows() - before
    return {outcome: n for (name, outcome), n in rows.items() if name == function}


def went(before: outcomes.Rows) -> tuple[int, int]:
    """Messages that were direct, and launches."""
    rows = outcomes.rows() - before
    return rows[DIRECT] + rows[BOUNCED], rows[outcomes.LAUNCHES]


def transpose(comm: MPI.Comm, kind: str = DEVICE, turn: int = 0) -> None:
    """One MPI_Alltoallw of strided blocks."""
    n, element = comm.size, strided()
    sent = np.arange(n * CELLS) + 100_000 * comm.rank + turn
    out, into = filled(sent, kind), filled(np.full(n * CELLS, -1), kind)
    there = ([1] * n, [4 * CELLS * i for i in range(n)])
    comm.Alltoallw(spec(out, there, [element] * n), spec(into, there, [element] * n))
    expected = np.full(n * CELLS, -1).reshape(n, CELLS)
    for peer in range(n):
        expected[peer, ::2] = 100_000 * peer + turn + CELLS * comm.rank + np.arange(0, CELLS, 2)
    equal.check(ints(into), expected.ravel())
    equal.check(ints(out), sent)
    element.Free()


def transposes(rounds: int, kinds: dict[int, str] | None = None) -> tuple[dict[str, int], tuple[int, int]]:
    """Outcomes of the calls, and those of their messages, on a communicator of their own."""
    comm = MPI.COMM_WORLD.Dup()
    before = outcomes.rows()
    for turn in range(rounds):
        transpose(comm, (kinds or {}).get(comm.rank, DEVICE), turn)
    counted = rows_of("MPI_Alltoallw", before), went(before)
    comm.Free()
    return counted


def late_member(seconds: float) -> list[dict[str, int]]:
    """One rank comes late to the first call: outcomes of the first calls and of later ones."""
    comm = MPI.COMM_WORLD.Dup()
    found = []
    for turn in range(3):
        before = outcomes.rows()
        if turn == 0 and comm.rank == 1:
            time.sleep(seconds)
        transpose(comm, turn=turn)
        found.append(rows_of("MPI_Alltoallw", before))
    comm.Free()
    return found


def sent_before_a_vote(n: int, n_bytes: int) -> int:
    """Messages of host memory to the next rank, complete only behind a call in which their sender waits for it."""
    comm = MPI.COMM_WORLD.Dup()
    transpose(comm)
    there, back = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    data, got = np.arange(n_bytes, dtype="u1"), np.zeros(n_bytes, "u1")
    sent = [comm.Isend(data, there) for _ in range(n)]
    if comm.rank == 0:
        transpose(comm, turn=1)
    for _ in range(n):
        comm.Recv(got, back)
        equal.check(got, data)
    if comm.rank != 0:
        transpose(comm, turn=1)
    MPI.Request.Waitall(sent)
    comm.Free()
    return n


def many_communicators(n: int) -> int:
    """Calls on one communicator after the other: those that were by messages."""
    before = outcomes.rows()
    for _ in range(n):
        comm = MPI.COMM_WORLD.Dup()
        transpose(comm)
        comm.Free()
    return rows_of("MPI_Alltoallw", before).get(DIRECT[1], 0)


def host_memory_after_communicators(n: int) -> int:
    """Messages of later calls that waited in vain for a peer whose memory is the host's."""
    many_communicators(n)
    before = outcomes.rows()
    transposes(4, {1: "host"})
    return (outcomes.rows() - before)[TIMED_OUT]


def communicators_at_once(n: int) -> int:
    """More communicators than there are polls."""
    before = outcomes.rows()
    comms = [MPI.COMM_WORLD.Dup() for _ in range(n)]
    for comm in comms:
        transpose(comm)
    for comm in comms:
        comm.Free()
    return rows_of("MPI_Alltoallw", before).get(DIRECT[1], 0)


def exchange_with(comm: MPI.Comm, call: Callable[..., object], sources: list[tuple[int, int]]) -> None:
    """Three calls with a block for each neighbour. `sources`: each block's rank, and its place there."""
    n, element = len(sources), strided()
    for turn in range(3):
        out = filled(np.arange(n * CELLS) + 100_000 * comm.rank + turn, DEVICE)
        into = filled(np.full(n * CELLS, -1), DEVICE)
        call(spec(out, 1, element), spec(into, 1, element))
        expected = np.full((n, CELLS), -1)
        for block, (peer, theirs) in enumerate(sources):
            expected[block, ::2] = 100_000 * peer + turn + CELLS * theirs + np.arange(0, CELLS, 2)
        equal.check(ints(into), expected.ravel())
    element.Free()


def grid_of_two() -> tuple[int, int]:
    """A periodic grid: both neighbours of a dimension are one process. The lower side's block comes from above."""
    comm = MPI.COMM_WORLD.Create_cart([comm_size(), 1], [True, True])
    lower, upper = comm.Shift(0, 1)
    before = outcomes.rows()
    exchange_with(comm, comm.Neighbor_alltoall, [(lower, 1), (upper, 0), (comm.rank, 3), (comm.rank, 2)])
    counted = went(before)
    comm.Free()
    return counted


def comm_size() -> int:
    return MPI.COMM_WORLD.size


def edges_between_two(kinds: dict[int, str]) -> dict[str, int]:
    """Several edges between two processes: blocks come in the order in which they were sent."""
    world = MPI.COMM_WORLD
    there, back = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    comm = world.Create_dist_graph_adjacent([back, world.rank, back, back], [there, there, world.rank, there])
    element, kind = strided(), kinds.get(world.rank, DEVICE)
    before = outcomes.rows()
    for turn in range(3):
        out = filled(np.arange(4 * CELLS) + 100_000 * world.rank + turn, kind)
        into = filled(np.full(4 * CELLS, -1), kind)
        blocks = ([1] * 4, [4 * CELLS * i for i in range(4)], [element] * 4)
        comm.Neighbor_alltoallw(spec(out, *_pair(blocks)), spec(into, *_pair(blocks)))
        expected = np.full((4, CELLS), -1)
        sources = zip((back, world.rank, back, back), range(4) if world.size == 1 else (0, 2, 1, 3), strict=True)
        for block, (peer, theirs) in enumerate(sources):
            expected[block, ::2] = 100_000 * peer + turn + CELLS * theirs + np.arange(0, CELLS, 2)
        equal.check(ints(into), expected.ravel())
    element.Free()
    counted = rows_of("MPI_Neighbor_alltoallw", before)
    comm.Free()
    return counted


def _pair(blocks: tuple[list[int], list[int], list[MPI.Datatype]]) -> tuple[Any, ...]:
    counts, displacements, types = blocks
    return (counts, displacements), types


def changing_arguments() -> int:
    """Other buffers, datatypes and counts from call to call, and freed ones whose handles come again."""
    comm = MPI.COMM_WORLD.Dup()
    n = comm.size
    for turn in range(30):
        step = 2 + turn % 3
        n_data = CELLS // step
        element = MPI.INT.Create_vector(n_data, 1, step).Create_resized(0, 4 * CELLS).Commit()
        out = filled(np.arange(n * CELLS) + 100_000 * comm.rank + turn, DEVICE)
        into = filled(np.full(n * CELLS, -1), DEVICE)
        comm.Alltoall(spec(out, 1, element), spec(into, 1, element))
        expected = np.full((n, CELLS), -1)
        for peer in range(n):
            at = np.arange(n_data) * step
            expected[peer, at] = 100_000 * peer + turn + CELLS * comm.rank + at
        equal.check(ints(into), expected.ravel())
        element.Free()
        del out, into
    comm.Free()
    return 30


def host_calls_between(rounds: int, kinds: tuple[str, ...]) -> dict[str, int]:
    """Calls of host memory before and between those of GPU memory."""
    comm = MPI.COMM_WORLD.Dup()
    before = outcomes.rows()
    for turn in range(rounds):
        transpose(comm, kinds[turn % len(kinds)], turn)
    counted = rows_of("MPI_Alltoallw", before)
    comm.Free()
    return counted


def _is_told_on_one_rank(comm: MPI.Comm) -> bool:
    """The others go on, as far as the library lets them: a small MPI_Bcast is over for its root."""
    element = MPI.INT.Create_vector(2, 1, 2)
    into = filled(np.arange(CELLS), DEVICE)
    if comm.rank == comm.size - 1 and comm.size > 1:
        try:
            comm.Bcast(spec(into, 1, element), 0)
        except MPI.Exception as error:
            return bool(error.Get_error_class() == MPI.ERR_TYPE)
        return False
    if comm.rank == 0:
        comm.Bcast(spec(into, 2, MPI.INT), 0)
    return True


def errors_are_told() -> bool:
    """A datatype that was not committed, roots that there are not: the program's error handler, and no message."""
    comm = MPI.COMM_WORLD.Dup()
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    transpose(comm)
    element = MPI.INT.Create_vector(2, 1, 2)
    out = filled(np.arange(comm.size * CELLS), DEVICE)
    into = filled(np.full(comm.size * CELLS, -1), DEVICE)
    try:
        comm.Alltoall(spec(out, 1, element), spec(into, 1, element))
    except MPI.Exception as error:
        is_told = error.Get_error_class() == MPI.ERR_TYPE
    else:
        is_told = False
    for root in (comm.size, -7):
        try:
            comm.Bcast(spec(out, 1, MPI.INT), root)
        except MPI.Exception as error:
            is_told = is_told and error.Get_error_class() == MPI.ERR_ROOT
        else:
            is_told = False
    transpose(comm, turn=1)
    comm.Free()
    return is_told


def one_rank_errs() -> bool:
    """One rank's datatype is not committed: it is told, and the others do not wait for it in votes."""
    comm = MPI.COMM_WORLD.Dup()
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    transpose(comm)
    return _is_told_on_one_rank(comm)
