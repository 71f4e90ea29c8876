"""The ranks of the tests of TEMPI_STREAM_TIMEOUT: an exchange with a peer that comes too late, or just in time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from enqueue_worker import Pair, make_pair
from mpi4py import MPI
from stream_programs import shapes

import tempi
from support import equal
from tempi.testing import FakeGraph, FakeStream

LATE = 1  # the rank that is late
MARK = 0x5A


class Exchange:
    """Messages between the two ranks: from rank 0, from rank 1, or both. It is carried out once."""

    def __init__(self, sources: tuple[int, ...], kind: str, shape: str = "rows") -> None:
        self.comm = MPI.COMM_WORLD.Dup()
        self.comm.Set_errhandler(MPI.ERRORS_RETURN)
        self.rank = self.comm.rank
        self.stream = FakeStream()
        its_shape = shapes()[shape]
        self.pairs: list[Pair] = [
            make_pair(self.comm, source, 1 - source, source, its_shape, (kind, kind)) for source in sources
        ]
        self.requests = [request for pair in self.pairs for request in pair.requests]
        self.enqueue()
        self.stream.synchronize()
        self.graph: FakeGraph | None = None

    def capture(self) -> None:
        self.stream.begin_capture()
        self.enqueue()
        self.graph = self.stream.end_capture()

    def enqueue(self) -> None:
        tempi.start_enqueue(self.requests, self.stream)
        tempi.wait_enqueue(self.requests, self.stream)

    def repeat(self) -> str:
        """Once more, until the stream has come to its end. The error."""
        told = self.error_of(self.enqueue if self.graph is None else lambda: self.graph.launch(self.stream))
        self.stream.synchronize()
        return told or self.error_of(lambda: tempi.wait_enqueue(self.requests, self.stream))

    @staticmethod
    def error_of(call: Any) -> str:
        try:
            call()
        except MPI.Exception as error:
            return error.error_string
        return ""

    def mark(self) -> None:
        """The program has its receive buffers back, and uses them for something else."""
        for pair in self.pairs:
            if pair.receives:
                self.stream.fill(pair.received.array, MARK)
        self.stream.synchronize()

    def check_mark(self, said: list[str]) -> None:
        """Nothing was written if each exchange has ended with an error."""
        for pair in self.pairs if all(said) else ():
            if pair.receives:
                contents = pair.received.array.to_numpy()
                equal.check(contents, np.full(contents.shape, MARK, np.uint8))

    def free(self) -> None:
        for request in self.requests:
            request.Free()


def too_late(sources: tuple[int, ...], kind: str, captured: bool, shape: str = "rows") -> list[str]:
    """Rank 1 comes when rank 0 has given up. What each attempt of this rank reports."""
    exchange = Exchange(sources, kind, shape)
    if captured:
        exchange.capture()
    said = []
    exchange.comm.Barrier()
    if exchange.rank == LATE:
        exchange.comm.Barrier()
    said.append(exchange.repeat())
    exchange.mark()
    if exchange.rank != LATE:
        exchange.comm.Barrier()
    exchange.comm.Barrier()
    exchange.check_mark(said)
    said += [exchange.repeat(), exchange.repeat()]
    exchange.comm.Barrier()
    exchange.check_mark(said)
    exchange.free()
    return said


def in_time(kind: str, captured: bool, late: float) -> list[str]:
    exchange = Exchange((0, 1), kind)
    if captured:
        exchange.capture()
    exchange.comm.Barrier()
    if exchange.rank == LATE:
        time.sleep(late)
    said = []
    for k in range(3):
        for pair in exchange.pairs:
            if pair.sends:
                pair.sent.fill(exchange.stream, k)
        said.append(exchange.repeat())
        for pair in exchange.pairs:
            if pair.receives:
                equal.check(pair.received.array.to_numpy(), pair.expected(k))
    exchange.free()
    return said


def a_late_collective(late: float) -> str:
    """It cannot be cancelled: the stream waits for it."""
    comm, stream = MPI.COMM_WORLD.Dup(), FakeStream()
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    out, into = np.full(64, comm.rank, np.uint8), np.zeros((comm.size, 64), np.uint8)
    request = comm.Allgather_init(out, into)
    said = ""
    for k in range(2):
        if k == 1 and comm.rank == LATE:
            time.sleep(late)
        tempi.start_enqueue(request, stream)
        tempi.wait_enqueue(request, stream)
        stream.synchronize()
        said += Exchange.error_of(lambda: tempi.wait_enqueue(request, stream))
    equal.check(into[:, 0], np.arange(comm.size))
    request.Free()
    return said
