"""What the ranks of test_random_programs.py and test_ordering.py do: a schedule of messages, each rank its part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import ways
from mpi4py import MPI
from ways import Place

from support import defects
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


def trusted(message: Message) -> bool:
    """Whether this MPI library can do it on host memory too, and the standard allows it."""
    if message.source == message.target and defects.is_mpich_4_0():
        return False  # which takes messages to oneself for truncated when the two datatypes differ
    for end in (message.sent, message.received):
        if end.kind in LIBRARYS and defects.fails_in_pieces(end.spec):
            return False
        if defects.defect_left(end.spec) or defects.crashes_library(end.spec):
            return False
    with Builder() as builder:
        return not overlaps(Image(message.received, builder).message)


@dataclass
class Open:
    """A message that has begun and is not known to be complete."""

    message: Message
    side: Side
    request: Requests


def run(program: Program) -> int:
    """Runs one program and returns how many messages this rank has checked."""
    me, checked = comm().Get_rank(), 0
    with Builder() as builder:
        for messages in program.phases:
            possible = [m for m in messages if trusted(m)]
            opened = _begin(possible, me, builder)
            checked += _finish(opened, program.completions[me % len(program.completions)], builder)
    return checked


def _begin(messages: Sequence[Message], me: int, builder: Builder) -> list[Open]:
    """Starts everything in program order. Blocking receives and sends are done on the spot."""
    opened = []
    for message in messages:
        if message.target == me and message.recv in ways.POSTED_EARLY:
            opened.append(_begin_receive(message, builder))
        if message.source == me:
            side = Side(message.sent, builder)
            to = Place(comm(), message.target, message.tag)
            request = ways.send(message.send_form, message.send, side.piece, to)
            if request:
                opened.append(Open(message, side, request))
            else:
                side.check_untouched()
        if message.target == me and message.recv not in ways.POSTED_EARLY:
            opened.append(_begin_receive(message, builder))
    return [o for o in opened if o]


def _begin_receive(message: Message, builder: Builder) -> Open | None:
    side, status = Side(message.received, builder), MPI.Status()
    source = MPI.ANY_SOURCE if message.any_source else message.source
    at = Place(comm(), source, MPI.ANY_TAG if message.any_tag else message.tag)
    request = ways.receive(message.recv_form, message.recv, side.piece, at, status)
    if request:
        return Open(message, side, request)
    _check(message, side, status, builder)
    return None


def _finish(opened: Sequence[Open], completion: str, builder: Builder) -> int:
    requests = Requests(len(opened))
    for i, one in enumerate(opened):
        requests.put(i, one.request)
    statuses = ways.complete(Form(), completion, requests)
    for one, status in zip(opened, statuses, strict=True):
        if one.side.end is one.message.received:
            _check(one.message, one.side, status, builder)
        else:
            one.side.check_untouched()
    ways.free(Form(), requests)
    return len(opened)


def _check(message: Message, side: Side, status: MPI.Status, builder: Builder) -> None:
    payload = Image(message.sent, builder).payload()
    try:
        check_status(status, message.source, message.tag, len(payload), side)
        side.check_received(payload)
    except AssertionError as error:
        raise AssertionError(f"{message!r}\n{error}") from error
