"""Two ranks that send to each other: in one call, or in one array of requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ways
from calls_worker import comms, may_be_librarys, peer_in
from mpi4py import MPI
from ways import Place

from support import constructors as c
from support import outcomes
from support.building import Builder
from support.defects import is_mpich_4_0, library_name
from support.messages import End, Image, Side, check_status
from support.p2p import PLAIN, Form, Requests
from support.typemap import Named


@dataclass(frozen=True)
class Exchange:
    """Both ranks send and receive in one call. The ends of rank 0 come first."""

    way: str
    sent: tuple[End, End]
    received: tuple[End, End]  # not for the _replace forms
    leaf: str
    where: str = "world"
    form: Form = PLAIN
    completion: str = "Wait"
    any_source: bool = False


def wrong_in_mpich(way: str, end: End, environment: Mapping[str, str]) -> bool:
    """MPICH 5.0.2's Isendrecv_replace of types with gaps or an offset gives wrong bytes or dies.

    MPICH 4.0's immediate exchanges free the datatypes, which are in use.
    """
    if library_name() != "mpich" or not way.startswith("I") or not may_be_librarys(end, environment):
        return False
    if is_mpich_4_0():
        return not isinstance(end.spec, Named)
    return way == "Isendrecv_replace" and not isinstance(end.spec, Named | c.Contiguous)


def exchange(case: Exchange) -> None:
    me = MPI.COMM_WORLD.Get_rank()
    other = me if case.where == "self" else 1 - me
    peer = peer_in(case.where)
    with Builder() as builder:
        side = Side(case.sent[me], builder)
        target = side if "replace" in case.way else Side(case.received[me], builder)
        buffers = [side] if target is side else [side, target]
        with outcomes.claimed(*((case.way, buffer) for buffer in buffers)):
            status = _exchanged(case, buffers, 10 + me, 10 + other)
        payload = Image(case.sent[other], builder).payload()
        if case.way.startswith("S") or library_name() != "mpich":  # MPICH leaves the status of its Isendrecv empty
            check_status(status, peer, 10 + other, len(payload), target, case.leaf)
        target.check_received(payload)
        if target is not side:
            side.check_untouched()


def _exchanged(case: Exchange, buffers: Sequence[Side], send_tag: int, recv_tag: int) -> MPI.Status:
    peer, status, request = peer_in(case.where), MPI.Status(), Requests()
    source = MPI.ANY_SOURCE if case.any_source else peer
    arguments = [buffers[0].piece, peer, send_tag, *(side.piece for side in buffers[1:]), source, recv_tag]
    if not case.way.startswith("I"):
        case.form(case.way, *arguments, comms()[case.where], status)
        return status
    case.form(case.way, *arguments, comms()[case.where], request.at(0))
    return ways.complete(case.form, case.completion, request)[0]


@dataclass(frozen=True)
class Batch:
    """Several messages each way in one array of requests, null requests in between, completed by one kind of call."""

    sent: tuple[tuple[End, ...], tuple[End, ...]]  # by rank
    received: tuple[tuple[End, ...], tuple[End, ...]]
    send: str
    recv: str
    completion: str
    leaf: str
    form: Form = PLAIN
    rounds: int = 1


def batch(case: Batch) -> None:
    me, comm = MPI.COMM_WORLD.Get_rank(), comms()["world"]
    with Builder() as builder:
        sides = [Side(end, builder) for end in case.sent[me]]
        targets = [Side(end, builder) for end in case.received[me]]
        requests = Requests(2 * len(targets) + len(sides) + 1)
        calls = [(case.send, side) for side in sides] + [(case.recv, target) for target in targets]
        with outcomes.claimed(*calls):  # a restart is no call of its own
            for turn in range(case.rounds):
                if turn == 0:
                    _post(case, sides, targets, requests, comm)
                else:
                    for side in (*sides, *targets):
                        side.refill(side.end.later(turn).seed)
                    _restart(case, requests)
                statuses = ways.complete(case.form, case.completion, requests)
                for i, target in enumerate(targets):
                    payload = Image(case.sent[1 - me][i].later(turn), builder).payload()
                    check_status(statuses[2 * i], 1 - me, i, len(payload), target, case.leaf)
                    target.check_received(payload)
                for side in sides:
                    side.check_untouched()
            ways.free(case.form, requests)


def _post(case: Batch, sides: Sequence[Side], targets: Sequence[Side], requests: Requests, comm: MPI.Comm) -> None:
    other = 1 - MPI.COMM_WORLD.Get_rank()
    for i, target in enumerate(targets):
        received = ways.receive(case.form, case.recv, target.piece, Place(comm, other, i), MPI.Status())
        assert received
        requests.put(2 * i, received)
    for i, side in enumerate(sides):
        sent = ways.send(case.form, case.send, side.piece, Place(comm, other, i))
        assert sent
        requests.put(2 * len(targets) + i, sent)


def _restart(case: Batch, requests: Requests) -> None:
    """Startall of the persistent ones; requests of the other calls are gone and not started again."""
    live = [i for i in range(requests.size) if not requests.is_null(i)]
    packed = Requests(len(live))
    for at, i in enumerate(live):
        packed.handles[at] = requests.handles[i]
    ways.again(case.form, packed, together=True)
