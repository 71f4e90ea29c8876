"""The discrete-event simulation: messages wait for GPUs and links, first come, first served.

Glossary
    work     packing or unpacking of one message by a rank's processor: its GPU, or its CPU for host memory
    batch    all work that waits when a processor becomes free; its set-up counts once, the rest adds up
    hop      a link on a message's way, and the seconds that the message keeps it busy
    chunk    a part of a message that takes links for itself; the next one queues when it has left the first
    head     the first byte of a chunk: at the next link when the chunk has got this one (cut-through)

A message's life: posted, packed in a batch, its hops, its latency, unpacked in a batch. It has arrived when
its last byte has passed the slowest of its hops. `docs/simulation.md` has the equations.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from tempi.simulate.messages import Floats, Integers

# Kinds of events. Of those at the same time all that bring work come before the start of a batch.
PACK, HOP, UNPACK, START, END = range(5)
Event = tuple[
    float, int, int, int
]  # seconds, kind, message or rank, step: hops of all earlier chunks, and its own


@dataclass(frozen=True)
class Plan:
    """All that the simulation knows, a row for each message; all times are in seconds.

    Attributes
    ----------
    source, target : integers
        Ranks.
    posted : floats
        The time at which its packing may begin.
    pack_setup, pack_work, unpack_setup, unpack_work : floats
        Of the processor at either end.
    latency : floats
    links : integers of shape (messages, hops)
        Negative where there is none.
    busy : floats of the same shape
        Time that the message keeps each link busy.
    n_chunks : integers
        Chunks of each message.
    n_ranks, n_links : int
    """

    source: Integers
    target: Integers
    posted: Floats
    pack_setup: Floats
    pack_work: Floats
    unpack_setup: Floats
    unpack_work: Floats
    latency: Floats
    links: Integers
    busy: Floats
    n_chunks: Integers
    n_ranks: int
    n_links: int


@dataclass(frozen=True)
class Times:
    """Seconds at which each message was packed, had arrived, and was unpacked."""

    packed: Floats
    arrived: Floats
    done: Floats


def run(plan: Plan) -> Times:
    """Simulate all messages to their end."""
    return _Simulation(plan).run()


class _Simulation:
    def __init__(self, plan: Plan) -> None:
        # Arrays of the standard library: their items are Python's own numbers, twice as fast as NumPy's.
        self._source, self._target = _integers(plan.source), _integers(plan.target)
        self._setup = (_floats(plan.pack_setup), _floats(plan.unpack_setup))
        self._work = (_floats(plan.pack_work), _floats(plan.unpack_work))
        self._latency = _floats(plan.latency)
        self._n_hops = plan.links.shape[1]
        self._n_chunks = _integers(plan.n_chunks)
        self._links, self._busy = _integers(plan.links), _floats(plan.busy / plan.n_chunks[:, None])
        self._free = array("d", bytes(8 * max(1, plan.n_links)))
        n = len(plan.source)
        self._packed, self._tail, self._done = (array("d", bytes(8 * n)) for _ in range(3))
        # Work of each rank: a message to pack, or the complement of one to unpack.
        self._waiting: list[list[int]] = [[] for _ in range(plan.n_ranks)]
        self._batch: list[list[int]] = [[] for _ in range(plan.n_ranks)]
        self._events: list[Event] = [(t, PACK, i, 0) for i, t in enumerate(plan.posted.tolist())]
        heapify(self._events)

    def run(self) -> Times:
        steps = (self._queue_pack, self._take_hop, self._queue_unpack, self._start_batch, self._end_batch)
        events = self._events
        while events:
            now, kind, index, step = heappop(events)
            steps[kind](now, index, step)
        return Times(*(np.frombuffer(times) for times in (self._packed, self._tail, self._done)))

    def _queue_pack(self, now: float, message: int, _: int) -> None:
        if self._setup[0][message] == 0 and self._work[0][message] == 0:
            return self._leave(now, message)
        self._queue(now, self._source[message], message)

    def _queue_unpack(self, now: float, message: int, _: int) -> None:
        if self._setup[1][message] == 0 and self._work[1][message] == 0:
            self._done[message] = now
            return
        self._queue(now, self._target[message], ~message)

    def _queue(self, now: float, rank: int, work: int) -> None:
        self._waiting[rank].append(work)
        if not self._batch[rank]:
            heappush(self._events, (now, START, rank, 0))

    def _start_batch(self, now: float, rank: int, _: int) -> None:
        batch = self._waiting[rank]
        if self._batch[rank] or not batch:
            return  # another event of this time has started it
        self._batch[rank], self._waiting[rank] = batch, []
        setup = total = 0.0
        for work in batch:
            side, message = (0, work) if work >= 0 else (1, ~work)
            setup = max(setup, self._setup[side][message])
            total += self._work[side][message]
        heappush(self._events, (now + setup + total, END, rank, 0))

    def _end_batch(self, now: float, rank: int, _: int) -> None:
        batch, self._batch[rank] = self._batch[rank], []
        for work in batch:
            if work >= 0:
                self._leave(now, work)
            else:
                self._done[~work] = now
        if self._waiting[rank]:
            heappush(self._events, (now, START, rank, 0))

    def _leave(self, now: float, message: int) -> None:
        self._packed[message] = self._tail[message] = now
        self._take_hop(now, message, 0)

    def _take_hop(self, now: float, message: int, step: int) -> None:
        chunk, hop = divmod(step, self._n_hops + 1)
        at = message * self._n_hops + hop
        while hop < self._n_hops and self._links[at] < 0:
            at, hop, step = at + 1, hop + 1, step + 1
        if hop == self._n_hops:
            return self._arrive(now, message, chunk)
        link = self._links[at]
        begin = max(now, self._free[link])
        end = self._free[link] = begin + self._busy[at]
        if end > self._tail[message]:
            self._tail[message] = end
        heappush(self._events, (begin, HOP, message, step + 1))
        if hop == 0 and chunk + 1 < self._n_chunks[message]:
            heappush(self._events, (end, HOP, message, (chunk + 1) * (self._n_hops + 1)))

    def _arrive(self, now: float, message: int, chunk: int) -> None:
        """Chunks stay in order; a message without links has one."""
        if chunk + 1 == self._n_chunks[message]:
            arrival = self._tail[message] = max(now, self._tail[message]) + self._latency[message]
            heappush(self._events, (arrival, UNPACK, message, 0))


def _integers(values: Integers) -> array[int]:
    return array("q", np.ascontiguousarray(values, np.int64).tobytes())


def _floats(values: Floats) -> array[float]:
    return array("d", np.ascontiguousarray(values, np.float64).tobytes())
