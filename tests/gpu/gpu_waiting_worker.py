"""The ranks of test_gpu_waiting.py, each on its own GPU."""

from __future__ import annotations

import time
from collections.abc import Callable

import cupy
import numpy as np
from mpi4py import MPI

import tempi
from support.busy_gpu import spinner

COMM = MPI.COMM_WORLD
CELLS = 1 << 16
LATE_SECONDS = 0.5
SPIN_CYCLES = 20_000_000  # a hundredth of a second
ORDINARY = "enqueued exchanges without a channel, for which the CPU waited"


def _stream() -> cupy.cuda.Stream:
    cupy.cuda.Device(COMM.rank % cupy.cuda.runtime.getDeviceCount()).use()
    return cupy.cuda.Stream(non_blocking=True)


class Exchange:
    """Every other one of CELLS doubles goes to the other rank."""

    def __init__(self) -> None:
        self.stream, self.peer = _stream(), 1 - COMM.rank
        cells = MPI.DOUBLE.Create_vector(CELLS // 2, 1, 2).Commit()
        self.out, self.into = cupy.zeros(CELLS), cupy.zeros(CELLS)
        self.requests = [
            COMM.Recv_init([self.into, 1, cells], self.peer, 0),
            COMM.Send_init([self.out, 1, cells], self.peer, 0),
        ]
        cupy.cuda.runtime.deviceSynchronize()
        tempi.reset_stats()
        self.enqueue()
        self.stream.synchronize()

    def enqueue(self) -> None:
        tempi.start_enqueue(self.requests, self.stream)
        tempi.wait_enqueue(self.requests, self.stream)

    def finish(self, value: float) -> None:
        self.stream.synchronize()
        found = self.into.get()
        assert (found[::2] == value).all()
        assert (found[1::2] == 0).all()
        assert not any(row.outcome == ORDINARY for row in tempi.stats())
        for request in self.requests:
            request.Free()


def first_launch_of_a_kernel() -> None:
    """CUDA loads it at its first launch."""
    number = time.monotonic_ns()  # new in each run
    kernel = cupy.RawKernel(f'extern "C" __global__ void fresh(double* x) {{ *x = {number}.0; }}', "fresh")
    x = cupy.zeros(1)
    with cupy.cuda.Stream(non_blocking=True) as other:
        kernel((1,), (1,), (x,))
        other.synchronize()
    assert float(x[0]) == float(number)


def allocations() -> None:
    for _ in range(20):
        address = cupy.cuda.runtime.malloc(8 << 20)
        cupy.cuda.runtime.free(address)


def many_launches() -> None:
    """More than the queue of a stream holds."""
    x = cupy.zeros(1)
    with cupy.cuda.Stream(non_blocking=True) as other:
        for _ in range(3000):
            x += 1
        other.synchronize()
    assert float(x[0]) == 3000


def many_streams() -> None:
    """More than the GPU has queues."""
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(40)]
    all_of = [cupy.zeros(1000) for _ in streams]
    cupy.cuda.runtime.deviceSynchronize()
    for stream, x in zip(streams, all_of, strict=True):
        with stream:
            x += 1
    for stream, x in zip(streams, all_of, strict=True):
        stream.synchronize()
        assert (x.get() == 1).all()


def blocking_messages() -> None:
    """Of GPU memory, on this rank alone."""
    out, into = cupy.arange(1000.0), cupy.zeros(1000)
    cupy.cuda.runtime.streamSynchronize(cupy.cuda.Stream.null.ptr)
    MPI.COMM_SELF.Sendrecv(out, 0, 0, into, 0, 0)
    assert (into == out).all()


def while_an_exchange_waits(meanwhile: str) -> None:
    work: Callable[[], None] = globals()[meanwhile]
    exchange = Exchange()
    COMM.Barrier()
    with exchange.stream:
        exchange.out[...] = COMM.rank + 1
    if COMM.rank == 1:
        time.sleep(LATE_SECONDS)
    exchange.enqueue()
    work()
    exchange.finish(exchange.peer + 1)


def replays(n: int) -> None:
    """Each replay sends what the kernel before it has counted."""
    exchange = Exchange()
    spin = spinner()
    with exchange.stream:
        exchange.stream.begin_capture()
        exchange.out += 1
        exchange.enqueue()
        graph = exchange.stream.end_capture()
        for k in range(n):
            if k % 10_000 == 0:
                spin(SPIN_CYCLES * (1 + COMM.rank))
            graph.launch(exchange.stream)
    exchange.finish(n)


