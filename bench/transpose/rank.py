"""Transposes of slabs of a cube of doubles, timed. One rank; all print nothing but rank 0.

``mpirun -n 2 python -m bench.transpose.rank shim gpu 0.5 128 256``

Several ways, with commas between them, take turns on the same memory. Prints lines
"way,cells,source,target,bytes to others,median us", each checked.
"""

from __future__ import annotations

import ctypes
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD
AXES = ((0, 1), (1, 2), (0, 2))  # cut along the first before, along the second afterwards


def arrays(memory: str) -> Any:
    """NumPy, or CuPy on a GPU of this rank's own where there are several."""
    if memory == "host":
        return np
    import cupy

    local = COMM.Split_type(MPI.COMM_TYPE_SHARED)
    cupy.cuda.Device(local.rank % cupy.cuda.runtime.getDeviceCount()).use()
    local.Free()
    return cupy


def part(n: int, rank: int) -> slice:
    """The cells of one rank along an axis: as equal as can be."""
    return slice(n * rank // COMM.size, n * (rank + 1) // COMM.size)


def cut(n: int, axis: int) -> tuple[slice, ...]:
    """This rank's slab of a cube."""
    return tuple(part(n, COMM.rank) if i == axis else slice(0, n) for i in range(3))


@dataclass(frozen=True)
class Slabs:
    """A cube before and behind its transpose, on this rank."""

    xp: Any
    n: int
    source: int
    target: int
    given: Any
    made: Any

    @classmethod
    def of(cls, xp: Any, n: int, source: int, target: int) -> Slabs:
        given = cls.values(n, source)
        made = np.zeros([s.stop - s.start for s in cut(n, target)])
        return cls(xp, n, source, target, xp.asarray(given), xp.asarray(made))

    @staticmethod
    def values(n: int, axis: int) -> Any:
        x, y, z = np.ogrid[cut(n, axis)]
        return (x * n + y) * n + z + 0.5

    def is_right(self) -> bool:
        made = self.made if self.xp is np else self.made.get()
        return bool((made == self.values(self.n, self.target)).all())

    def blocks(self, array: Any, axis: int) -> list[Any]:
        """Part of the array that each rank gets, or gives."""
        return [
            array[tuple(part(self.n, rank) if i == axis else slice(None) for i in range(3))]
            for rank in range(COMM.size)
        ]

    def bytes_to_others(self) -> int:
        return sum(
            b.nbytes for rank, b in enumerate(self.blocks(self.given, self.target)) if rank != COMM.rank
        )


def types(slabs: Slabs, array: Any, axis: int) -> list[MPI.Datatype]:
    """The subarrays of the blocks, as mpi4py-fft makes them."""
    made = []
    for rank in range(COMM.size):
        mine = part(slabs.n, rank)
        sizes = [mine.stop - mine.start if i == axis else m for i, m in enumerate(array.shape)]
        starts = [mine.start if i == axis else 0 for i in range(3)]
        made.append(MPI.DOUBLE.Create_subarray(array.shape, sizes, starts).Commit())
    return made


def by_alltoallw(slabs: Slabs) -> Callable[[], None]:
    """MPI_Alltoallw of subarrays, as mpi4py-fft does it."""
    ones = ([1] * COMM.size, [0] * COMM.size)
    sent = [slabs.given, ones, types(slabs, slabs.given, slabs.target)]
    received = [slabs.made, ones, types(slabs, slabs.made, slabs.source)]
    return lambda: COMM.Alltoallw(sent, received)


def by_library(slabs: Slabs) -> Callable[[], None]:
    """The library's own MPI_Alltoallw, past the shim."""
    maps = Path("/proc/self/maps").read_text()
    found = re.search(r"/\S*/libmpi(ch)?\.so[.\d]*", maps)
    assert found
    function = ctypes.CDLL(found[0]).MPI_Alltoallw
    ones, zeros = ((ctypes.c_int * COMM.size)(*[n] * COMM.size) for n in (1, 0))
    handle: Any = (
        ctypes.c_int if MPI._sizeof(MPI.Datatype) == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p
    )
    comm = handle.from_address(MPI._addressof(COMM))
    arguments, kept = [], []
    for array, axis in ((slabs.given, slabs.target), (slabs.made, slabs.source)):
        kept.append(types(slabs, array, axis))
        handles = [handle.from_address(MPI._addressof(one)).value for one in kept[-1]]
        arguments += [ctypes.c_void_p(array.ctypes.data), ones, zeros, (handle * COMM.size)(*handles)]

    def exchange() -> None:
        code = function(*arguments, comm)
        assert code == MPI.SUCCESS
        assert kept

    return exchange


def by_hand(slabs: Slabs) -> Callable[[], None]:
    """Blocks packed by array assignments, and MPI_Alltoallv of what they make, in host memory."""
    xp = slabs.xp
    out, into = slabs.blocks(slabs.given, slabs.target), slabs.blocks(slabs.made, slabs.source)
    sizes = [[b.size for b in side] for side in (out, into)]
    starts = [[sum(side[:k]) for k in range(len(side))] for side in sizes]
    packed = [xp.empty(sum(side)) for side in sizes]
    carried = packed if xp is np else [pinned(sum(side)) for side in sizes]

    def exchange() -> None:
        for block, at, n in zip(out, starts[0], sizes[0], strict=True):
            packed[0][at : at + n] = block.ravel()
        if carried is not packed:
            packed[0].get(out=carried[0])
        if xp is not np:
            xp.cuda.get_current_stream().synchronize()
        COMM.Alltoallv([carried[0], (sizes[0], starts[0])], [carried[1], (sizes[1], starts[1])])
        if carried is not packed:
            packed[1].set(carried[1])
        for block, at, n in zip(into, starts[1], sizes[1], strict=True):
            block[...] = packed[1][at : at + n].reshape(block.shape)
        if xp is not np:
            xp.cuda.get_current_stream().synchronize()

    return exchange


def by_nccl(slabs: Slabs) -> Callable[[], None]:
    """The bytes alone, each block as if it were contiguous: what the links allow. Nothing is transposed."""
    import cupy
    from cupy.cuda import nccl

    comm = nccl.NcclCommunicator(
        COMM.size, COMM.bcast(nccl.get_unique_id() if COMM.rank == 0 else None), COMM.rank
    )
    sizes = [b.size for b in slabs.blocks(slabs.given, slabs.target)]
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    sent, received, stream = (
        cupy.empty(sum(sizes)),
        cupy.empty(sum(sizes)),
        cupy.cuda.Stream(non_blocking=True),
    )

    def exchange() -> None:
        nccl.groupStart()
        for peer, (at, n) in enumerate(zip(starts, sizes, strict=True)):
            comm.send(sent[at:].data.ptr, n, nccl.NCCL_FLOAT64, peer, stream.ptr)
            comm.recv(received[at:].data.ptr, n, nccl.NCCL_FLOAT64, peer, stream.ptr)
        nccl.groupEnd()
        stream.synchronize()

    return exchange


WAYS = {"library": by_library, "shim": by_alltoallw, "hand": by_hand, "links": by_nccl}


def pinned(n: int) -> Any:
    import cupy

    return np.frombuffer(cupy.cuda.alloc_pinned_memory(8 * n), count=n)


def measured(exchanges: Sequence[Callable[[], None]], seconds: float) -> list[float]:
    """Median of the slowest rank's times of each, us. They take turns."""
    taken: list[list[float]] = [[] for _ in exchanges]
    for exchange in exchanges:
        exchange()
    begin = time.perf_counter()
    while len(taken[0]) < 5 or COMM.bcast(time.perf_counter() - begin < seconds * len(exchanges)):
        for exchange, times in zip(exchanges, taken, strict=True):
            COMM.Barrier()
            start = time.perf_counter()
            exchange()
            times.append(COMM.allreduce(time.perf_counter() - start, MPI.MAX) * 1e6)
    return [statistics.median(times) for times in taken]


def check(slabs: Slabs, way: str, exchange: Callable[[], None]) -> None:
    """End all ranks if an exchange makes wrong data."""
    slabs.made[...] = 0
    exchange()
    if way != "links" and not COMM.allreduce(slabs.is_right(), MPI.LAND):
        sys.exit(f"{way}: wrong data, {slabs.n} cells, {slabs.source} to {slabs.target}")


def main() -> None:
    words, memory, seconds, *cells = sys.argv[1:]
    ways = words.split(",")
    xp = arrays(memory)
    for n in map(int, cells):
        for source, target in AXES:
            slabs = Slabs.of(xp, n, source, target)
            exchanges = [WAYS[way](slabs) for way in ways]
            medians = measured(exchanges, float(seconds))
            for way, exchange, median in zip(ways, exchanges, medians, strict=True):
                check(slabs, way, exchange)
                if COMM.rank == 0:
                    print(f"{way},{n},{source},{target},{slabs.bytes_to_others()},{median:.1f}", flush=True)


if __name__ == "__main__":
    main()
