"""The ranks of the tests of the order of enqueued exchanges: on two ranks, in two graphs, late, without a wait."""

from __future__ import annotations

import time
from typing import Any

from enqueue_worker import CHANNEL, WORLD, Pair, counts, make_pair
from mpi4py import MPI
from stream_programs import shapes

import tempi
from support import equal
from tempi.testing import FakeGraph, FakeStream


class Pairs:
    """Messages in both directions between two ranks, all with channels."""

    def __init__(self, n: int, stream: FakeStream) -> None:
        every = list(shapes().values())
        self.stream = stream
        self.pairs = [make_pair(WORLD, i % 2, 1 - i % 2, 20 + i, every[i % len(every)]) for i in range(n)]
        self.reads: list[tuple[Any, Any]] = []
        self.n = 0
        self.enqueue(self.pairs)
        stream.synchronize()
        tempi.reset_stats()

    def enqueue(self, pairs: list[Pair]) -> None:
        requests = [request for pair in pairs for request in pair.requests]
        tempi.start_enqueue(requests, self.stream)
        tempi.wait_enqueue(requests, self.stream)

    def capture(self, pairs: list[Pair]) -> FakeGraph:
        self.stream.begin_capture()
        self.enqueue(pairs)
        return self.stream.end_capture()

    def fill(self) -> None:
        self.n += 1
        for pair in self.pairs:
            if pair.sends:
                pair.sent.fill(self.stream, self.n)

    def read(self, pairs: list[Pair]) -> None:
        for pair in pairs:
            if pair.receives:
                pair.received.contents = pair.expected(self.n)
                self.reads.append((pair.received.read(self.stream), pair.received.contents))

    def check(self) -> dict[str, int]:
        self.stream.synchronize()
        for read, expected in self.reads:
            equal.check(read(), expected)
        for pair in self.pairs:
            for request in pair.requests:
                request.Free()
        return counts()


def in_opposite_orders(n: int) -> dict[str, int]:
    """Rank 0 starts and waits for the requests one by one from the first to the last, rank 1 from the last one on."""
    all_of = Pairs(6, FakeStream())
    requests = [request for pair in all_of.pairs for request in pair.requests]
    for _ in range(n):
        all_of.fill()
        for request in requests[:: 1 - 2 * WORLD.rank]:
            tempi.start_enqueue(request, all_of.stream)
        for request in requests[:: 2 * WORLD.rank - 1]:
            tempi.wait_enqueue(request, all_of.stream)
        all_of.read(all_of.pairs)
    return all_of.check()


def two_graphs(n: int) -> dict[str, int]:
    """One has all pairs, the other one half of them. Each is launched several times, with queued exchanges between."""
    all_of = Pairs(4, FakeStream())
    half = all_of.pairs[:2]
    graphs = [(all_of.capture(all_of.pairs), all_of.pairs), (all_of.capture(half), half)]
    for k in range(n):
        graph, pairs = graphs[k % 3 % 2]
        all_of.fill()
        graph.launch(all_of.stream)
        all_of.read(pairs)
        if k % 4 == 3:
            all_of.fill()
            all_of.enqueue(half)
            all_of.read(half)
    return all_of.check()


def waits_that_nothing_was_started_for() -> None:
    """Of requests that are inactive, or that the host has started."""
    stream = FakeStream()
    pairs = [make_pair(WORLD, source, 1 - source, 40 + source, shapes()["rows"]) for source in range(2)]
    requests = [request for pair in pairs for request in pair.requests]
    for _ in range(3):
        tempi.wait_enqueue(requests, stream)
        MPI.Prequest.Startall(requests)
        tempi.wait_enqueue(requests, stream)
        MPI.Request.Waitall(requests)


def new_buffers_after_a_graph() -> dict[str, int]:
    """The graph lives longer than its requests and buffers. New buffers lie at the addresses of the old ones."""
    found = {}
    for _ in range(2):
        all_of = Pairs(2, FakeStream())
        graph = all_of.capture(all_of.pairs)
        all_of.fill()
        graph.launch(all_of.stream)
        all_of.read(all_of.pairs)
        found = all_of.check()
        del all_of, graph
    return found


def seconds_later(seconds: float) -> dict[str, int]:
    """Rank 1 enqueues when the stream of rank 0 has waited for it; the channel is there already."""
    all_of = Pairs(2, FakeStream())
    if WORLD.rank == 1:
        time.sleep(seconds)
    for _ in range(3):
        all_of.fill()
        all_of.enqueue(all_of.pairs)
        all_of.read(all_of.pairs)
    return all_of.check()


def a_capture_without_its_wait() -> dict[str, int]:
    """The graph is empty; the requests stay started, and the wait after the capture carries them out."""
    all_of = Pairs(2, FakeStream())
    requests = [request for pair in all_of.pairs for request in pair.requests]
    all_of.stream.begin_capture()
    tempi.start_enqueue(requests, all_of.stream)
    graph = all_of.stream.end_capture()
    for _ in range(2):
        graph.launch(all_of.stream)
    all_of.fill()
    tempi.wait_enqueue(requests, all_of.stream)
    all_of.read(all_of.pairs)
    found = all_of.check()
    assert found == {CHANNEL: 1}
    return found
