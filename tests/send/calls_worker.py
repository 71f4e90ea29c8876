"""What the two ranks of test_calls.py do: one case after another, each rank its end of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import ways
from mpi4py import MPI
from ways import Place

from support import constructors as c
from support.building import Builder
from support.defects import is_mpich_4_0, is_open_mpi_4, library_name
from support.memory import needs_shim
from support.messages import End, Image, Side, check_status
from support.p2p import PLAIN, Form, Piece, Requests
from support.typemap import Named


@cache
def comms() -> dict[str, MPI.Comm]:
    """The communicators of the cases; in all of them but "self" the other rank is the only other one."""
    ways.buffer_for_bsend()
    world = MPI.COMM_WORLD.Dup()
    mine = world.Split(world.Get_rank())
    inter = mine.Create_intercomm(0, world, 1 - world.Get_rank(), 7)
    return {"world": world, "inter": inter, "self": MPI.COMM_SELF.Dup(), "tokens": world.Dup()}


def peer_in(where: str) -> int:
    return 1 - MPI.COMM_WORLD.Get_rank() if where == "world" else 0


@dataclass(frozen=True)
class Case:
    send: str
    recv: str
    sent: End
    received: End
    leaf: str
    sender: int = 0
    where: str = "world"
    tag: int = 5
    any_source: bool = False
    any_tag: bool = False
    rounds: int = 1
    send_form: Form = PLAIN
    recv_form: Form = PLAIN
    send_completion: str = "Wait"
    recv_completion: str = "Wait"

    def source(self) -> Place:
        peer = MPI.ANY_SOURCE if self.any_source else peer_in(self.where)
        return Place(comms()[self.where], peer, MPI.ANY_TAG if self.any_tag else self.tag)

    def target(self) -> Place:
        return Place(comms()[self.where], peer_in(self.where), self.tag)


def one_by_one(check: Callable[[Any], None], cases: Iterable[object]) -> int:
    """Runs the cases; a failure names its case, which can be pasted into a test."""
    done = 0
    for case in cases:
        try:
            check(case)
        except Exception as error:
            raise AssertionError(f"rank {MPI.COMM_WORLD.Get_rank()}, case {done}: {case!r}\n{error}") from error
        done += 1
    return done


class Sender:
    def __init__(self, case: Case, builder: Builder) -> None:
        self.case, self.side, self.request = case, Side(case.sent, builder), None

    def start(self, turn: int) -> None:
        case = self.case
        if turn:
            self.side.refill(case.sent.later(turn).seed)
        if self.request and not self.request.is_null():  # persistent, and inactive
            ways.again(case.send_form, self.request, together=turn % 2 == 1)
        else:
            self.request = ways.send(case.send_form, case.send, self.side.piece, case.target())

    def finish(self) -> None:
        if self.request:
            ways.complete(self.case.send_form, self.case.send_completion, self.request)
        self.side.check_untouched()

    def close(self) -> None:
        if self.request:
            ways.free(self.case.send_form, self.request)


class Receiver:
    def __init__(self, case: Case, builder: Builder) -> None:
        self.case, self.side, self.builder, self.request = case, Side(case.received, builder), builder, None

    def start(self, turn: int) -> None:
        case = self.case
        self.status = MPI.Status()
        if turn:
            self.side.refill(case.received.later(turn).seed)
        if self.request and not self.request.is_null():
            ways.again(case.recv_form, self.request, together=turn % 2 == 1)
        else:
            self.request = ways.receive(case.recv_form, case.recv, self.side.piece, case.source(), self.status)

    def finish(self, turn: int) -> None:
        case = self.case
        if self.request:
            self.status = ways.complete(case.recv_form, case.recv_completion, self.request)[0]
        payload = Image(case.sent.later(turn), self.builder).payload()
        check_status(self.status, peer_in(case.where), case.tag, len(payload), self.side, case.leaf)
        self.side.check_received(payload)

    def close(self) -> None:
        if self.request:
            ways.free(self.case.recv_form, self.request)


def may_be_librarys(end: End) -> bool:
    """Host memory is left to the library, and contiguous device memory to one that is CUDA-aware."""
    return os.environ.get("TEMPI_CUDA_AWARE") == "1" or not needs_shim(end.kind)


def token(ready: bool) -> None:
    """Tells the other rank, or hears from it, that the receive is posted."""
    tokens, other = comms()["tokens"], 1 - MPI.COMM_WORLD.Get_rank()
    (tokens.Send if ready else tokens.Recv)([None, 0, MPI.BYTE], other)


def transfer(case: Case) -> None:
    """One message, `rounds` times, from one rank to the other or to itself."""
    comms()
    if case.send == "Bsend_init" and is_open_mpi_4() and may_be_librarys(case.sent):
        case = replace(case, rounds=1)  # restarted, it sends stale bytes
    with Builder() as builder:
        if case.where == "self":
            to_itself(case, builder)
        elif MPI.COMM_WORLD.Get_rank() == case.sender:
            sender = Sender(case, builder)
            for turn in range(case.rounds):
                if ways.needs_receiver(case.send):
                    token(ready=False)
                sender.start(turn)
                sender.finish()
            sender.close()
        else:
            receiver = Receiver(case, builder)
            for turn in range(case.rounds):
                receiver.start(turn)
                if ways.needs_receiver(case.send):
                    token(ready=True)
                receiver.finish(turn)
            receiver.close()


def to_itself(case: Case, builder: Builder) -> None:
    sender, receiver = Sender(case, builder), Receiver(case, builder)
    for turn in range(case.rounds):
        for step in (
            (receiver.start, sender.start) if case.recv in ways.POSTED_EARLY else (sender.start, receiver.start)
        ):
            step(turn)
        sender.finish()
        receiver.finish(turn)
    sender.close()
    receiver.close()


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


def wrong_in_mpich(case: Exchange) -> bool:
    """MPICH 5.0.2's Isendrecv_replace of types with gaps or an offset gives wrong bytes or dies.

    MPICH 4.0's Isendrecv frees datatypes that are in use.
    """
    dense = all(isinstance(end.spec, Named | c.Contiguous) for end in case.sent)
    alone = any(map(may_be_librarys, case.sent))
    if is_mpich_4_0() and case.way.startswith("I"):
        return True
    return case.way == "Isendrecv_replace" and alone and not dense and library_name() == "mpich"


def exchange(case: Exchange) -> None:
    if wrong_in_mpich(case):
        return
    me = MPI.COMM_WORLD.Get_rank()
    other = me if case.where == "self" else 1 - me
    comm, peer, request, status = comms()[case.where], peer_in(case.where), Requests(), MPI.Status()
    source = (MPI.ANY_SOURCE if case.any_source else peer, 10 + other)
    with Builder() as builder:
        side = Side(case.sent[me], builder)
        target = side if "replace" in case.way else Side(case.received[me], builder)
        last = request.at(0) if case.way.startswith("I") else status
        if target is side:
            case.form(case.way, side.piece, peer, 10 + me, *source, comm, last)
        else:
            case.form(case.way, side.piece, peer, 10 + me, target.piece, *source, comm, last)
        if case.way.startswith("I"):
            status = ways.complete(case.form, case.completion, request)[0]
        payload = Image(case.sent[other], builder).payload()
        if case.way.startswith("S") or library_name() != "mpich":  # MPICH leaves the status of its Isendrecv empty
            check_status(status, peer, 10 + other, len(payload), target, case.leaf)
        target.check_received(payload)
        if target is not side:
            side.check_untouched()


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


def nobody(case: tuple[str, str, End, Form, str]) -> None:
    """Sends to and receives from MPI_PROC_NULL: done at once, nothing moved."""
    send, recv, end, form, completion = case
    if "_init" in send + recv and library_name() == "mpich":
        return  # MPICH's started persistent requests for nobody count as inactive: empty statuses, MPI_UNDEFINED
    if is_mpich_4_0():
        return  # which does not say MPI_PROC_NULL in the status of an Irecv from it
    nowhere, status = Place(comms()["world"], MPI.PROC_NULL, 3), MPI.Status()
    with Builder() as builder:
        side = Side(end, builder)
        for request in (ways.send(form, send, side.piece, nowhere), None):
            if request:
                ways.complete(form, completion, request)
                ways.free(form, request)
        request = ways.receive(form, recv, side.piece, nowhere, status)
        if request:
            status = ways.complete(form, completion, request)[0]
            ways.free(form, request)
        assert (status.Get_source(), status.Get_tag()) == (MPI.PROC_NULL, MPI.ANY_TAG), f"{recv}, {completion}"
        assert status.Get_count(side.datatype) == 0
        side.check_untouched()


def nothing_to_complete(form: Form) -> None:
    """Arrays of null requests are complete, with empty statuses."""
    requests = Requests(3)
    for way in ways.COMPLETIONS:
        for status in ways.complete(form, way, requests):
            assert status.Get_count(MPI.BYTE) == 0


def freed_sends(ends: Sequence[End], form: Form) -> None:
    """Request_free of active sends: the messages arrive all the same."""
    comm, me = comms()["world"], MPI.COMM_WORLD.Get_rank()
    with Builder() as builder:
        sides = [Side(end, builder) for end in ends]
        for tag, side in enumerate(sides):
            if me == 0:
                way = ("Isend", "Issend", "Send_init", "Ibsend")[tag % 4]
                request = ways.send(form, way, side.piece, Place(comm, 1, tag))
                assert request
                ways.free(form, request)
                assert request.is_null()
            else:
                target = Side(side.end.later(1), builder)
                form("Recv", target.piece, 0, tag, comm, MPI.Status())
                target.check_received(side.payload())
        comm.Barrier()  # the buffers live until everything has arrived


def bottom_of_mixed_memory(kinds: tuple[str, str], form: Form, way: str) -> None:
    """One message from, and into, two regions in different memory, at absolute addresses."""
    comm, me = comms()["world"], MPI.COMM_WORLD.Get_rank()
    spec = c.Vector(40, 2, 5, Named("INT"))
    order = kinds if me == 0 else kinds[::-1]
    with Builder() as builder:
        sides = [Side(End(kind, spec, 1, seed=31 * me + i), builder) for i, kind in enumerate(order)]
        sent = [Image(End("host", spec, 1, seed=i), builder).payload() for i in range(2)]
        places = [side.buffer.address + side.origin for side in sides]
        datatype = MPI.Datatype.Create_struct([1, 1], places, [side.datatype for side in sides]).Commit()
        piece = Piece(0, 1, datatype)
        if me == 0:
            request = ways.send(form, way, piece, Place(comm, 1, 2))
            if request:
                ways.complete(form, "Wait", request)
        else:
            recv = "Irecv" if way.startswith("I") else "Recv"
            request = ways.receive(form, recv, piece, Place(comm, 0, 2), MPI.Status())
            if request:
                ways.complete(form, "Waitall", request)
            for side, payload in zip(sides, sent, strict=True):
                side.check_received(payload)
        datatype.Free()
