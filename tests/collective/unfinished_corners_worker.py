"""Corner cases of nonblocking and persistent collective calls by messages."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable

import numpy as np
from by_messages_worker import CELLS, DEVICE, filled, ints, rows_of, spec, transpose
from mpi4py import MPI
from unfinished_worker import BY_MESSAGES, Transposition, agreed

from support import equal, outcomes


def the_communicator_is_freed_meanwhile() -> bool:
    """A call and a message are under way: some libraries destroy it when the last one is complete."""
    comm = agreed()
    one = Transposition(comm)
    peer, n = comm.size - 1 - comm.rank, CELLS * comm.size
    sent, received = filled(np.arange(n) + comm.rank, DEVICE), filled(np.zeros(n), DEVICE)
    requests = [comm.Irecv(spec(received, n, MPI.INT), peer), one.begin(1), comm.Isend(spec(sent, n, MPI.INT), peer)]
    comm.Free()
    MPI.Request.Waitall(requests)
    one.comm = MPI.COMM_WORLD
    one.check()
    one.free()
    equal.check(ints(received), np.arange(n) + peer)
    return True


def _error_class(call: Callable[[], object]) -> int:
    try:
        call()
    except MPI.Exception as error:
        return int(error.Get_error_class())
    return int(MPI.SUCCESS)


def errors_are_told() -> tuple[int, int, int]:
    """A datatype that is not committed; blocks that are too long for their receiver, in a call of either form."""
    comm = agreed()
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    loose = MPI.INT.Create_vector(2, 1, 2)
    out, into = filled(np.arange(comm.size * CELLS), DEVICE), filled(np.zeros(comm.size * CELLS), DEVICE)
    refused = _error_class(lambda: comm.Ialltoall(spec(out, 1, loose), spec(into, 1, loose)))
    for _ in range(2):  # the calls come to be messages again: Open MPI's own MPI_Ialltoall hangs in errors
        comm.Ialltoall(spec(out, 4, MPI.INT), spec(into, 4, MPI.INT)).Wait()
        comm.Barrier()
    arguments = spec(out, 8 if comm.rank == 0 else 4, MPI.INT), spec(into, 4, MPI.INT)
    truncated = _error_class(lambda: comm.Ialltoall(*arguments).Wait())
    request = comm.Alltoall_init(*arguments)
    request.Start()
    again = _error_class(request.Wait)
    assert not ints(into)[4 * comm.size :].any()
    comm.Barrier()
    request.Free()
    loose.Free()
    transpose(comm, turn=1)
    comm.Free()
    return refused, truncated, again


def one_rank_is_refused_first() -> int:
    """A datatype that is not committed, on one rank: its handler is told once, and the next calls go on."""
    comm = MPI.COMM_WORLD.Dup()
    told: list[int] = []
    comm.Set_errhandler(MPI.Comm.Create_errhandler(lambda _, code: told.append(code)))
    one, loose = Transposition(comm), MPI.INT.Create_vector(2, 1, 2)
    out, into = filled(np.arange(comm.size * CELLS), DEVICE), filled(np.zeros(comm.size * CELLS), DEVICE)
    element = loose if comm.rank == 1 else MPI.INT
    with contextlib.suppress(MPI.Exception):
        comm.Alltoall_init(spec(out, 1, element), spec(into, 1, element))
    n_told = len(told)
    request = one.init()
    for turn in range(3):
        one.fill(turn)
        request.Start()
        request.Wait()
        one.check()
    request.Free()
    loose.Free()
    one.free()
    comm.Free()
    return n_told


def many_persistent_calls(n_after_each_other: int, n_at_once: int) -> tuple[int, int]:
    """Those that were by messages."""
    comm = MPI.COMM_WORLD.Dup()
    one = Transposition(comm)
    found = []
    for n, n_live in ((n_after_each_other, 1), (n_at_once, n_at_once)):
        before = outcomes.rows()
        for _ in range(0, n, n_live):
            requests = [one.init() for _ in range(n_live)]
            for turn, request in enumerate(requests):
                one.fill(turn)
                request.Start()
                request.Wait()
                one.check()
                request.Free()
        found.append(rows_of("MPI_Alltoallw_init", before).get(BY_MESSAGES, 0))
    one.free()
    comm.Free()
    return found[0], found[1]


def another_thread_waits(rounds: int) -> int:
    """One thread begins calls, another one completes them."""
    comm = agreed()
    calls = [Transposition(comm) for _ in range(3)]
    begun: queue.Queue[tuple[Transposition, MPI.Request] | None] = queue.Queue()
    ended: queue.Queue[Transposition] = queue.Queue()
    failures: list[BaseException] = []

    def complete() -> None:
        try:
            while item := begun.get():
                item[1].Wait()
                item[0].check()
                ended.put(item[0])
        except BaseException as failure:
            failures.append(failure)
            ended.put(calls[0])

    thread = threading.Thread(target=complete)
    thread.start()
    for call in calls:
        ended.put(call)
    for turn in range(rounds):
        call = ended.get()
        if failures:
            break
        begun.put((call, call.begin(turn)))
    begun.put(None)
    thread.join()
    if failures:
        raise failures[0]
    for call in calls:
        call.free()
    comm.Free()
    return rounds


def nobody_to_talk_to() -> int:
    """Calls without a byte have a request, too."""
    comm = MPI.COMM_WORLD.Create_dist_graph_adjacent([], [])
    out, into = filled(np.arange(4), DEVICE), filled(np.arange(4), DEVICE)
    comm.Ineighbor_alltoall(spec(out, 1, MPI.INT), spec(into, 1, MPI.INT)).Wait()
    request = comm.Neighbor_alltoall_init(spec(out, 1, MPI.INT), spec(into, 1, MPI.INT))
    for _ in range(3):
        request.Start()
        assert request.Get_status()
        request.Wait()
    request.Free()
    comm.Free()
    world = agreed()
    for turn in range(3):
        world.Ialltoall(spec(out, 0, MPI.INT), spec(into, 0, MPI.INT)).Wait()
        transpose(world, turn=turn)
    world.Free()
    equal.check(ints(into), np.arange(4))
    return MPI.COMM_WORLD.size
