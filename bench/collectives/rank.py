"""One rank of ``bench.collectives``; rank 0 prints lines "operation;bytes;way;us;right".

Run it with the shim preloaded, one rank a GPU:

``mpirun -n 4 env LD_PRELOAD=$(tempi lib) python -m bench.collectives.rank [OPERATION ...] [--no-nccl]``
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np
from cupy.cuda import nccl
from mpi4py import MPI

from tempi.enqueue import Enqueued

SIZES = [8, 8 << 10, 1 << 20, 8 << 20, 64 << 20, 256 << 20]  # bytes
SECONDS, LEAST_ROUNDS, MOST_ROUNDS = 0.15, 5, 400
N_QUEUED = 20  # calls, before one synchronisation of the stream
OPERATIONS = ("Allreduce", "Reduce_scatter_block", "Reduce", "Bcast", "Scatter", "Gather")
IN_BLOCKS = ("Reduce_scatter_block", "Scatter", "Gather")  # a block for each rank

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
Call = Callable[[], object]


class Buffers:
    """The whole numbers 0 to 99 and the rank, again and again; a result."""

    def __init__(self, n: int) -> None:
        self.n, self.numbers = n, np.arange(n) % 100
        self.sent = cupy.asarray(self.numbers + RANK, "f8")
        self.received = cupy.zeros(n, "f8")
        self.requests: list[MPI.Prequest] = []

    @property
    def block(self) -> int:
        return self.n // SIZE

    def arguments(self, operation: str) -> tuple[Any, ...]:
        """Of a call whose root, if it has one, is rank 0."""
        n, n_all = self.block, self.block * SIZE
        if operation == "Bcast":
            return (self.sent,)
        if operation == "Gather":
            return self.sent[:n], self.received[:n_all]
        if operation in IN_BLOCKS:
            return self.sent[:n_all], self.received[:n]
        return self.sent, self.received

    def by_mpi(self, operation: str) -> Call:
        function, arguments = getattr(COMM, operation), self.arguments(operation)
        return lambda: function(*arguments)

    def nonblocking(self, operation: str) -> Call:
        function, arguments = getattr(COMM, f"I{operation.lower()}"), self.arguments(operation)
        return lambda: function(*arguments).Wait()

    def persistent(self, operation: str) -> Call:
        """Throws NotImplementedError if this MPI has no persistent collective operations."""
        request = self._persistent(operation)

        def call() -> None:
            request.Start()
            request.Wait()

        return call

    def enqueued(self, operation: str, stream: Any) -> Call:
        """Throws NotImplementedError if this MPI has no persistent collective operations."""
        requests = Enqueued([self._persistent(operation)])

        def call() -> None:
            requests.start(stream.ptr)
            requests.wait(stream.ptr)

        return call

    def _persistent(self, operation: str) -> MPI.Prequest:
        self.requests.append(getattr(COMM, f"{operation}_init")(*self.arguments(operation)))
        return self.requests[-1]

    def free_requests(self) -> None:
        while self.requests:
            self.requests.pop().Free()

    def by_nccl(self, operation: str, comm: Any, stream: Any) -> Call:
        sent, received = self.sent.data.ptr, self.received.data.ptr
        queue: dict[str, Call] = {
            "Allreduce": lambda: comm.allReduce(
                sent, received, self.n, nccl.NCCL_FLOAT64, nccl.NCCL_SUM, stream.ptr
            ),
            "Reduce_scatter_block": lambda: comm.reduceScatter(
                sent, received, self.block, nccl.NCCL_FLOAT64, nccl.NCCL_SUM, stream.ptr
            ),
            "Reduce": lambda: comm.reduce(
                sent, received, self.n, nccl.NCCL_FLOAT64, nccl.NCCL_SUM, 0, stream.ptr
            ),
            "Bcast": lambda: comm.bcast(sent, self.n, nccl.NCCL_FLOAT64, 0, stream.ptr),
            "Scatter": lambda: self._scatter_by_nccl(comm, stream.ptr),
            "Gather": lambda: self._gather_by_nccl(comm, stream.ptr),
        }

        return queue[operation]

    def _scatter_by_nccl(self, comm: Any, stream: int) -> None:
        nccl.groupStart()
        for peer, sent in self._blocks_at_root(self.sent):
            comm.send(sent.data.ptr, self.block, nccl.NCCL_FLOAT64, peer, stream)
        comm.recv(self.received.data.ptr, self.block, nccl.NCCL_FLOAT64, 0, stream)
        nccl.groupEnd()

    def _gather_by_nccl(self, comm: Any, stream: int) -> None:
        nccl.groupStart()
        comm.send(self.sent.data.ptr, self.block, nccl.NCCL_FLOAT64, 0, stream)
        for peer, received in self._blocks_at_root(self.received):
            comm.recv(received.data.ptr, self.block, nccl.NCCL_FLOAT64, peer, stream)
        nccl.groupEnd()

    def _blocks_at_root(self, array: Any) -> list[tuple[int, Any]]:
        """Each rank's, on rank 0."""
        return [(peer, array[peer * self.block :]) for peer in range(SIZE if RANK == 0 else 0)]

    def is_right(self, operation: str, call: Call) -> bool:
        self.sent.set((self.numbers + RANK).astype("f8"))
        self.received.fill(-1)
        cupy.cuda.runtime.deviceSynchronize()
        COMM.Barrier()
        call()
        if operation in ("Reduce", "Gather") and RANK != 0:
            return True
        expected = self.expected(operation)
        result = self.sent if operation == "Bcast" else self.received[: len(expected)]
        return bool((cupy.asnumpy(result) == expected).all())

    def expected(self, operation: str) -> Any:
        """The result of this rank, at most as long as the buffer."""
        total = SIZE * self.numbers + SIZE * (SIZE - 1) // 2
        own = slice(RANK * self.block, (RANK + 1) * self.block)
        if operation == "Gather":
            return np.concatenate([self.numbers[: self.block] + peer for peer in range(SIZE)])
        return {"Bcast": self.numbers, "Scatter": self.numbers[own], "Reduce_scatter_block": total[own]}.get(
            operation, total
        )


