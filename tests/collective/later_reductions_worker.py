"""Nonblocking and persistent reductions among the GPUs of a node, against the reference of the blocking ones."""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np
from mpi4py import MPI
from node_reductions_worker import KERNEL, OPERATIONS, Case, Held, Reduction, draw_case, sizes_of
from unfinished_worker import complete

from support import outcomes
from support.collective_calls import check_drawn

NONBLOCKING, PERSISTENT = "nonblocking", "persistent"
KINDS = ("device", "device", "device", "host", "managed", "pinned")


def name_of(operation: str, form: str) -> str:
    return f"I{operation.lower()}" if form == NONBLOCKING else f"{operation}_init"


def agreed() -> MPI.Comm:
    """A communicator whose members have agreed: they do in blocking calls of processes that use a GPU."""
    Reduction(Case("Allreduce", "DOUBLE", "SUM", 1))
    comm = MPI.COMM_WORLD.Dup()
    comm.Bcast(bytearray(1))
    return comm


def begin(comm: MPI.Comm, reduction: Reduction, form: str = NONBLOCKING) -> Any:
    return getattr(comm, name_of(reduction.case.operation, form))(*reduction.arguments)


def counted(before: Any, operation: str, form: str) -> int:
    rows = outcomes.rows() - before
    return int(rows[f"MPI_{name_of(operation, form)}", KERNEL])


def check(comm: MPI.Comm, case: Case, form: str, kind: str = "device", turns: int = 3) -> bool:
    """True if kernels did the call."""
    reduction = Reduction(case, kind)
    before = outcomes.rows()
    request = begin(comm, reduction, form)
    if form == NONBLOCKING:
        request.Wait()
        reduction.check()
        return counted(before, case.operation, form) == 1
    for turn in range(turns):
        reduction.refill(turn)
        request.Start()
        request.Wait()
        reduction.check()
        assert request.Test()  # inactive
    request.Free()
    return counted(before, case.operation, form) == 1


def check_seeds(seeds: list[int], form: str) -> int:
    """The kernels do every call that has something to do."""
    comm = agreed()

    def check_case(case: Case) -> None:
        assert check(comm, case, form) == (sizes_of(case).whole > 0)

    n = check_drawn(draw_case, check_case, seeds)
    comm.Free()
    return n


def check_all(cases: list[Case], form: str, kinds: dict[int, str] | None = None) -> list[bool]:
    comm = agreed()
    found = [check(comm, case, form, (kinds or {}).get(comm.rank, "device")) for case in cases]
    comm.Free()
    return found


def same_bits(rounds: int) -> list[bytes]:
    """Sums of numbers of very different sizes, by every form: the results of this rank, of which the bits count."""
    comm = agreed()
    case = Case("Allreduce", "DOUBLE", "SUM", 3001, seed=11)
    found = []
    for _ in range(rounds):
        for form in ("blocking", NONBLOCKING, PERSISTENT):
            reduction = Reduction(case)
            draw = np.random.default_rng(comm.rank)
            reduction.out.write(draw.normal(size=3001) * 10.0 ** draw.integers(-9, 9, 3001))
            if form == "blocking":
                comm.Allreduce(*reduction.arguments)
            else:
                request = begin(comm, reduction, form)
                if form == PERSISTENT:
                    request.Start()
                request.Wait()
            found.append(reduction.into.read().tobytes())
    comm.Free()
    return found


