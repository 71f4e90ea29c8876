"""The ranks of test_random_programs.py and test_ordering.py: a schedule of messages, each rank its part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import ways
from mpi4py import MPI
from ways import Place

from support import defects, outcomes
from support.building import Builder
from support.messages import End, Image, Side, check_status
from support.p2p import PLAIN, Form, Requests
from support.typemap import overlaps


@dataclass(frozen=True)
class Message:
    source: int
    target: int
    tag: int
    sent: End
    received: End
    send: str = "Isend"
    recv: str = "Irecv"
    send_form: Form = PLAIN
    recv_form: Form = PLAIN
    any_source: bool = False
    any_tag: bool = False


@dataclass(frozen=True)
class Program:
    """Messages in program order, in phases; after each phase every rank completes what it has open."""

    phases: tuple[tuple[Message, ...], ...]
    completions: tuple[str, ...] = field(default=("Waitall",))  # by rank, repeated


@cache
def comm() -> MPI.Comm:
    ways.buffer_for_bsend()
    return MPI.COMM_WORLD.Dup()


LIBRARYS = ("host", "pinned")  # kinds of memory whose messages the shim leaves to the library


def is_trusted(message: Message, builder: Builder) -> bool:
    """True if the standard allows the message, and this MPI library can do it on host memory too."""
    is_to_oneself = message.source == message.target
    for end in (message.sent, message.received):
        if end.kind in LIBRARYS and defects.fails_in_pieces(end.spec, end.count, is_to_oneself):
            return False
        if defects.defect_left(end.spec) or defects.crashes_library(end.spec):
            return False
    return not overlaps(Image(message.received, builder).message)


@dataclass
class Open:
    """A message that has begun and is not known to be complete."""

    message: Message
    side: Side
    request: Requests


def run(program: Program) -> tuple[int, int]:
    """Runs one program. Returns the numbers of messages that this rank has checked, and that it was to receive.

    The difference are those that `is_trusted` leaves out.
    """
    checked = 0
    with Builder() as builder:
        for messages in program.phases:
            part = Part([m for m in messages if is_trusted(m, builder)], builder)
            with outcomes.claimed(*part.calls()):
                part.begin()
                part.finish(program.completions[part.me % len(program.completions)])
            checked += part.checked
    me = comm().Get_rank()
    return checked, sum(message.target == me for messages in program.phases for message in messages)


class Part:
    """This rank's part of a phase."""

    def __init__(self, messages: Sequence[Message], builder: Builder) -> None:
        self.me, self.builder, self.checked = comm().Get_rank(), builder, 0
        self._messages = messages
        self._opened: list[Open] = []

    def calls(self) -> list[outcomes.Claim | None]:
        sent = [outcomes.claim(m.send, Image(m.sent, self.builder)) for m in self._messages if m.source == self.me]
        return sent + [self._claim_of_receive(m) for m in self._messages if m.target == self.me]

    def _claim_of_receive(self, message: Message) -> outcomes.Claim | None:
        sent, received = Image(message.sent, self.builder), Image(message.received, self.builder)
        return outcomes.claim(message.recv.split()[0], received, is_filled=sent.size > 0)

    def begin(self) -> None:
        """Starts everything in program order. Blocking receives and sends are done on the spot."""
        for message in self._messages:
            receives, is_early = message.target == self.me, message.recv in ways.POSTED_EARLY
            if receives and is_early:
                self._begin_receive(message)
            if message.source == self.me:
                self._begin_send(message)
            if receives and not is_early:
                self._begin_receive(message)

    def _begin_send(self, message: Message) -> None:
        side, to = Side(message.sent, self.builder), Place(comm(), message.target, message.tag)
        if request := ways.send(message.send_form, message.send, side.piece, to):
            self._opened.append(Open(message, side, request))
        else:
            side.check_untouched()

    def _begin_receive(self, message: Message) -> None:
        side, status = Side(message.received, self.builder), MPI.Status()
        source = MPI.ANY_SOURCE if message.any_source else message.source
        at = Place(comm(), source, MPI.ANY_TAG if message.any_tag else message.tag)
        if request := ways.receive(message.recv_form, message.recv, side.piece, at, status):
            self._opened.append(Open(message, side, request))
        else:
            self._check(message, side, status)

    def finish(self, completion: str) -> None:
        requests = Requests(len(self._opened))
        for i, one in enumerate(self._opened):
            requests.put(i, one.request)
        statuses = ways.complete(Form(), completion, requests)
        for one, status in zip(self._opened, statuses, strict=True):
            if one.side.end is one.message.received:
                self._check(one.message, one.side, status)
            else:
                one.side.check_untouched()
        ways.free(Form(), requests)

    def _check(self, message: Message, side: Side, status: MPI.Status) -> None:
        payload = Image(message.sent, self.builder).payload()
        try:
            check_status(status, message.source, message.tag, len(payload), side)
            side.check_received(payload)
        except AssertionError as error:
            raise AssertionError(f"{message!r}\n{error}") from error
        self.checked += 1
