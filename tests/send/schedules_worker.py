"""Ranks of test_direct_schedules.py: random schedules of messages on few lines, where matching by order counts.

A schedule is drawn from its seed, alike on all ranks. Its messages have one order, in which every rank does its part; a
receive that does not block may be posted ahead of its place. So nothing waits in a circle, whatever the sends wait for.

Oracle: MPI-4.1, 3.5. The receives of a line that got its messages got them in order: so each receive, in the order of
posting, has the next message of the line that its status names.
"""

from __future__ import annotations

import ctypes
import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
import ways
from mpi4py import MPI

from support import constructors as c
from support import memory, outcomes
from support.building import Builder
from support.messages import End, Image, Side
from support.p2p import FORMS, PLAIN, Form, Requests, message_handle
from support.typemap import Bytes, Named, TypeMap

DIRECT = ("direct", "taken: straight into the receiver")
INT = Named("INT")
SIZES = (24, 24, 24, 96, 6000)  # elements, by tag
WILD_SIZE = max(SIZES)
SENDS = tuple(
    filter(ways.has, ("Isend",) * 6 + ("Issend", "Send_init", "Isendrecv", "Send", "Ssend", "Ibsend", "Sendrecv"))
)
RECEIVES = tuple(filter(ways.has, ("Irecv",) * 6 + ("Recv_init", "Recv", "Isendrecv", "Sendrecv", "Recv probed")))
BLOCKING = ("Send", "Ssend", "Sendrecv")
UNUSED_TAG = 77


class Flavour(NamedTuple):
    kinds: tuple[str, ...] = ("device",) * 6 + ("device 1",)
    rare: float = 0.0  # share of steps that end direct messages: wildcards, probes, cancels


PLAINLY = Flavour()
MIXED = Flavour(("device",) * 5 + ("device 1", "managed", "host", "pinned"), 0.06)


@dataclass
class Message:
    source: int  # in MPI_COMM_WORLD, as target
    target: int
    comm: int
    tag: int
    sent: End
    received: End
    send: str
    recv: str
    form: Form
    is_wild: bool = False
    place: int = 0  # of its receive's posting among the messages

    def line(self) -> tuple[int, int, int, int]:
        return (self.comm, self.source, self.target, self.tag)

    def may_be_direct(self) -> bool:
        ends = (self.sent, self.received)
        return all(end.kind.startswith("device") for end in ends) and not self.is_wild and self.send != "Ibsend"


