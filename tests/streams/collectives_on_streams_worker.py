"""Persistent collective operations in the order of a stream: each rank checks its bytes."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import numpy as np
from enqueue_worker import Exchanges, counts, make_pair
from later_reductions_worker import agreed
from mpi4py import MPI
from node_reductions_worker import Case, draw_case, sizes_of
from stream_operations import MOVEMENTS, Moved, OnStream, Reduced, array_of
from stream_programs import shapes

import tempi
from support.collective_calls import check_drawn
from tempi._library import library
from tempi.testing import FakeArray, FakeStream


def reduce_drawn(seeds: list[int]) -> tuple[int, dict[str, int]]:
    """Random reductions, each a few times in random ways."""
    comm = agreed()
    tempi.reset_stats()

    def check_case(case: Case) -> None:
        if sizes_of(case).whole > 0:
            draw = random.Random(case.seed)
            ways = ["enqueued", *draw.choices(("enqueued", "captured", "MPI_Start"), k=3)]
            Reduced(comm, case).run(ways)

    n = check_drawn(draw_case, check_case, seeds)
    comm.Free()
    return n, counts()


def reduce_all(cases: list[Case], ways: Sequence[str]) -> dict[str, int]:
    comm = agreed()
    tempi.reset_stats()
    for case in cases:
        Reduced(comm, case).run(ways)
    comm.Free()
    return counts()


def launches_of(count: int, n: int) -> int:
    """The kernels of `n` enqueued reductions to all of `count` doubles, after the first one."""
    comm, stream = agreed(), FakeStream()
    one = Reduced(comm, Case("Allreduce", "DOUBLE", "SUM", count, seed=6))
    for turn in range(n + 1):
        one.fill(stream, turn)
        if turn == 1:
            tempi.reset_stats()
        tempi.start_enqueue([one.request], stream)
        tempi.wait_enqueue([one.request], stream)
        stream.synchronize()
    n_launches = sum(row.calls for row in tempi.stats() if row.function == "GPU" and row.outcome == "kernel launches")
    one.request.Free()
    comm.Free()
    return n_launches


def move_all(n: int, ways: Sequence[str], in_place: bool = False) -> dict[str, int]:
    comm = agreed()
    tempi.reset_stats()
    for operation in ("Alltoall", "Allgather") if in_place else MOVEMENTS:
        Moved(comm, operation, n, comm.size - 1, in_place).run(ways)
    comm.Free()
    return counts()


def together(rounds: int) -> dict[str, int]:
    """A solver's step: a halo, two dot products and an all-to-all, in one wait and in several."""
    comm, draw, stream = agreed(), random.Random(5), FakeStream()
    rows = shapes()["rows"]
    halo = Exchanges(comm, 11, 0)
    halo.pairs = [make_pair(comm, rank, (rank + 1) % comm.size, 5, rows) for rank in range(comm.size)]
    own = [request for pair in halo.mine(halo.pairs) for request in pair.requests]
    all_of = [
        Reduced(comm, Case("Allreduce", "DOUBLE", "SUM", 1, seed=3)),
        Reduced(comm, Case("Allreduce", "FLOAT", "MAX", 1_100_001, in_place=True, seed=4)),
        Moved(comm, "Alltoall", 100),
    ]
    tempi.reset_stats()
    for turn in range(rounds):
        for one in all_of:
            one.fill(stream, turn)
        seed = halo.fill(halo.pairs, stream)
        draw.shuffle(all_of)  # the same on all ranks
        requests = [*own, *(one.request for one in all_of)]
        if draw.random() < 0.5:
            tempi.start_enqueue(requests, stream)
            tempi.wait_enqueue(requests, stream)
        else:
            for one in all_of:
                one.enqueue(stream)
            tempi.start_enqueue(own, stream)
            tempi.wait_enqueue(own, stream)
        halo.check(halo.pairs, stream, seed)
        for one in all_of:
            one.checks.append(one.read(stream))
    for one in all_of:
        one.finish(stream)
    halo.streams = [stream]
    halo.run(0)
    comm.Free()
    return counts()


