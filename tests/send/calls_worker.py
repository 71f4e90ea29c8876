"""The two ranks of a message of any call: one case after another, each rank its end of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import ways
from mpi4py import MPI
from ways import Place

from support import outcomes
from support.building import Builder
from support.defects import is_open_mpi_4
from support.memory import needs_shim
from support.messages import End, Image, Side, check_status
from support.p2p import PLAIN, Form

if TYPE_CHECKING:
    from support.ranks import Ranks


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
    """Runs the cases and returns their number; a failure names its case, which can be pasted into a test."""
    done = 0
    for case in cases:
        try:
            check(case)
        except Exception as error:
            raise AssertionError(f"rank {MPI.COMM_WORLD.Get_rank()}, case {done}: {case!r}\n{error}") from error
        done += 1
    return done


def check_all(job: Ranks, check: Callable[[Any], None], cases: Sequence[object]) -> None:
    """In the test process: checks that every rank has run all cases, and at least one."""
    assert cases
    assert job.call(one_by_one, check, cases) == [len(cases)] * job.size


class Sender:
    def __init__(self, case: Case, builder: Builder) -> None:
        self.case, self.side, self.request = case, Side(case.sent, builder), None
        n_calls = 1 if case.send in ways.PERSISTENT_SENDS else case.rounds
        self.calls = [(case.send, self.side)] * n_calls

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
        n_calls = 1 if case.recv in ways.PERSISTENT_RECVS else case.rounds
        is_filled = Image(case.sent, builder).size == self.side.size
        self.calls = [outcomes.claim(case.recv.split()[0], self.side, is_filled)] * n_calls

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


def may_be_librarys(end: End, environment: Mapping[str, str]) -> bool:
    """Host memory is left to the library, and contiguous device memory to one that is CUDA-aware."""
    return environment.get("TEMPI_CUDA_AWARE") == "1" or not needs_shim(end.kind)


def token(ready: bool) -> None:
    """Tells the other rank, or hears from it, that the receive is posted."""
    tokens, other = comms()["tokens"], 1 - MPI.COMM_WORLD.Get_rank()
    (tokens.Send if ready else tokens.Recv)([None, 0, MPI.BYTE], other)


def transfer(case: Case) -> None:
    """One message, `rounds` times, from one rank to the other or to itself."""
    comms()
    if case.send == "Bsend_init" and is_open_mpi_4() and may_be_librarys(case.sent, os.environ):
        case = replace(case, rounds=1)  # restarted, it sends stale bytes
    with Builder() as builder:
        if case.where == "self":
            to_itself(Sender(case, builder), Receiver(case, builder))
        elif MPI.COMM_WORLD.Get_rank() == case.sender:
            send(Sender(case, builder))
        else:
            receive(Receiver(case, builder))


def send(sender: Sender) -> None:
    with outcomes.claimed(*sender.calls):
        for turn in range(sender.case.rounds):
            if ways.needs_receiver(sender.case.send):
                token(ready=False)
            sender.start(turn)
            sender.finish()
        sender.close()


def receive(receiver: Receiver) -> None:
    with outcomes.claimed(*receiver.calls):
        for turn in range(receiver.case.rounds):
            receiver.start(turn)
            if ways.needs_receiver(receiver.case.send):
                token(ready=True)
            receiver.finish(turn)
        receiver.close()


def to_itself(sender: Sender, receiver: Receiver) -> None:
    case = sender.case
    steps = (receiver.start, sender.start) if case.recv in ways.POSTED_EARLY else (sender.start, receiver.start)
    with outcomes.claimed(*sender.calls, *receiver.calls):
        for turn in range(case.rounds):
            for step in steps:
                step(turn)
            sender.finish()
            receiver.finish(turn)
        sender.close()
        receiver.close()
