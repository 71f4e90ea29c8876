"""The time when sends of GPU memory leave. One rank of two; run it once for each setting, with the shim
preloaded.

``mpirun -n 2 env LD_PRELOAD=$(tempi lib) TEMPI_PROGRESS=auto python -m bench.progress.rank multiple``

(a) a row of 26 ``MPI_Isend`` and ``MPI_Waitall``, 4 KiB of 32-byte blocks each: the time at the sender, and
until the receiver has them all; (b) one ``MPI_Isend`` of 16 MiB of 64-byte blocks, then computing for 2 ms on
the CPU, then ``MPI_Wait``: when the message has arrived, after the call. Two ranks of one node share a clock.
(c) an exchange of 16 MiB with the other rank, a kernel of the program on the legacy stream, and the kernel
with the exchange beside it. Prints lines "case,quantity,us".
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import mpi4py

mpi4py.rc.thread_level = sys.argv[1] if len(sys.argv) > 1 else "multiple"

import cupy  # noqa: E402
from mpi4py import MPI  # noqa: E402

COMM = MPI.COMM_WORLD
ROW, ROUNDS, COMPUTED_S = 26, 200, 2e-3


def strided(n_bytes: int, block_bytes: int) -> tuple[MPI.Datatype, list[object]]:
    """Blocks with gaps of their own size, and the buffer that they are in."""
    datatype = MPI.BYTE.Create_vector(n_bytes // block_bytes, block_bytes, 2 * block_bytes).Commit()
    array = cupy.zeros(2 * n_bytes, cupy.uint8)
    cupy.cuda.get_current_stream().synchronize()
    return datatype, [array, 1, datatype]


def now() -> float:
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def compute(seconds: float) -> None:
    end = now() + seconds
    while now() < end:
        pass


def measured(n_messages: int, n_bytes: int, block_bytes: int, computed_s: float) -> tuple[float, float]:
    """Medians (us): the sender's time less the computing; from the first send to the arrival of all."""
    _, buffer = strided(n_bytes, block_bytes)
    target = bytearray(n_bytes)
    sent, arrived = [], []
    for _ in range(ROUNDS):
        COMM.Barrier()
        begin = now()
        if COMM.rank == 0:
            requests = [COMM.Isend(buffer, 1, tag) for tag in range(n_messages)]
            compute(computed_s)
            MPI.Request.Waitall(requests)
            sent.append(now() - begin - computed_s)
            arrived.append(COMM.recv(source=1) - begin)
        else:
            for tag in range(n_messages):
                COMM.Recv(target, 0, tag)
            COMM.send(now(), 0)
    if COMM.rank != 0:
        return 0.0, 0.0
    return statistics.median(sent) * 1e6, statistics.median(arrived) * 1e6


SPIN = (
    'extern "C" __global__ void spin(long long n) { long long t = clock64(); while (clock64() - t < n) {} }'
)


def median_us(step: Callable[[], None]) -> float:
    """The time of one step with all its queued work."""
    taken = []
    for _ in range(40):
        cupy.cuda.runtime.deviceSynchronize()
        COMM.Barrier()
        begin = now()
        step()
        cupy.cuda.runtime.deviceSynchronize()
        taken.append(now() - begin)
    return statistics.median(taken) * 1e6


def overlap() -> dict[str, float]:
    """A kernel on one multiprocessor leaves the others to the exchange."""
    (_, out), (_, into) = strided(16 << 20, 64), strided(16 << 20, 64)
    kernel, cycles = cupy.RawKernel(SPIN, "spin"), cupy.int64(4_000_000)

    def exchange() -> None:
        request = COMM.Irecv(into, 1 - COMM.rank)
        MPI.Request.Waitall([request, COMM.Isend(out, 1 - COMM.rank)])

    def compute_on_gpu() -> None:
        kernel((1,), (1,), (cycles,))

    def both() -> None:
        compute_on_gpu()
        exchange()

    return {"exchange": median_us(exchange), "kernel": median_us(compute_on_gpu), "together": median_us(both)}


def show(case: str, quantity: str, microseconds: float) -> None:
    if COMM.rank == 0:
        print(f"{case},{quantity},{microseconds:.1f}", flush=True)


def main() -> None:
    cupy.cuda.Device(COMM.rank % cupy.cuda.runtime.getDeviceCount()).use()
    for name, case in {
        "26 x 4 KiB": (ROW, 4 << 10, 32, 0.0),
        "16 MiB and 2 ms on the CPU": (1, 16 << 20, 64, COMPUTED_S),
    }.items():
        sent, arrived = measured(*case)
        show(name, "sender", sent)
        show(name, "arrival", arrived)
    for quantity, microseconds in overlap().items():
        show("16 MiB each way and a kernel", quantity, microseconds)


if __name__ == "__main__":
    main()