def _said(call: Callable[[], None]) -> str:
    try:
        call()
    except (MPI.Exception, cupy.cuda.runtime.CUDARuntimeError) as error:
        return str(error)
    return ""


def too_late(seconds: float, captured: bool) -> tuple[float, str]:
    """Seconds until the stream of this rank has gone on, and the error of the next start."""
    COMM.Set_errhandler(MPI.ERRORS_RETURN)
    exchange = Exchange()
    run = exchange.enqueue
    if captured:
        with exchange.stream:
            exchange.stream.begin_capture()
            exchange.enqueue()
            graph = exchange.stream.end_capture()
        run = lambda: graph.launch(exchange.stream)  # noqa: E731
    COMM.Barrier()
    if COMM.rank == 1:
        time.sleep(seconds)
    begun = time.perf_counter()
    said = _said(run)
    exchange.stream.synchronize()
    taken = time.perf_counter() - begun
    said = said or _said(exchange.enqueue)
    COMM.Barrier()
    for request in exchange.requests:
        request.Free()
    return taken, said


def a_kernel_fails() -> str:
    """The error of this rank."""
    COMM.Set_errhandler(MPI.ERRORS_RETURN)
    exchange = Exchange()
    trap = cupy.RawKernel('extern "C" __global__ void trap() { asm("trap;"); }', "trap")
    COMM.Barrier()
    if COMM.rank == 0:
        with exchange.stream:
            trap((1,), (1,), ())
    said = _said(exchange.enqueue)
    said = _said(exchange.stream.synchronize) or said
    for _ in range(20):
        said = said or _said(exchange.enqueue)
        time.sleep(0.1)
    return said


def reductions(count: int, captured: bool, n: int = 30) -> None:
    """Sums in place: each one multiplies the values by the number of ranks, modulo 2**32."""
    stream, spin = _stream(), spinner()
    own = [np.random.default_rng((rank, count)).integers(0, 1 << 20, count, np.uint32) for rank in range(COMM.size)]
    array = cupy.asarray(own[COMM.rank])
    cupy.cuda.runtime.deviceSynchronize()
    request = COMM.Allreduce_init(MPI.IN_PLACE, [array, count, MPI.UINT32_T])
    tempi.reset_stats()

    def enqueue() -> None:
        tempi.start_enqueue(request, stream)
        tempi.wait_enqueue(request, stream)

    enqueue()
    with stream:
        if captured:
            stream.synchronize()
            stream.begin_capture()
            enqueue()
            graph = stream.end_capture()
        for k in range(n - 1):
            if k % 10 == 0:
                spin(SPIN_CYCLES * (1 + COMM.rank))
            graph.launch(stream) if captured else enqueue()
    stream.synchronize()
    with np.errstate(over="ignore"):
        sums = np.sum(own, axis=0, dtype=np.uint32) * np.uint32(pow(COMM.size, n - 1, 1 << 32))
    np.testing.assert_array_equal(array.get(), sums)
    assert not any(row.outcome == ORDINARY for row in tempi.stats())
    request.Free()


def movements(n: int) -> None:
    """All-to-all, all-gather and broadcast, one behind the other in a stream."""
    stream, spin, size = _stream(), spinner(), COMM.size
    out, into, all_of, root = (cupy.zeros((k, CELLS)) for k in (size, size, size, 1))
    cupy.cuda.runtime.deviceSynchronize()
    requests = [
        COMM.Alltoall_init(out, into),
        COMM.Allgather_init(out[0], all_of),
        COMM.Bcast_init(root, 0),
    ]
    kept = []
    for k in range(n):
        with stream:
            spin(SPIN_CYCLES * (1 + COMM.rank))
            out[...] = 100 * k + 10 * COMM.rank + cupy.arange(size)[:, None]
            root[...] = k if COMM.rank == 0 else -1
            tempi.start_enqueue(requests, stream)
            tempi.wait_enqueue(requests, stream)
            kept.append((into.copy(), all_of.copy(), root.copy()))
    stream.synchronize()
    ranks = np.arange(size)[:, None] * np.ones(CELLS)
    for k, (exchanged, gathered, sent) in enumerate(kept):
        np.testing.assert_array_equal(exchanged.get(), 100 * k + 10 * ranks + COMM.rank)
        np.testing.assert_array_equal(gathered.get(), 100 * k + 10 * ranks)
        np.testing.assert_array_equal(sent.get(), np.full((1, CELLS), k))
    for request in requests:
        request.Free()
