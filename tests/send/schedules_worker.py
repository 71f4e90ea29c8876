"""Ranks of test_direct_schedules.py: each does its part of a schedule (schedule_plan.py).

Oracle: MPI-4.1, 3.5. The receives of a line that got its messages got them in order: so each receive, in the order of
posting, has the next message of the line that its status names.
"""

from __future__ import annotations

import ctypes
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import ways
from mpi4py import MPI
from quick_sides import Quick, payload
from schedule_plan import BLOCKING, INT, Flavour, Message, Phase, Plan

from support import constructors as c
from support import outcomes
from support.direct_counts import bounced_since, direct_since
from support.messages import End
from support.p2p import PLAIN, Form, Requests, message_handle

UNUSED_TAG = 77


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
        elif message.is_untagged:
            at = ways.Place(at.comm, at.peer, MPI.ANY_TAG)
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
                assert message is posted.message or self.plan.flavour.rare, where  # nothing shifts the order
                try:
                    posted.side.check_received(got)
                except AssertionError as error:
                    raise AssertionError(f"{where}\n{error}") from None


def run(seeds: Iterable[int], flavour: Flavour) -> tuple[int, int, int]:
    """The numbers of messages that this rank wrote into buffers and bounce buffers, and of those that it could have."""
    before, n_possible = outcomes.rows(), 0
    for seed in seeds:
        plan = Plan(seed, MPI.COMM_WORLD.size, flavour)
        try:
            Schedule(plan).run()
        except Exception as error:
            raise AssertionError(f"seed {seed} of {MPI.COMM_WORLD.size} ranks, {flavour}") from error
        mine = [m for phase in plan.phases for m in phase.messages if m.source == MPI.COMM_WORLD.rank]
        n_possible += sum(m.may_be_direct() for m in mine)
    return direct_since(before), bounced_since(before), n_possible