def under_way_together(seed: int, rounds: int, has_persistent: bool) -> dict[str, int]:
    """Reductions of several communicators, messages and blocking calls; each rank completes them in its own order."""
    comms, draw = [agreed(), agreed()], random.Random(seed)
    own = random.Random(seed + comms[0].rank)
    rank, size = comms[0].rank, comms[0].size
    # None is the library's, as those of nothing are: MPICH's MPI_Testall tells of errors in its own persistent calls.
    persistent = [
        Reduction(draw_case(draw.getrandbits(30))._replace(operation=draw.choice(OPERATIONS[:4]), count=17))
        for _ in range(3 if has_persistent else 0)
    ]
    prequests = [begin(draw.choice(comms), one, PERSISTENT) for one in persistent]
    before = outcomes.rows()
    for turn in range(rounds):
        of_all = draw.choice(("device", "device", "host", "")) if turn > 0 else "device"
        received, requests = np.full(100, -1), []
        if draw.random() < 0.5:
            requests.append(comms[0].Irecv(received, (rank - 1) % size))
        begun = []
        for _ in range(draw.randrange(1, 12)):
            # Some are the library's, which reduces in another order, and stops at the largest short integer.
            op = draw.choice(("SUM", "PROD", "MIN", "BXOR"))
            case = draw_case(draw.getrandbits(30))._replace(datatype="INT", op=op)
            begun.append(Reduction(case, of_all or own.choice(KINDS)))
            requests.append(begin(draw.choice(comms), begun[-1]))
            if draw.random() < 0.2:
                draw.choice(comms).allreduce(1)
            if own.random() < 0.1:
                time.sleep(0.002)
        if len(requests) > len(begun):
            requests.append(comms[0].Isend(np.arange(100) + turn, (rank + 1) % size))
        started = own.sample(range(len(persistent)), len(persistent)) if turn % 2 else []
        for i in started:
            persistent[i].refill(turn)
            prequests[i].Start()
        complete(own, [*requests, *(prequests[i] for i in started)])
        for one in [*begun, *(persistent[i] for i in started)]:
            one.check()
    for request in prequests:
        request.Free()
    rows = outcomes.rows() - before
    for comm in comms:
        comm.Free()
    return {name: int(n) for (name, outcome), n in rows.items() if outcome == KERNEL and name.startswith("MPI_I")}


def delayed(steps: list[tuple[int, float]]) -> bool:
    """Each rank waits before and between its calls, in every order of the delays of the ranks."""
    comm = agreed()
    for operation in OPERATIONS:
        for in_place in (False, True):
            reduction = Reduction(Case(operation, "INT", "SUM", 2000, in_place, seed=3))
            for who, seconds in steps:
                reduction.refill(who)
                if comm.rank == who:
                    time.sleep(seconds)
                request = begin(comm, reduction)
                for _ in range(3):
                    if comm.rank != who:
                        time.sleep(seconds)
                    if request is not None and request.Test():
                        request = None
                if request:
                    request.Wait()
                reduction.check()
    comm.Free()
    return True


def more_than_places(n: int) -> bool:
    """The calls return before any other rank has come; the results are right in whatever order they are waited for."""
    comm = agreed()
    if comm.rank == 0:
        time.sleep(0.1)
    reductions = [Reduction(Case("Allreduce", "DOUBLE", "SUM", 100 + i, i % 2 == 0, seed=i)) for i in range(n)]
    requests = [begin(comm, one) for one in reductions]
    for i in random.Random(comm.rank).sample(range(n), n):
        requests[i].Wait()
        reductions[i].check()
    comm.Free()
    return True


def kinds_change(seed: int, rounds: int) -> int:
    """The memory of each rank is another one in each call; calls that kernels did."""
    comm, own = agreed(), random.Random(seed + MPI.COMM_WORLD.rank)
    n = 0
    for turn in range(rounds):
        kind = own.choice(KINDS) if turn % 10 < 5 else "device"
        case = Case(OPERATIONS[turn % 6], "INT", "SUM", 50 + turn, turn % 4 == 1, seed=turn)
        n += check(comm, case, NONBLOCKING, kind)
    comm.Free()
    return n


def renewed_buffers(rounds: int) -> int:
    """The program gives a persistent call's memory back and takes it again where it was, or the driver another kind."""
    comm = agreed()
    n = 0
    for turn in range(rounds):
        n += check(comm, Case("Allreduce", "DOUBLE", "SUM", 1 + 97 * turn % 500, seed=turn), PERSISTENT, turns=2)
    comm.Free()
    return n