def median_us(call: Call) -> float:
    """Microseconds of a call of the slowest rank, the median of the rounds."""
    for _ in range(3):
        call()
    begun = time.perf_counter()
    call()
    rounds = COMM.bcast(int(SECONDS / (time.perf_counter() - begun)))
    times = np.zeros(min(max(rounds, LEAST_ROUNDS), MOST_ROUNDS))
    for i in range(len(times)):
        COMM.Barrier()
        begun = time.perf_counter()
        call()
        times[i] = time.perf_counter() - begun
    return 1e6 * float(np.median(COMM.allreduce(times, np.maximum)))


@dataclass
class Way:
    """`call` makes `n` calls, which are complete when it returns."""

    name: str
    call: Call
    n: int = 1

    @classmethod
    def queued(cls, name: str, queue: Call, stream: Any) -> Way:
        """N_QUEUED calls, and one synchronisation."""

        def call() -> None:
            for _ in range(N_QUEUED):
                queue()
            stream.synchronize()

        return cls(name, call, N_QUEUED)

    @classmethod
    def in_graph(cls, name: str, queue: Call, stream: Any) -> Way:
        """The same in a CUDA graph."""
        queue()
        stream.synchronize()
        with stream:
            stream.begin_capture()
            for _ in range(N_QUEUED):
                queue()
            graph = stream.end_capture()

        def call() -> None:
            graph.launch(stream)
            stream.synchronize()

        return cls(name, call, N_QUEUED)


def nccl_comm() -> Any:
    """None where CuPy has no NCCL, or ranks share a GPU."""
    n_gpus = cupy.cuda.runtime.getDeviceCount()
    if not nccl.available or n_gpus < SIZE:
        return None
    return nccl.NcclCommunicator(SIZE, COMM.bcast(nccl.get_unique_id()), RANK)


def ways(buffers: Buffers, operation: str, comm: Any) -> Iterator[Way]:
    stream = cupy.cuda.Stream(non_blocking=True)
    yield Way("MPI", buffers.by_mpi(operation))
    yield Way("MPI, nonblocking", buffers.nonblocking(operation))
    with contextlib.suppress(NotImplementedError):
        yield Way("MPI, persistent", buffers.persistent(operation))
        yield from in_stream("MPI, enqueued", buffers.enqueued(operation, stream), stream)
    if comm is not None:
        queue = buffers.by_nccl(operation, comm, stream)

        def call() -> None:
            queue()
            stream.synchronize()

        yield Way("NCCL", call)
        yield from in_stream("NCCL, queued", queue, stream)


def in_stream(name: str, queue: Call, stream: Any) -> Iterator[Way]:
    """On the stream, and in a graph."""
    yield Way.queued(name, queue, stream)
    yield Way.in_graph(f"{name}, graph", queue, stream)


def measure(buffers: Buffers, operation: str, comm: Any) -> None:
    """It frees its CUDA graphs: NCCL's communicator waits for them at its end."""
    for way in ways(buffers, operation, comm):
        right = COMM.allreduce(buffers.is_right(operation, way.call), MPI.LAND)
        us = median_us(way.call) / way.n
        if RANK == 0:
            print(f"{operation};{8 * buffers.n};{way.name};{us:.2f};{right}", flush=True)


def main() -> None:
    cupy.cuda.Device(RANK % cupy.cuda.runtime.getDeviceCount()).use()
    comm = nccl_comm() if "--no-nccl" not in sys.argv else None
    wanted = [operation for operation in OPERATIONS if operation in sys.argv] or OPERATIONS
    for n_bytes in SIZES:
        buffers = Buffers(n_bytes // 8)
        for operation in wanted:
            if operation in IN_BLOCKS and buffers.block == 0:
                continue
            measure(buffers, operation, comm)
            buffers.free_requests()


if __name__ == "__main__":
    main()
