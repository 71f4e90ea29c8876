"""The rank of test_direct.py: schedules of messages to itself, followed event by event with MPI's rules of matching."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import ways
from mpi4py import MPI

from support import outcomes
from support.building import Builder
from support.direct_counts import direct_since
from support.messages import End, Image, Side
from support.p2p import PLAIN, Requests

ANY = "any"
ANYONE = "any of anyone"
ANYTHING = (ANY, ANYONE)


class Event(NamedTuple):
    """One step of a schedule.

    Attributes
    ----------
    kind : str
        "send", "receive", "cancel", "take" (Improbe and Mrecv), "peek" (Iprobe) or "sync".
    end : End
        Of a send or a receive.
    tag : int, ANY or ANYONE
    way : str
        "Isend", "Issend", "Send_init", "Irecv", "Recv_init" or "Recv".
    which : int
        The receive that is cancelled, counted from the latest.
    """

    kind: str
    end: End | None = None
    tag: int | str = 0
    way: str = ""
    which: int = 0


@dataclass
class Receive:
    side: Side
    tag: int | str
    requests: Requests
    is_persistent: bool
    sent: Image | None = None
    sent_tag: int = 0
    is_cancelled: bool = False
    status: MPI.Status = field(default_factory=MPI.Status)

    def accepts(self, tag: int) -> bool:
        return self.tag in (*ANYTHING, tag)


class Schedule:
    """The messages under way, and their matching by MPI-4.1, 3.5."""

    def __init__(self, comm: MPI.Comm, builder: Builder) -> None:
        self.comm, self.builder = comm, builder
        self.waiting: list[Receive] = []
        self.early: deque[tuple[int, Image]] = deque()
        self.receives: list[Receive] = []
        self.sends: list[tuple[Requests, bool, Side]] = []

    def run(self, events: tuple[Event, ...]) -> None:
        for event in events:
            getattr(self, event.kind)(event)
        while self.early:
            self.take(Event("take", tag=ANY), must=True)
        for receive in self.waiting:
            PLAIN("Cancel", receive.requests.handles)
            receive.is_cancelled = True
        self._finish()

    def send(self, event: Event) -> None:
        assert event.end is not None
        assert isinstance(event.tag, int)
        side, requests = Side(event.end, self.builder), Requests()
        PLAIN(event.way, side.piece, 0, event.tag, self.comm, requests.at(0))
        is_persistent = event.way.endswith("_init")
        if is_persistent:
            PLAIN("Start", requests.handles)
        self.sends.append((requests, is_persistent, side))
        receive = next((r for r in self.waiting if r.accepts(event.tag)), None)
        if receive is None:
            self.early.append((event.tag, side))
            return
        self.waiting.remove(receive)
        receive.sent, receive.sent_tag = side, event.tag

    def receive(self, event: Event) -> None:
        assert event.end is not None
        side, requests = Side(event.end, self.builder), Requests()
        tag = MPI.ANY_TAG if event.tag in ANYTHING else event.tag
        source = MPI.ANY_SOURCE if event.tag == ANYONE else 0
        receive = Receive(side, event.tag, requests, event.way.endswith("_init"))
        met = next(((t, image) for t, image in self.early if receive.accepts(t)), None)
        if met:
            self.early.remove(met)
            receive.sent_tag, receive.sent = met
        if event.way == "Recv":
            if not met:
                return  # it would wait for ever
            PLAIN("Recv", side.piece, source, tag, self.comm, receive.status)
            self._check(receive)
            return
        PLAIN(event.way, side.piece, source, tag, self.comm, requests.at(0))
        if receive.is_persistent:
            PLAIN("Start", requests.handles)
        self.receives.append(receive)
        if not met:
            self.waiting.append(receive)

    def cancel(self, event: Event) -> None:
        if not self.waiting:
            return
        receive = self.waiting.pop(-1 - event.which % len(self.waiting))
        PLAIN("Cancel", receive.requests.handles)
        receive.is_cancelled = True

    def take(self, event: Event, must: bool = False) -> None:
        tag = MPI.ANY_TAG if event.tag in ANYTHING else event.tag
        status = MPI.Status()
        message = self.comm.Mprobe(0, tag, status) if must else self.comm.Improbe(0, tag, status)
        if message is None:
            return  # a message that is still packed is not seen yet
        found = next((t, image) for t, image in self.early if event.tag in (*ANYTHING, t))
        self.early.remove(found)
        into = bytearray(found[1].size)
        message.Recv([into, MPI.PACKED], status)
        assert (status.Get_tag(), status.Get_count(MPI.BYTE)) == (found[0], found[1].size)
        assert bytes(into) == found[1].payload().tobytes()

    def peek(self, event: Event) -> None:
        tag = MPI.ANY_TAG if event.tag in ANYTHING else event.tag
        status = MPI.Status()
        if self.comm.Iprobe(0, tag, status):
            found_tag, image = next((t, image) for t, image in self.early if event.tag in (*ANYTHING, t))
            assert (status.Get_tag(), status.Get_count(MPI.BYTE)) == (found_tag, image.size)

    def sync(self, _: Event) -> None:
        """Completes what can be completed."""
        for receive in [r for r in self.receives if r.sent or r.is_cancelled]:
            [receive.status] = ways.complete(PLAIN, "Wait", receive.requests)
            self.receives.remove(receive)
            self._check(receive)

    def _finish(self) -> None:
        for receive in self.receives:
            [receive.status] = ways.complete(PLAIN, "Wait", receive.requests)
            self._check(receive)
        for requests, is_persistent, side in self.sends:
            ways.complete(PLAIN, "Wait", requests)
            if is_persistent:
                PLAIN("Request_free", requests.handles)
            side.check_untouched()

    def _check(self, receive: Receive) -> None:
        if receive.is_persistent and not receive.requests.is_null():
            PLAIN("Request_free", receive.requests.handles)
        assert receive.status.Is_cancelled() == receive.is_cancelled
        if receive.is_cancelled:
            return receive.side.check_untouched()
        assert receive.sent is not None
        assert receive.status.Get_tag() == receive.sent_tag
        assert receive.status.Get_count(MPI.BYTE) == receive.sent.size
        receive.side.check_received(receive.sent.payload())


def run(events: tuple[Event, ...]) -> int:
    """The number of messages that were written straight into their receiver."""
    comm = MPI.COMM_SELF.Dup()
    before = outcomes.rows()
    with Builder() as builder:
        Schedule(comm, builder).run(events)
    comm.Free()
    return direct_since(before)


def threads_take_turns(end: End, n: int) -> int:
    """Messages of one tag by two threads, one after the other: the second thread ends direct messages."""
    from threading import Thread

    comm = MPI.COMM_SELF.Dup()
    before = outcomes.rows()
    with Builder() as builder:
        pairs = [(Side(end.later(k), builder), Side(end.later(100 + k), builder)) for k in range(n)]
        requests = Requests(2 * n)

        def exchange(k: int) -> None:
            out, into = pairs[k]
            PLAIN("Irecv", into.piece, 0, 5, comm, requests.at(2 * k))
            PLAIN("Isend", out.piece, 0, 5, comm, requests.at(2 * k + 1))

        for k in range(n):
            if k % 2 == 0:
                exchange(k)
            else:
                thread = Thread(target=exchange, args=(k,))
                thread.start()
                thread.join()
        ways.complete(PLAIN, "Waitall", requests)
        for out, into in pairs:
            into.check_received(out.payload())
    comm.Free()
    return direct_since(before)


def each_waited_for(end: End, n: int) -> int:
    """Messages whose requests lie in memory that was full of MPI_ERR_PROC_FAILED_PENDING of Open MPI 5."""
    last = [np.full(1 << 13, 76, np.int32) for _ in range(512)].pop()  # which keeps the heap from being trimmed
    comm = MPI.COMM_SELF.Dup()
    before = outcomes.rows()
    with Builder() as builder:
        pairs = [(Side(end.later(k), builder), Side(end.later(n + k), builder)) for k in range(n)]
        requests = Requests(2 * n)
        for k, (out, into) in enumerate(pairs):
            PLAIN("Irecv", into.piece, 0, 5, comm, requests.at(2 * k))
            PLAIN("Isend", out.piece, 0, 5, comm, requests.at(2 * k + 1))
        ways.complete(PLAIN, "Wait", requests)
        for out, into in pairs:
            into.check_received(out.payload())
    comm.Free()
    del last
    return direct_since(before)