def many_persistent(n: int) -> int:
    """At once: those beyond the places are the library's. Calls that kernels do."""
    comm = agreed()
    before = outcomes.rows()
    reductions = [Reduction(Case("Allreduce", "INT", "SUM", 64 + i, seed=i)) for i in range(n)]
    requests = [begin(comm, one, PERSISTENT) for one in reductions]
    for turn in range(2):
        order = random.Random(turn * 100 + comm.rank).sample(range(n), n)
        for one in reductions:
            one.refill(turn)
        MPI.Prequest.Startall([requests[i] for i in order])
        MPI.Request.Waitall(requests)
        for one in reductions:
            one.check()
    for request in requests:
        request.Free()
    found = counted(before, "Allreduce", PERSISTENT)
    comm.Free()
    return found


def the_communicator_is_freed(form: str) -> bool:
    comm = agreed()
    reductions = [Reduction(Case("Allreduce", "INT", "SUM", 100, seed=i)) for i in range(3)]
    requests = [begin(comm, one, form) for one in reductions]
    if form == PERSISTENT:
        MPI.Prequest.Startall(requests)
    comm.Free()
    MPI.Request.Waitall(requests)
    for one in reductions:
        one.check()
    for request in requests:
        if request:
            request.Free()
    return True


def errors_in_place(form: str) -> list[bool]:
    """The buffers may be reduced in part: an error on every rank that waits, and none behind it."""
    comm = agreed()
    found = []
    held = Held("device", np.ones(1000), 0)
    arguments = (MPI.IN_PLACE, [held.at, 1000, MPI.DOUBLE], MPI.SUM)
    request = comm.Allreduce_init(*arguments) if form == PERSISTENT else None
    for _ in range(6):
        if request is None:
            one = comm.Iallreduce(*arguments)
        else:
            request.Start()
            one = request
        try:
            one.Wait()
            found.append(False)
        except MPI.Exception:
            found.append(True)
    if request is not None:
        request.Free()
    comm.Free()
    return found


def another_thread_waits(rounds: int) -> int:
    from concurrent.futures import ThreadPoolExecutor

    comms = [agreed(), agreed()]

    def reduce_often(comm: MPI.Comm) -> None:
        for turn in range(rounds):
            reduction = Reduction(Case("Allreduce", "INT", "SUM", 10 + turn, seed=turn))
            begin(comm, reduction).Wait()
            reduction.check()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(reduce_often, comms))
    for comm in comms:
        comm.Free()
    return rounds


def one_waits_for_a_message_meanwhile(rounds: int) -> bool:
    """Rank 0 is in MPI_Recv while rank 1 waits for the reduction, behind which it sends the message (MPI-4.1, 6.12)."""
    comm = agreed()
    for turn in range(rounds):
        reduction = Reduction(Case("Allreduce", "INT", "SUM", 100, seed=turn))
        request = begin(comm, reduction)
        got = np.zeros(1, "i4")
        if comm.rank == 0:
            comm.Recv(got, 1)
        request.Wait()
        if comm.rank == 1:
            comm.Send(got, 0)
        reduction.check()
    comm.Free()
    return True


def while_a_rank_computes(seconds: float) -> list[float]:
    """Rank 0 makes no MPI call between its own and its wait. How long each rank waits, by form."""
    comm = agreed()
    found = []
    for form in (NONBLOCKING, PERSISTENT):
        reduction = Reduction(Case("Allreduce", "INT", "SUM", 100, seed=1))
        comm.Barrier()
        request = begin(comm, reduction, form)
        if form == PERSISTENT:
            request.Start()
        if comm.rank == 0:
            time.sleep(seconds)
        before = time.monotonic()
        request.Wait()
        found.append(time.monotonic() - before)
        reduction.check()
    comm.Free()
    return found
