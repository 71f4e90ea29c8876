"""Messages between two ranks, in the order of the arguments. Each message has buffers of its own, which
are allocated before it and freed behind it, or behind some later one.

``mpirun -n 2 env LD_PRELOAD=$(tempi lib) python -m bench.sequence.rank MESSAGE ...``

A message is written CALLS:BYTES:BLOCK:STRIDE:PADDING:LASTS: blocks of BLOCK bytes every STRIDE bytes, in
allocations that are PADDING bytes longer than they span, and are freed behind the LASTS-th later message.
CALLS is "send" (MPI_Send and MPI_Recv to the peer and back) or "isend" (MPI_Irecv and MPI_Isend on both
ranks at once). Prints a line "i,us" for each: one way, the median of several, without the first two.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from statistics import median
from typing import Any

import mpi4py

mpi4py.rc.thread_level = "single"
import cupy  # noqa: E402
from mpi4py import MPI  # noqa: E402

COMM = MPI.COMM_WORLD
PEER = 1 - COMM.rank
UNTIMED, TIMED = 2, 5
WORD = 8


@dataclass(frozen=True)
class Shape:
    """One message."""

    calls: str
    n_bytes: int
    block: int
    stride: int
    padding: int
    lasts: int

    @classmethod
    def parse(cls, text: str) -> Shape:
        calls, *numbers = text.split(":")
        return cls(calls, *map(int, numbers))


class Buffer:
    """One side of a message on this rank: its memory and its datatype."""

    def __init__(self, shape: Shape) -> None:
        n, self.block, stride = shape.n_bytes // shape.block, shape.block // WORD, shape.stride // WORD
        self.memory = cupy.cuda.alloc(n * shape.stride + shape.padding)
        self.data = cupy.ndarray((n, stride), cupy.uint64, self.memory)[:, : self.block]
        self.type = MPI.UINT64_T.Create_vector(n, self.block, stride).Commit()
        self.arguments = [MPI.memory.fromaddress(self.memory.ptr, self.memory.mem.size), 1, self.type]

    def values(self, first: int) -> Any:
        n = cupy.arange(len(self.data), dtype=cupy.uint64) * self.block
        return n[:, None] + cupy.arange(first, first + self.block, dtype=cupy.uint64)

    def fill(self, first: int) -> None:
        self.data[...] = self.values(first)
        cupy.cuda.get_current_stream().synchronize()

    def is_right(self, first: int) -> bool:
        return bool((self.data == self.values(first)).all())


class Message:
    """Buffers of both directions."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.out, self.into = Buffer(shape), Buffer(shape)

    def there_and_back(self) -> None:
        if COMM.rank == 0:
            COMM.Send(self.out.arguments, PEER)
            COMM.Recv(self.into.arguments, PEER, 0)
        else:
            COMM.Recv(self.into.arguments, PEER, 0)
            COMM.Send(self.out.arguments, PEER)

    def both_at_once(self) -> None:
        received = COMM.Irecv(self.into.arguments, PEER, 0)
        MPI.Request.Waitall([received, COMM.Isend(self.out.arguments, PEER)])

    def timed(self) -> float:
        """Microseconds, one way."""
        is_blocking = self.shape.calls == "send"
        call = self.there_and_back if is_blocking else self.both_at_once
        COMM.Barrier()
        begun = time.perf_counter()
        call()
        us = 1e6 * (time.perf_counter() - begun) / (2 if is_blocking else 1)
        return float(COMM.allreduce(us, MPI.MAX))

    def measured(self, i: int) -> float:
        """The median, us. Ends all ranks if the bytes are wrong."""
        self.out.fill(2 * i + COMM.rank)
        self.into.fill(1)
        times = [self.timed() for _ in range(UNTIMED + TIMED)]
        if not COMM.allreduce(self.into.is_right(2 * i + PEER), MPI.LAND):
            sys.exit(f"wrong data: {self.shape}")
        return median(times[UNTIMED:])


def main() -> None:
    cupy.cuda.Device(COMM.rank % cupy.cuda.runtime.getDeviceCount()).use()
    cupy.cuda.set_allocator(None)
    kept: list[tuple[int, Message]] = []
    for i, shape in enumerate(map(Shape.parse, sys.argv[1:])):
        kept.append((i + shape.lasts, Message(shape)))
        us = kept[-1][1].measured(i)
        kept = [(end, message) for end, message in kept if end > i]
        if COMM.rank == 0:
            print(f"{i},{us:.1f}", flush=True)


if __name__ == "__main__":
    main()
