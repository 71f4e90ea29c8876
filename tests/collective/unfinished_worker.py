"""Nonblocking and persistent collective calls by messages: each rank checks its bytes, and tells their path."""

from __future__ import annotations

import random
import time

import numpy as np
from by_messages_worker import CELLS, DEVICE, exchange_with, filled, ints, rows_of, spec, strided, transpose, went
from mpi4py import MPI

from support import equal, outcomes
from support.direct_counts import DIRECT

BY_MESSAGES = DIRECT[1]


class Transposition:
    """One MPI_Alltoallw of strided blocks, of any form."""

    def __init__(self, comm: MPI.Comm, kind: str = DEVICE) -> None:
        self.comm, self.kind, self.n = comm, kind, comm.size * CELLS
        self.element = strided()
        self.sent = np.zeros(self.n)
        self.out, self.into = filled(self.sent, kind), filled(np.full(self.n, -1), kind)

    def fill(self, turn: int) -> None:
        self.turn = turn
        self.sent = np.arange(self.n) + 100_000 * self.comm.rank + 7 * turn
        self.out.write(self.sent.astype("i4").view("u1"))
        self.into.write(np.full(self.n, -1, "i4").view("u1"))

    @property
    def arguments(self) -> tuple[object, object]:
        there = ([1] * self.comm.size, [4 * CELLS * i for i in range(self.comm.size)])
        types = [self.element] * self.comm.size
        return spec(self.out, there, types), spec(self.into, there, types)

    def begin(self, turn: int) -> MPI.Request:
        self.fill(turn)
        return self.comm.Ialltoallw(*self.arguments)

    def init(self) -> MPI.Prequest:
        return self.comm.Alltoallw_init(*self.arguments)

    def check(self) -> None:
        expected = np.full((self.comm.size, CELLS), -1)
        for peer in range(self.comm.size):
            base = 100_000 * peer + 7 * self.turn + CELLS * self.comm.rank
            expected[peer, ::2] = base + np.arange(0, CELLS, 2)
        equal.check(ints(self.into), expected.ravel())
        equal.check(ints(self.out), self.sent)

    def free(self) -> None:
        self.element.Free()


def agreed(kind: str = DEVICE) -> MPI.Comm:
    """A communicator whose members have agreed on messages, if they can."""
    comm = MPI.COMM_WORLD.Dup()
    transpose(comm, kind)
    return comm


def nonblocking(rounds: int, kinds: dict[int, str] | None = None) -> tuple[dict[str, int], tuple[int, int]]:
    kind = (kinds or {}).get(MPI.COMM_WORLD.rank, DEVICE)
    comm = agreed(kind)
    one = Transposition(comm, kind)
    before = outcomes.rows()
    for turn in range(rounds):
        one.begin(turn).Wait()
        one.check()
    counted = rows_of("MPI_Ialltoallw", before), went(before)
    one.free()
    comm.Free()
    return counted


def persistent(rounds: int, kinds: dict[int, str] | None = None) -> tuple[dict[str, int], tuple[int, int]]:
    """The members agree when the request is made."""
    comm = MPI.COMM_WORLD.Dup()
    one = Transposition(comm, (kinds or {}).get(comm.rank, DEVICE))
    before = outcomes.rows()
    request = one.init()
    for turn in range(rounds):
        one.fill(turn)
        request.Start()
        request.Wait()
        one.check()
        assert request.Test()  # inactive
    counted = rows_of("MPI_Alltoallw_init", before), went(before)
    request.Free()
    one.free()
    comm.Free()
    return counted


def around_a_ring() -> tuple[int, int]:
    """No call but that which made the communicator comes before: calls that were by messages, and direct messages."""
    comm = MPI.COMM_WORLD.Create_cart([MPI.COMM_WORLD.size], [True])
    lower, upper = comm.Shift(0, 1)
    before = outcomes.rows()
    exchange_with(comm, lambda *buffers: comm.Ineighbor_alltoall(*buffers).Wait(), [(lower, 1), (upper, 0)])
    counted = rows_of("MPI_Ineighbor_alltoall", before).get(BY_MESSAGES, 0), went(before)[0]
    comm.Free()
    return counted


def around_rings(most: int) -> list[tuple[int, int]]:
    """Several times: members that come late, on a busy machine, do not agree when the topology is made."""
    found = []
    for _ in range(most):
        MPI.COMM_WORLD.Barrier()
        found.append(around_a_ring())
    return found


