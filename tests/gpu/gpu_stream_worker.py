"""The ranks of test_gpu_streams.py: kernels fill buffers, MPI sends them in the next line, kernels use what arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import cupy
import numpy as np
from mpi4py import MPI

import tempi
from support import equal
from support.busy_gpu import spinner

COMM = MPI.COMM_WORLD
ROUNDS = 6
SPIN_CYCLES = 20_000_000  # a hundredth of a second
N_ROWS, N_COLUMNS, WIDTH = 96, 80, 24


@cache
def columns() -> MPI.Datatype:
    return MPI.DOUBLE.Create_vector(N_ROWS, WIDTH, N_COLUMNS).Commit()


class Buffers:
    """A strided message each way. `left` sends to this rank, which sends to `right`."""

    def __init__(self, kind: str) -> None:
        self.out, self.into = (self._zeros(kind) for _ in range(2))
        self.left, self.right = (COMM.rank - 1) % COMM.size, (COMM.rank + 1) % COMM.size
        self.request = MPI.REQUEST_NULL, MPI.REQUEST_NULL

    @staticmethod
    def _zeros(kind: str) -> cupy.ndarray:
        if kind == "device":
            return cupy.zeros((N_ROWS, N_COLUMNS))
        memory = cupy.cuda.malloc_managed(N_ROWS * N_COLUMNS * 8)
        array = cupy.ndarray((N_ROWS, N_COLUMNS), memptr=memory)
        array[...] = 0
        return array

    def ends(self) -> tuple[list[object], list[object]]:
        return [self.out, 1, columns()], [self.into, 1, columns()]


def sendrecv(buffers: Buffers) -> None:
    out, into = buffers.ends()
    COMM.Sendrecv(out, buffers.right, recvbuf=into, source=buffers.left)


def nonblocking(buffers: Buffers) -> None:
    out, into = buffers.ends()
    MPI.Request.Waitall([COMM.Irecv(into, buffers.left), COMM.Isend(out, buffers.right)])


def persistent(buffers: Buffers) -> None:
    if buffers.request[0] == MPI.REQUEST_NULL:
        out, into = buffers.ends()
        buffers.request = COMM.Recv_init(into, buffers.left), COMM.Send_init(out, buffers.right)
    MPI.Prequest.Startall(list(buffers.request))
    MPI.Request.Waitall(list(buffers.request))


def packed(buffers: Buffers) -> None:
    """MPI_Pack and MPI_Unpack of this rank's own data: both are queued."""
    dense = cupy.zeros(N_ROWS * WIDTH)
    out, into = buffers.ends()
    columns().Pack(out[0], dense, 0, COMM)
    columns().Unpack(dense, 0, into[0], COMM)


def with_a_collective(buffers: Buffers) -> None:
    sendrecv(buffers)
    gathered = cupy.zeros((COMM.size, 4))
    COMM.Allgather(tempi.view(buffers.out[0, :4]), gathered)
    buffers.into[:, 0] += gathered.sum() - 4 * buffers.out[0, 0] * COMM.size  # 0 but for the other ranks' numbers
    buffers.into[:, 0] -= 4 * sum(range(COMM.size)) - 4 * COMM.size * COMM.rank


CALLS: dict[str, Callable[[Buffers], None]] = {
    "sendrecv": sendrecv,
    "nonblocking": nonblocking,
    "persistent": persistent,
    "pack": packed,
    "with a collective": with_a_collective,
}


@contextmanager
def ordered(own_stream: bool) -> Iterator[cupy.cuda.Stream]:
    """In a stream of its own, or the default one that TEMPI_STREAM names."""
    if not own_stream:
        yield cupy.cuda.Stream.null
        return
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream, tempi.stream(stream):
        yield stream


def value(rank: int, n: int) -> float:
    return 1000.0 * n + rank


def loop(call: str, kind: str, own_stream: bool) -> None:
    """Nothing waits for the GPU but the end of the last round."""
    cupy.cuda.Device(COMM.rank % cupy.cuda.runtime.getDeviceCount()).use()
    spin = spinner()
    with ordered(own_stream) as stream:
        buffers = Buffers(kind)
        found = cupy.zeros((ROUNDS, N_ROWS, N_COLUMNS))
        stream.synchronize()
        for n in range(ROUNDS):
            spin(SPIN_CYCLES)
            buffers.out[...] = value(COMM.rank, n)
            CALLS[call](buffers)
            found[n] = buffers.into
            buffers.into[...] = -1.0
        stream.synchronize()
    sender = COMM.rank if call == "pack" else buffers.left
    wanted = np.full((ROUNDS, N_ROWS, N_COLUMNS), -1.0)
    wanted[0] = 0.0
    wanted[:, :, :WIDTH] = [[[value(sender, n)]] for n in range(ROUNDS)]
    equal.check(found.get(), wanted)


def capture() -> None:
    """MPI_Pack and MPI_Unpack in a graph, which is launched with other data each time."""
    cupy.cuda.Device(COMM.rank % cupy.cuda.runtime.getDeviceCount()).use()
    with ordered(own_stream=True) as stream:
        buffers, dense = Buffers("device"), cupy.zeros(N_ROWS * WIDTH)
        stream.synchronize()
        stream.begin_capture()
        out, into = buffers.ends()
        columns().Pack(out[0], dense, 0, COMM)
        columns().Unpack(dense, 0, into[0], COMM)
        graph = stream.end_capture()
        for n in range(1, 4):
            buffers.out[...] = value(COMM.rank, n)
            graph.launch()
            stream.synchronize()
            assert (buffers.into[:, :WIDTH] == value(COMM.rank, n)).all()
            assert (buffers.into[:, WIDTH:] == 0).all()


def query(own_stream: bool) -> None:
    """A query unpacks the receive in a stream; the call that completes it has none."""
    cupy.cuda.Device(COMM.rank % cupy.cuda.runtime.getDeviceCount()).use()
    spin = spinner()
    with ordered(own_stream) as stream:
        buffers = Buffers("device")
        stream.synchronize()
        for n in range(1, ROUNDS):
            spin(SPIN_CYCLES)
            buffers.out[...] = value(COMM.rank, n)
            out, into = buffers.ends()
            receive, send = COMM.Irecv(into, buffers.left), COMM.Isend(out, buffers.right)
            while not receive.Get_status():
                pass
            with tempi.stream(None):
                MPI.Request.Waitall([receive, send])
                found = np.zeros((N_ROWS, N_COLUMNS))
                cupy.cuda.runtime.memcpy(found.ctypes.data, buffers.into.data.ptr, found.nbytes, 2)
            equal.check(found[:, :WIDTH], value(buffers.left, n))