def a_rank_is_late(seconds: float, n: int) -> dict[str, int]:
    comm, stream = agreed(), FakeStream()
    one = Reduced(comm, Case("Allreduce", "INT", "SUM", 1000, seed=6))
    one.turn(stream, 0, "enqueued")
    tempi.reset_stats()
    for turn in range(1, n):
        if comm.rank == 1:
            time.sleep(seconds)
        one.turn(stream, turn, "enqueued")
    one.finish(stream)
    comm.Free()
    return counts()


def freed_behind_the_wait(n: int) -> None:
    """The request is freed, and its memory used by the next one, while its work is queued."""
    comm, stream, checks = agreed(), FakeStream(), []
    library().fake_unfinished()
    for turn in range(n):
        one = Reduced(comm, Case("Allreduce", "INT", "SUM", 3000, seed=turn))
        one.turn(stream, turn, "enqueued")
        one.request.Free()
        checks.append(one)
    stream.synchronize()
    for one in checks:
        for check in one.checks:
            check()
    comm.Free()


def started_twice() -> list[str]:
    comm, stream = agreed(), FakeStream()
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    one = Reduced(comm, Case("Allreduce", "INT", "SUM", 10))
    one.fill(stream, 0)
    tempi.start_enqueue(one.request, stream)
    said = []
    for call in (lambda: tempi.start_enqueue(one.request, stream), one.request.Start):
        try:
            call()
        except (MPI.Exception, RuntimeError) as error:
            said.append(str(error))
    tempi.wait_enqueue(one.request, stream)
    one.checks.append(one.read(stream))
    one.finish(stream)
    comm.Free()
    return said


def in_two_streams_in_turn(n: int, late: float = 0.0) -> dict[str, int]:
    """Sums in place, each time in the other stream, without a wait of the program between them."""
    comm, streams = agreed(), (FakeStream(), FakeStream())
    tempi.reset_stats()
    for count in (100, 1_200_000):  # in one step, and in two
        own = [np.random.default_rng((rank, count)).integers(0, 1 << 20, count, np.uint32) for rank in range(comm.size)]
        array = FakeArray.from_numpy(own[comm.rank])
        request = comm.Allreduce_init(MPI.IN_PLACE, [array, count, MPI.UINT32_T])
        if comm.rank == 1:
            time.sleep(late)
        for turn in range(n):
            stream = streams[turn % 2]
            tempi.start_enqueue(request, stream)
            tempi.wait_enqueue(request, stream)
        for stream in streams:
            stream.synchronize()
        sums = np.sum(own, axis=0, dtype=np.uint32) * np.uint32(comm.size ** (n - 1))
        np.testing.assert_array_equal(array.to_numpy(), sums)
        request.Free()
    comm.Free()
    return counts()


def communicator_is_freed_first() -> dict[str, int]:
    comm, stream = agreed(), FakeStream()
    all_of: list[OnStream] = [Moved(comm, "Alltoall", 50), Reduced(comm, Case("Allreduce", "INT", "SUM", 100, seed=6))]
    comm.Free()
    tempi.reset_stats()
    for one in all_of:
        if isinstance(one, Moved):
            one.comm = MPI.COMM_WORLD
        for turn in range(3):
            one.turn(stream, turn, "enqueued")
        one.finish(stream)
    return counts()


def a_freed_buffer() -> str:
    comm, stream = agreed(), FakeStream()
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    one = Reduced(comm, Case("Allreduce", "INT", "SUM", 1000, seed=6))
    one.turn(stream, 0, "enqueued")
    stream.synchronize()
    library().fake_deallocate(one.reduction.into.buffer.address)
    array_of(one.reduction.into)._memory.address = 0
    said = ""
    try:
        tempi.start_enqueue(one.request, stream)
    except MPI.Exception as error:
        said = str(error)
    one.request.Free()
    comm.Free()
    return said
