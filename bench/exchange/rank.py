"""The transpose of a distributed cube of complex doubles, as libraries of distributed FFTs make it: one
kernel packs each piece, messages of contiguous GPU memory carry the pieces, one kernel unpacks each.

``mpirun -n 2 env LD_PRELOAD=$(tempi lib) python -m bench.exchange.rank CELLS ROUNDS WAYS``

The first GPU that a rank sees is its own (``bench.exchange`` rotates them, as job scripts do). Each way
warms up with buffers that are freed then, as those libraries do. Prints a line "way,first_us,us" for each:
the mean of the first ten exchanges with its own buffers, and the median of all later ones, of the slowest
rank.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import mpi4py

mpi4py.rc.thread_level = "single"
import cupy  # noqa: E402
from mpi4py import MPI  # noqa: E402

COMM = MPI.COMM_WORLD
FIRST = 10


def part(n: int, rank: int) -> slice:
    """The cells of one rank along an axis."""
    return slice(n * rank // COMM.size, n * (rank + 1) // COMM.size)


class Exchange:
    """A cube cut along its first axis, and the same one cut along its second axis."""

    def __init__(self, n: int) -> None:
        planes = part(n, COMM.rank)
        width = planes.stop - planes.start
        self.n = n
        x, y, z = cupy.ogrid[planes, 0:n, 0:n]
        self.given = ((x * n + y) * n + z).astype(cupy.complex128)
        self.made = cupy.zeros((n, width, n), cupy.complex128)
        shapes = [(width, part(n, rank).stop - part(n, rank).start, n) for rank in range(COMM.size)]
        self.out = self.pieces(shapes)
        self.into = self.pieces([(b, a, c) for a, b, c in shapes])

    def pieces(self, shapes: list[tuple[int, int, int]]) -> list[Any]:
        """Contiguous, one behind the other."""
        sizes = [a * b * c for a, b, c in shapes]
        whole = cupy.zeros(sum(sizes), cupy.complex128)
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        return [
            whole[start : start + size].reshape(shape)
            for start, size, shape in zip(starts, sizes, shapes, strict=True)
        ]

    def pack(self, rank: int) -> None:
        cupy.copyto(self.out[rank], self.given[:, part(self.n, rank)])
        cupy.cuda.get_current_stream().synchronize()

    def unpack(self, rank: int) -> None:
        cupy.copyto(self.made[part(self.n, rank)], self.into[rank])
        cupy.cuda.get_current_stream().synchronize()

    def others(self) -> list[int]:
        return [(COMM.rank + i) % COMM.size for i in range(1, COMM.size)]

    def by_alltoall(self) -> None:
        for rank in range(COMM.size):
            self.pack(rank)
        COMM.Alltoall(self.out[0].base, self.into[0].base)
        for rank in range(COMM.size):
            self.unpack(rank)

    def by_messages(self, send: Callable[..., Any], waits_any: bool = True) -> None:
        others = self.others()
        received = [COMM.Irecv(self.into[rank], rank) for rank in others]
        sent = []
        for rank in others:
            self.pack(rank)
            sent.append(send(self.out[rank], rank))
        cupy.copyto(self.made[part(self.n, COMM.rank)], self.given[:, part(self.n, COMM.rank)])
        cupy.cuda.get_current_stream().synchronize()
        if waits_any:
            for _ in others:
                self.unpack(others[MPI.Request.Waitany(received)])
        else:
            MPI.Request.Waitall(received)
            for rank in others:
                self.unpack(rank)
        MPI.Request.Waitall([one for one in sent if one is not None])

    def is_right(self) -> bool:
        rows = part(self.n, COMM.rank)
        x, y, z = cupy.ogrid[0 : self.n, rows, 0 : self.n]
        return bool((self.made == (x * self.n + y) * self.n + z).all())


def ways(exchange: Exchange) -> dict[str, Callable[[], None]]:
    return {
        "alltoall": exchange.by_alltoall,
        "isend": lambda: exchange.by_messages(COMM.Isend),
        "send": lambda: exchange.by_messages(COMM.Send),
        "isend-waitall": lambda: exchange.by_messages(COMM.Isend, False),
    }


def times(call: Callable[[], None], rounds: int) -> list[float]:
    """Of the slowest rank, us."""
    taken = []
    for _ in range(rounds):
        COMM.Barrier()
        begun = time.perf_counter()
        call()
        taken.append(1e6 * (time.perf_counter() - begun))
    return [max(of_ranks) for of_ranks in zip(*COMM.allgather(taken), strict=True)]


def main() -> None:
    n, rounds, names = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].split(",")
    cupy.cuda.set_allocator(None)
    for name in names:
        times(ways(Exchange(n))[name], 2)
        exchange = Exchange(n)
        taken = times(ways(exchange)[name], FIRST + rounds)
        if not COMM.allreduce(exchange.is_right(), MPI.LAND):
            sys.exit(f"{name}: wrong data")
        if COMM.rank == 0:
            print(f"{name},{sum(taken[:FIRST]) / FIRST:.1f},{median(taken[FIRST:]):.1f}", flush=True)


if __name__ == "__main__":
    main()
