"""The ranks of test_gpu_enqueue.py: exchanges in a stream of CuPy, each rank on the GPU whose turn it is."""

from __future__ import annotations

import cupy
import numpy as np
from gpu_halo_worker import WIDTHS, decomposition, expected, wholes
from mpi4py import MPI

import tempi
from support import equal
from support.busy_gpu import spinner

COMM = MPI.COMM_WORLD
SPIN_CYCLES = 20_000_000  # a hundredth of a second
CHANNEL = "enqueued exchanges: kernels of two GPUs, queued in the program's stream"


def _use_gpu() -> cupy.cuda.Stream:
    cupy.cuda.Device(COMM.rank % cupy.cuda.runtime.getDeviceCount()).use()
    return cupy.cuda.Stream(non_blocking=True)


def _channels() -> int:
    return sum(row.calls for row in tempi.stats() if row.outcome == CHANNEL)


def halo(n: int, captured: bool) -> int:
    """`n` exchanges behind kernels that fill the arrays late; each result is kept by a later kernel."""
    stream, spin, grid = _use_gpu(), spinner(), decomposition()
    whole = wholes()[0]
    array = cupy.asarray(grid.scatter(whole, COMM.rank))
    own = tuple(slice(low, n - high) for (low, high), n in zip(WIDTHS, array.shape, strict=True))
    found = cupy.zeros(array.shape)
    cupy.cuda.runtime.deviceSynchronize()
    tempi.reset_stats()
    with tempi.HaloExchange(COMM, array, WIDTHS, True, dims=grid.dims) as exchange, stream:
        exchange.enqueue(stream)
        array[own] += 1
        if captured:
            stream.synchronize()
            stream.begin_capture()
            exchange.enqueue(stream)
            array[own] += 1
            graph = stream.end_capture()
        for k in range(n):
            if k % 10 == 0:
                spin(SPIN_CYCLES * (1 + COMM.rank))
            if captured:
                graph.launch(stream)
            else:
                exchange.start(stream)
                exchange.finish(stream)
                array[own] += 1
        exchange.enqueue(stream)
        found[...] = array
        array[...] = -1
        stream.synchronize()
        equal.check(found.get(), expected(whole + n + 1))
    return _channels()


def two_streams(n: int) -> int:
    """Requests of two streams, started in another order on each rank, with messages of other calls between them."""
    streams = [_use_gpu(), cupy.cuda.Stream(non_blocking=True)]
    rows = MPI.DOUBLE.Create_vector(200, 7, 31).Commit()
    peer = COMM.size - 1 - COMM.rank
    arrays = [[cupy.zeros((200, 31)) for _ in range(2)] for _ in streams]
    requests = [
        [COMM.Recv_init([into, 1, rows], peer, i), COMM.Send_init([out, 1, rows], peer, i)]
        for i, (out, into) in enumerate(arrays)
    ]
    kept = [cupy.zeros((n, 200, 31)) for _ in streams]
    cupy.cuda.runtime.deviceSynchronize()
    tempi.reset_stats()
    order = [0, 1] if COMM.rank % 2 == 0 else [1, 0]
    other = cupy.full(1000, float(COMM.rank))
    for k in range(n):
        for i in order:
            with streams[i] as stream:
                arrays[i][0][...] = 1000 * k + 10 * i + COMM.rank
                tempi.start_enqueue(requests[i][:: 1 - 2 * (COMM.rank % 2)], stream)
        for i in range(2):
            with streams[i] as stream:
                tempi.wait_enqueue(requests[i], stream)
                kept[i][k] = arrays[i][1]
        if k % 3 == 0:
            into = cupy.zeros(1000)
            cupy.cuda.runtime.deviceSynchronize()
            COMM.Sendrecv(other, peer, 99, into, peer, 99)
            assert (into == peer).all()
    for stream in streams:
        stream.synchronize()
    for i in range(2):
        wanted = np.zeros((n, 200, 31))
        wanted[:, :, :7] = (1000 * np.arange(n) + 10 * i + peer)[:, None, None]
        equal.check(kept[i].get(), wanted)
        for request in requests[i]:
            request.Free()
    return _channels()