def complete(draw: random.Random, requests: list[MPI.Request]) -> None:
    """Completes the requests, by calls that this rank draws."""
    open_requests = list(requests)
    while open_requests:
        if draw.random() < 0.2 and not open_requests[0].Get_status():
            continue
        _complete_some(draw.choice(("all", "some", "any", "testall", "testany", "testsome", "one")), open_requests)


def _complete_some(how: str, requests: list[MPI.Request]) -> None:
    if how == "one":
        requests.pop().Wait()
    elif how in ("any", "testany"):
        index, is_done = (
            MPI.Request.Testany(requests)[:2] if how == "testany" else (MPI.Request.Waitany(requests), True)
        )
        if is_done:
            requests.pop(index)
    elif how in ("some", "testsome"):
        done = (MPI.Request.Waitsome if how == "some" else MPI.Request.Testsome)(requests)
        for index in sorted(done or [], reverse=True):
            requests.pop(index)
    elif how == "all" or MPI.Request.Testall(requests):
        if how == "all":
            MPI.Request.Waitall(requests)
        requests.clear()


def under_way_together(seed: int, rounds: int) -> int:
    """Several calls, messages between them and blocking calls; each rank completes them in an order of its own."""
    comm, draw = agreed(), random.Random(seed)
    own = random.Random(seed + comm.rank)
    there, back = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    element = strided()
    for turn in range(rounds):
        calls = [Transposition(comm, own.choice((DEVICE, DEVICE, "host"))) for _ in range(draw.randrange(1, 5))]
        sent = filled(np.arange(CELLS) + 1000 * comm.rank + turn, DEVICE)
        received = filled(np.full(CELLS, -1), DEVICE)
        requests = [comm.Irecv(spec(received, 1, element), back)]
        for i, call in enumerate(calls):
            requests.append(call.begin(10 * turn + i))
            if draw.random() < 0.3:
                transpose(comm, turn=turn)
            if own.random() < 0.1:
                time.sleep(0.002)
        requests.append(comm.Isend(spec(sent, 1, element), there))
        complete(own, requests)
        for call in calls:
            call.check()
            call.free()
        expected = np.full(CELLS, -1)
        expected[::2] = np.arange(0, CELLS, 2) + 1000 * back + turn
        equal.check(ints(received), expected)
    element.Free()
    comm.Free()
    return rounds


def started_in_any_order(seed: int, rounds: int) -> int:
    """Persistent calls start in another order on each rank (MPI-4.1, 6.13)."""
    comm = MPI.COMM_WORLD.Dup()
    own = random.Random(seed + comm.rank)
    calls = [Transposition(comm) for _ in range(4)]
    requests = [call.init() for call in calls]
    for turn in range(rounds):
        order = own.sample(range(len(calls)), len(calls))
        for i in order:
            calls[i].fill(10 * turn + i)
        if own.random() < 0.5:
            MPI.Prequest.Startall([requests[i] for i in order])
        else:
            for i in order:
                requests[i].Start()
        complete(own, [requests[i] for i in own.sample(order, len(order))])
        for call in calls:
            call.check()
    for call, request in zip(calls, requests, strict=True):
        request.Free()
        call.free()
    comm.Free()
    return rounds


def memory_changes(seed: int, rounds: int) -> dict[str, int]:
    """Each rank's memory is another one from call to call, and ranks run ahead of each other."""
    comm = agreed()
    own, draw = random.Random(seed + comm.rank), random.Random(seed)
    by_kind = {kind: [Transposition(comm, kind) for _ in range(8)] for kind in (DEVICE, "host")}
    before = outcomes.rows()
    for _ in range(rounds):
        of_all = draw.choice((DEVICE, "host", ""))
        begun: list[tuple[Transposition, MPI.Request]] = []
        for i in range(draw.randrange(1, 8)):
            one = by_kind[of_all or own.choice((DEVICE, "host"))][i]
            begun.append((one, one.begin(i)))
            time.sleep(own.choice((0, 0, 0.0005)))
        for one, request in begun:
            request.Wait()
            one.check()
    counted = rows_of("MPI_Ialltoallw", before)
    for one in (one for several in by_kind.values() for one in several):
        one.free()
    comm.Free()
    return counted


def host_calls_come_to_be_the_library_s(rounds: int) -> tuple[dict[str, int], dict[str, int]]:
    """Calls of host memory, then of GPU memory: outcomes of the last ones of each."""
    comm = agreed()
    found = []
    for kind in ("host", DEVICE):
        one = Transposition(comm, kind)
        for turn in range(rounds):
            before = outcomes.rows()
            one.begin(turn).Wait()
            one.check()
            comm.Barrier()
        found.append(rows_of("MPI_Ialltoallw", before))
        one.free()
    comm.Free()
    return found[0], found[1]
