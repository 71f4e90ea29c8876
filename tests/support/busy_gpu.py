"""A kernel that keeps a GPU's stream busy: what is queued behind it has not happened yet."""

from __future__ import annotations

from collections.abc import Callable

import cupy
import numpy as np

_SPIN = """
extern "C" __global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles);
}"""


def spinner() -> Callable[[int], None]:
    """Queues the kernel for so many cycles, of which a second has about two billion. It is compiled and loaded."""
    kernel = cupy.RawKernel(_SPIN, "spin")

    def spin(cycles: int) -> None:
        kernel((1,), (1,), (np.int64(cycles),))

    spin(0)
    cupy.cuda.Device().synchronize()
    return spin
