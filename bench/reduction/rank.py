"""MPI_Reduce_local on GPU memory, beside CuPy's addition and a reduction in host memory by hand. One rank.

Run it with the shim preloaded:

``mpirun -n 1 env LD_PRELOAD=$(tempi lib) python -m bench.reduction.rank``

Prints lines "type,bytes,way,us,ok".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import cupy
import numpy as np
from mpi4py import MPI

TYPES = ("float64", "float32", "int32")
SIZES = [1 << power for power in range(13, 29, 3)]  # 8 KiB to 256 MiB
SECONDS, LEAST_ROUNDS = 0.2, 5


def synchronise() -> None:
    cupy.cuda.get_current_stream().synchronize()


def ways(one: Any, other: Any) -> Iterator[tuple[str, Callable[[], object]]]:
    """Calls that add the first array to the second one, complete when they return."""

    def by_cupy() -> None:
        cupy.add(other, one, out=other)
        synchronise()

    def by_hand() -> None:
        other.set(cupy.asnumpy(one) + cupy.asnumpy(other))
        synchronise()

    yield "MPI_Reduce_local", lambda: MPI.SUM.Reduce_local(one, other)
    yield "cupy.add", by_cupy
    yield "host memory", by_hand


def median_us(call: Callable[[], object]) -> float:
    """Microseconds of a call, after one that is not counted."""
    call()
    times: list[float] = []
    while sum(times) < SECONDS or len(times) < LEAST_ROUNDS:
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return 1e6 * median(times)


def is_right(one: Any, other: Any, call: Callable[[], object]) -> bool:
    """The sum of small whole numbers, which every type adds exactly."""
    numbers = np.arange(len(one)) % 1000
    one.set(numbers.astype(one.dtype))
    other.set(2 * numbers.astype(one.dtype))
    call()
    return bool((cupy.asnumpy(other) == 3 * numbers.astype(one.dtype)).all())


def main() -> None:
    for name in TYPES:
        for n_bytes in SIZES:
            one = cupy.zeros(n_bytes // np.dtype(name).itemsize, name)
            other = cupy.zeros_like(one)
            synchronise()
            for way, call in ways(one, other):
                right = is_right(one, other, call)
                one.fill(0)
                synchronise()
                print(f"{name},{n_bytes},{way},{median_us(call):.3f},{right}", flush=True)


if __name__ == "__main__":
    main()
