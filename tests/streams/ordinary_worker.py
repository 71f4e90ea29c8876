"""The ranks of the tests of enqueued exchanges without a channel, which the thread of TEMPI carries out."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from enqueue_worker import WORLD, counts, element, make_pair
from mpi4py import MPI
from stream_programs import Cells, shapes

import tempi
from support import equal
from tempi.testing import FakeArray, FakeStream

Kinds = tuple[str, str]
HOST, DEVICE = ("pinned", "pinned"), ("device", "device")


class Ring:
    """A pair for each rank and kind of memory: to the next rank of a ring."""

    def __init__(self, kinds: list[Kinds], tag: int = 0) -> None:
        rows = shapes()["rows"]
        self.pairs = [
            make_pair(WORLD, rank, (rank + 1) % WORLD.size, tag + i, rows, its)
            for i, its in enumerate(kinds)
            for rank in range(WORLD.size)
        ]
        self.requests = [request for pair in self.pairs for request in pair.requests]
        self.reads: list[tuple[Any, Any]] = []
        self.n = 0

    def fill(self, stream: FakeStream) -> None:
        self.n += 1
        for pair in self.pairs:
            if pair.sends:
                pair.sent.fill(stream, self.n)

    def enqueue(self, stream: FakeStream) -> None:
        tempi.start_enqueue(self.requests, stream)
        tempi.wait_enqueue(self.requests, stream)

    def read(self, stream: FakeStream) -> None:
        for pair in self.pairs:
            if pair.receives:
                pair.received.contents = pair.expected(self.n)
                self.reads.append((pair.received.read(stream), pair.received.contents))

    def step(self, stream: FakeStream) -> None:
        self.fill(stream)
        self.enqueue(stream)
        self.read(stream)

    def check(self) -> None:
        for read, expected in self.reads:
            equal.check(read(), expected)

    def free(self) -> None:
        for request in self.requests:
            request.Free()


def queued(n: int, kinds: list[Kinds], late: float = 0.0) -> tuple[dict[str, int], float]:
    """`n` exchanges are queued behind the first one; rank 1 queues them late. The seconds that the host took."""
    ring, stream = Ring(kinds), FakeStream()
    ring.step(stream)
    stream.synchronize()
    tempi.reset_stats()
    WORLD.Barrier()
    if WORLD.rank == 1:
        time.sleep(late)
    begin = time.monotonic()
    for _ in range(n):
        ring.step(stream)
    taken = time.monotonic() - begin
    stream.synchronize()
    ring.check()
    ring.free()
    return counts(), taken


def captured(n: int, kinds: list[Kinds]) -> dict[str, int]:
    """A graph is launched `n` times, with exchanges that are not captured between the launches."""
    ring, stream = Ring(kinds), FakeStream()
    ring.step(stream)
    stream.synchronize()
    tempi.reset_stats()
    stream.begin_capture()
    ring.enqueue(stream)
    graph = stream.end_capture()
    for k in range(n):
        ring.fill(stream)
        graph.launch(stream)
        ring.read(stream)
        if k % 3 == 0:
            ring.step(stream)
    stream.synchronize()
    ring.check()
    ring.free()
    return counts()


def in_several_streams(n: int) -> None:
    """Each ring in a stream of its own, in another order on each rank; then all of them in turn in both streams."""
    rings, streams = [Ring([HOST, DEVICE], 10 * i) for i in range(3)], [FakeStream() for _ in range(3)]
    for ring, stream in zip(rings, streams, strict=True):
        ring.step(stream)
        stream.synchronize()
    for k in range(n):
        for i in range(3):
            at = (i + WORLD.rank + k) % 3
            rings[at].step(streams[at])
    for stream in streams:
        stream.synchronize()
    for k in range(n):
        rings[0].step(streams[k % 2])
        streams[k % 2].synchronize()
    for k in range(n):
        rings[0].enqueue(streams[k % 2])
    for stream in streams:
        stream.synchronize()
    for ring in rings:
        ring.check()
        ring.free()


def freed_behind_the_queue(kinds: list[Kinds]) -> None:
    """The program frees the requests while their exchanges are queued, and rank 1 is late."""
    ring, stream = Ring(kinds), FakeStream()
    ring.step(stream)
    stream.synchronize()
    if WORLD.rank == 1:
        time.sleep(0.5)
    for _ in range(3):
        ring.step(stream)
    ring.free()
    stream.synchronize()
    ring.check()
    again = Ring(kinds)  # may get the same handles
    for _ in range(3):
        again.step(stream)
    stream.synchronize()
    again.check()
    again.free()


def too_long(kind: str) -> tuple[str, bool]:
    """The second message is longer than its receive buffer: the stream goes on, and the next start tells."""
    comm, stream = WORLD.Dup(), FakeStream()
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    cells, rows = Cells(kind, 1), shapes()["rows"]
    receive = comm.Recv_init(element(cells, rows), 0, 4) if WORLD.rank == 1 else None
    long = FakeArray(1 << 16, kind="pinned")
    if receive is None:
        short = comm.Send_init(element(cells, rows), 1, 4)
        more = comm.Send_init(long, 1, 4)
        for request in (short, more):
            request.Start()
            request.Wait()
        comm.Barrier()
        return "", True
    tempi.start_enqueue(receive, stream)
    tempi.wait_enqueue(receive, stream)
    tempi.start_enqueue(receive, stream)
    tempi.wait_enqueue(receive, stream)
    stream.synchronize()
    told = ""
    try:
        tempi.start_enqueue(receive, stream)
    except MPI.Exception as error:
        told = MPI.Get_error_string(error.Get_error_class())
    comm.Barrier()
    return told, MPI.Is_initialized()


def a_reused_buffer_of_a_persistent_collective(n: int) -> dict[str, int]:
    stream, out, into = FakeStream(), FakeArray(64), FakeArray(64 * WORLD.size)
    request = WORLD.Allgather_init(out, into)
    tempi.reset_stats()
    for k in range(n):
        stream.fill(out, 10 * WORLD.rank + k)
        tempi.start_enqueue(request, stream)
        tempi.wait_enqueue(request, stream)
    stream.synchronize()
    expected = np.repeat([10 * rank + n - 1 for rank in range(WORLD.size)], 64).astype(np.uint8)
    equal.check(into.to_numpy().view(np.uint8), expected)
    request.Free()
    return counts()


def not_captured() -> str:
    ring, stream = Ring([HOST]), FakeStream()
    WORLD.Set_errhandler(MPI.ERRORS_RETURN)
    ring.step(stream)
    stream.begin_capture()
    told = ""
    try:
        ring.enqueue(stream)
    except MPI.Exception as error:
        told = error.error_string
    stream.end_capture()
    return told


def with_a_plain_peer(n: int, late: float) -> dict[str, int]:
    """Rank 0 enqueues; rank 1 runs without TEMPI, on host memory."""
    if WORLD.rank == 1:
        time.sleep(late)
        for k in range(n):
            received, sent = np.empty(256, np.uint8), np.full(256, 100 + k, np.uint8)
            WORLD.Sendrecv(sent, 0, 1, received, 0, 2)
            equal.check(received, np.full(256, k, np.uint8))
        return {}
    tempi.reset_stats()
    stream, sent, received = FakeStream(), FakeArray(256), FakeArray(256)
    requests = [WORLD.Recv_init(received, 1, 1), WORLD.Send_init(sent, 1, 2)]
    reads = []
    for k in range(n):
        stream.fill(sent, k)
        tempi.start_enqueue(requests, stream)
        tempi.wait_enqueue(requests, stream)
        reads.append(FakeArray(256))
        stream.copy(reads[-1], received)
    stream.synchronize()
    for k, read in enumerate(reads):
        equal.check(read.to_numpy().view(np.uint8), np.full(256, 100 + k, np.uint8))
    for request in requests:
        request.Free()
    return counts()


def without_gpu() -> tuple[list[list[float]], str]:
    """Two exchanges of a ring in a process that uses no GPU, in the default stream; the error of another stream."""
    right, left = (WORLD.rank + 1) % WORLD.size, (WORLD.rank - 1) % WORLD.size
    sent, received, found = np.zeros(3), np.zeros(3), []
    requests = [WORLD.Recv_init(received, left, 1), WORLD.Send_init(sent, right, 1)]
    for turn in range(2):
        sent[:] = 10 * turn + WORLD.rank
        tempi.start_enqueue(requests, 0)
        tempi.wait_enqueue(requests, 0)
        found.append(received.tolist())
    words = ""
    try:
        tempi.start_enqueue(requests, 1 << 20)
    except MPI.Exception as error:
        words = error.Get_error_string()
    for request in requests:
        request.Free()
    return found, words