def layout(draw: random.Random, n: int) -> c.Spec:
    """Datatypes of `n` INTs; most pairs of them compose."""
    return draw.choice(
        (
            c.Vector(n // 4, 4, 7, INT),
            c.Vector(n // 2, 2, 5, INT),
            c.Vector(n // 8 if n % 8 == 0 else n // 3, 8 if n % 8 == 0 else 3, 9, INT),
            c.Contiguous(n, INT),
            c.Vector(2, n // 2, n // 2 + 3, c.Vector(1, 1, 2, INT)),
            c.Indexed((n // 2, n // 2), (n // 2 + 2, 0), INT),
        )
    )


@dataclass
class Phase:
    messages: list[Message]
    completions: list[str]
    is_synchronous: bool
    rare: list[tuple[int, int, str]] = field(default_factory=list)  # place, rank, what


class Plan:
    """The schedule of a seed."""

    def __init__(self, seed: int, size: int, flavour: Flavour) -> None:
        self.draw, self.size, self.flavour = random.Random(seed), size, flavour
        self.comms: list[tuple[str, int, bool]] = [("dup", -1, False)]
        for _ in range(self.draw.choice((0, 0, 1, 2))):
            kind = self.draw.choice(("dup", "split", "halves"))
            self.comms.append((kind, self.draw.randrange(-1, len(self.comms)), self.draw.random() < 0.5))
        self.freed_early = {k for k in range(len(self.comms)) if self.draw.random() < 0.15}
        self.sends_first = [self.draw.random() < 0.5 for _ in range(16)]
        self.phases = [self._phase() for _ in range(self.draw.choice((1, 1, 2, 3)))]

    def halves(self, comm: int) -> int:
        """In how many parts, by the world rank's remainder, the communicator is split: 1 or 2."""
        kind, parent, _ = self.comms[comm]
        return 2 if kind == "halves" or (parent >= 0 and self.halves(parent) == 2) else 1

    def _phase(self) -> Phase:
        draw = self.draw
        n = draw.choice((1, 2, 4, 8, 12, 20))
        lines = [self._line() for _ in range(draw.choice((1, 2, 4)))]
        messages = [self._message(*draw.choice(lines)) for _ in range(n)]
        rare = [
            (draw.randrange(n + 1), draw.randrange(self.size), draw.choice(("peek", "take", "cancel", "cancel one")))
            for _ in range(n)
            if draw.random() < self.flavour.rare
        ]
        wild = draw.random() < 4 * self.flavour.rare
        if wild:
            self._make_wild(messages)
        self._place(messages)
        completions = [draw.choice(list(ways.COMPLETIONS)) for _ in range(self.size)]
        return Phase(messages, completions, wild or draw.random() < 0.3, rare)

    def _line(self) -> tuple[int, int, int, int]:
        draw = self.draw
        comm, source = draw.randrange(len(self.comms)), draw.randrange(self.size)
        step = self.halves(comm)
        target = (source + step * draw.randrange(1, 3)) % self.size if self.size % step == 0 else source
        return comm, source, target, draw.randrange(len(SIZES))

    def _message(self, comm: int, source: int, target: int, tag: int) -> Message:
        draw, n = self.draw, SIZES[tag]
        sent, received = (End(draw.choice(self.flavour.kinds), layout(draw, n), 1, draw.getrandbits(31)) for _ in "01")
        send, recv = draw.choice(SENDS), draw.choice(RECEIVES)
        if source == target and send in BLOCKING:
            send = "Isend"
        if recv == "Recv probed" and draw.random() > self.flavour.rare * 10:
            recv = "Irecv"
        return Message(source, target, comm, tag, sent, received, send, recv, draw.choice(FORMS))

    def _make_wild(self, messages: list[Message]) -> None:
        """From some message on, all receives of one rank on one communicator."""
        comm, target = self.draw.randrange(len(self.comms)), self.draw.randrange(self.size)
        for message in messages[self.draw.randrange(len(messages)) :]:
            if (message.comm, message.target) == (comm, target):
                message.is_wild = True
                message.recv = self.draw.choice(("Irecv", "Recv_init"))
                message.received = End(message.received.kind, layout(self.draw, WILD_SIZE), 1, message.received.seed)

    def _place(self, messages: list[Message]) -> None:
        """Ahead of its place, but not of an earlier receive that could match the same messages."""
        last: dict[tuple[int, int], int] = defaultdict(int)
        ahead = self.draw.choice((0, 2, 100))
        for k, message in enumerate(messages):
            may_go = message.recv in ("Irecv", "Recv_init")
            at = max(0, k - self.draw.randint(0, ahead)) if may_go else k
            key = (message.comm, message.target)
            last[key] = message.place = max(at, last[key])


@cache
def builder() -> Builder:
    ways.buffer_for_bsend()
    return Builder()


class Places(NamedTuple):
    """A datatype, and where its bytes lie."""

    datatype: MPI.Datatype
    message: TypeMap
    origin: int
    offsets: Bytes
    n_bytes: int


@cache
def places(spec: c.Spec) -> Places:
    image = Image(End("host", spec), builder())
    return Places(image.datatype, image.message, image.origin, image.message.byte_offsets(), len(image.before))


def bytes_of(end: End) -> Bytes:
    return np.random.default_rng(end.seed).integers(0, 256, places(end.spec).n_bytes, np.uint8)


def payload(end: End) -> Bytes:
    at = places(end.spec)
    return bytes_of(end)[at.offsets + at.origin]


class Quick(Side):
    """A Side of one element, with what its datatype needs worked out once."""

    def __init__(self, end: End) -> None:
        self.end = end
        self.datatype, self.message, self.origin, self._offsets, _ = places(end.spec)
        self.before = bytes_of(end)
        self.buffer = memory.at_hand(end.kind, self.before)
        self._absolute = None

    def after(self, received: Bytes) -> Bytes:
        expected = self.before.copy()
        expected[self._offsets[: len(received)] + self.origin] = received
        return expected


@dataclass
class Posted:
    message: Message
    side: Quick
    request: Requests | None
    status: MPI.Status = field(default_factory=MPI.Status)


class Schedule:
    """This rank's part of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.me = plan, MPI.COMM_WORLD.Get_rank()
        self.comms = [MPI.COMM_NULL] * len(plan.comms)
        self.members: list[list[int]] = [[]] * len(plan.comms)
        for k, (kind, parent, is_reversed) in enumerate(plan.comms):
            self._create(k, kind, MPI.COMM_WORLD if parent < 0 else self.comms[parent], is_reversed)
        self.posted: dict[int, list[Posted]] = defaultdict(list)  # receives by communicator, in order
        self.open: list[Posted] = []

    def _create(self, k: int, kind: str, parent: MPI.Comm, is_reversed: bool) -> None:
        color = self.me % 2 if kind == "halves" else 0
        made = parent.Dup() if kind == "dup" else parent.Split(color, -self.me if is_reversed else self.me)
        self.comms[k] = made
        world, here = MPI.COMM_WORLD.Get_group(), made.Get_group()
        self.members[k] = list(here.Translate_ranks(list(range(made.size)), world))
        world.Free()
        here.Free()

    def run(self) -> None:
        last = len(self.plan.phases) - 1
        for number, phase in enumerate(self.plan.phases):
            self._run(phase)
            if number == last:
                self._free(self.plan.freed_early)
            self._complete(phase.completions[self.me])
            if phase.is_synchronous:
                MPI.COMM_WORLD.Barrier()
        self._check()
        self._free(set(range(len(self.comms))) - self.plan.freed_early)

    def _free(self, which: Iterable[int]) -> None:
        for k in sorted(which, reverse=True):
            self.comms[k].Free()

    def _run(self, phase: Phase) -> None:
        mine = [m for m in phase.messages if m.target == self.me]
        receives = sorted(mine, key=lambda m: m.place)  # stable
        for k in range(len(phase.messages) + 1):
            for place, rank, what in phase.rare:
                if (place, rank) == (k, self.me):
                    self._do(what, receives)
            due = [m for m in receives if m.place <= k]
            message = phase.messages[k] if k < len(phase.messages) else None
            sends = message is not None and message.source == self.me
            if sends and self.plan.sends_first[k % 16] and message.send not in BLOCKING and message.target != self.me:
                self._send(message)
                sends = False
            while due and due[0].recv in ways.POSTED_EARLY:
                self._receive_next(due, receives)
            if sends:
                self._send(message)
            while due:
                self._receive_next(due, receives)

    def _receive_next(self, due: list[Message], receives: list[Message]) -> None:
        message = due.pop(0)
        receives.remove(message)
        self._receive(message)

    def _place_of(self, message: Message, peer: int) -> ways.Place:
        at = self.members[message.comm].index(peer)
        return ways.Place(self.comms[message.comm], at, message.tag)

    def _send(self, message: Message) -> None:
        side = Quick(message.sent)
        request = ways.send(message.form, message.send, side.piece, self._place_of(message, message.target))
        if request:
            self.open.append(Posted(message, side, request))
        else:
            side.check_untouched()

    def _receive(self, message: Message) -> None:
        posted = Posted(message, Quick(message.received), None)
        at = self._place_of(message, message.source)
        if message.is_wild:
            at = ways.Place(at.comm, MPI.ANY_SOURCE, MPI.ANY_TAG)
        self.posted[message.comm].append(posted)
        posted.request = ways.receive(message.form, message.recv, posted.side.piece, at, posted.status)
        if posted.request:
            self.open.append(posted)

    def _do(self, what: str, receives: list[Message]) -> None:
        if what == "cancel":
            self._cancel_unused()
        elif what == "cancel one":
            self._cancel_one()
        else:
            self._look(what, receives)

    def _cancel_unused(self) -> None:
        """A receive that nothing matches."""
        side, request, status = Quick(End("device", c.Vector(6, 4, 7, INT))), Requests(), MPI.Status()
        PLAIN("Irecv", side.piece, self.comms[0].rank, UNUSED_TAG, self.comms[0], request.at(0))
        PLAIN("Cancel", request.handles)
        PLAIN("Wait", request.handles, status)
        assert status.Is_cancelled()
        side.check_untouched()

    def _cancel_one(self) -> None:
        """The latest receive; posted again if it has not got its message."""
        open_ones = [p for p in self.open if p.message.recv == "Irecv" and p.side.end is p.message.received]
        if not open_ones:
            return
        one, status = open_ones[-1], MPI.Status()
        assert one.request is not None
        PLAIN("Cancel", one.request.handles)
        PLAIN("Wait", one.request.handles, status)
        self.open.remove(one)
        if not status.Is_cancelled():
            one.status, one.request = status, None
            return
        one.side.check_untouched()
        self.posted[one.message.comm].remove(one)
        self._receive(one.message)

    def _look(self, what: str, receives: list[Message]) -> None:
        """Iprobe, or Improbe in place of the next receive of the line."""
        message = next((m for m in receives if not m.is_wild), None)
        if message is None or any(m.is_wild and m.comm == message.comm for m in self._all_posted()):
            return
        at, flag = self._place_of(message, message.source), ctypes.c_int(0)
        if what == "peek":
            PLAIN("Iprobe", at.peer, at.tag, at.comm, ctypes.byref(flag), MPI.Status())
            return
        handle = message_handle()
        status = ctypes.byref(flag), ctypes.byref(handle), MPI.Status()
        PLAIN("Improbe", at.peer, at.tag, at.comm, *status)
        if not flag.value:
            return
        receives.remove(message)
        posted = Posted(message, Quick(message.received), None)
        PLAIN("Mrecv", posted.side.piece, ctypes.byref(handle), posted.status)
        self.posted[message.comm].append(posted)

    def _all_posted(self) -> Iterable[Message]:
        return (p.message for all_of_comm in self.posted.values() for p in all_of_comm)

    def _complete(self, completion: str) -> None:
        requests = Requests(len(self.open))
        for k, one in enumerate(self.open):
            assert one.request is not None
            requests.put(k, one.request)
        for one, status in zip(self.open, ways.complete(Form(), completion, requests), strict=True):
            one.status = status
            if one.side.end is one.message.sent:
                one.side.check_untouched()
        ways.free(Form(), requests)
        self.open.clear()

    def _check(self) -> None:
        sent = [m for phase in self.plan.phases for m in phase.messages]
        for k, all_posted in self.posted.items():
            next_of: Counter[tuple[int, int]] = Counter()
            for n, posted in enumerate(all_posted):
                source, tag = self.members[k][posted.status.Get_source()], posted.status.Get_tag()
                line = [m for m in sent if m.line() == (k, source, self.me, tag)]
                message = line[next_of[source, tag]]
                next_of[source, tag] += 1
                got = payload(message.sent)
                where = f"receive {n} on communicator {k}, from {source}, tag {tag}: {posted.message}, of {message}"
                assert posted.status.Get_count(MPI.BYTE) == len(got), where
                try:
                    posted.side.check_received(got)
                except AssertionError as error:
                    raise AssertionError(f"{where}\n{error}") from None


def run(seeds: Iterable[int], flavour: Flavour) -> tuple[int, int]:
    """The numbers of messages that this rank wrote straight into their receivers, and of those that it could have."""
    before, n_possible = outcomes.rows(), 0
    for seed in seeds:
        plan = Plan(seed, MPI.COMM_WORLD.size, flavour)
        try:
            Schedule(plan).run()
        except Exception as error:
            raise AssertionError(f"seed {seed} of {MPI.COMM_WORLD.size} ranks, {flavour}") from error
        mine = [m for phase in plan.phases for m in phase.messages if m.source == MPI.COMM_WORLD.rank]
        n_possible += sum(m.may_be_direct() for m in mine)
    return (outcomes.rows() - before)[DIRECT], n_possible
