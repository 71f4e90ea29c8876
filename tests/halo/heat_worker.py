"""The ranks of the test of examples/heat.py on the fake device."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import tempi
from tempi.testing import FakeArray, FakeStream

_spec = importlib.util.spec_from_file_location("heat", Path(__file__).resolve().parents[2] / "examples" / "heat.py")
heat: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(heat)


class FakeKernel:
    """What Numba compiles for a GPU, by NumPy. It runs when the stream comes to it."""

    def __getitem__(self, launch: tuple[Any, Any, FakeStream]) -> Any:
        _, _, stream = launch

        def run(old: FakeArray, new: FakeArray) -> None:
            stream.synchronize()
            cells, own = old.to_numpy(), (slice(1, -1),) * 3
            values = new.to_numpy()
            values[own] = advanced(cells)[own]
            stream.copy(new, values)

        return run


class FakeGpu(heat.Gpu):  # type: ignore[misc]
    def __init__(self) -> None:
        self._kernel, self._stream = FakeKernel(), FakeStream()

    def array(self, values: NDArray[Any]) -> FakeArray:
        return FakeArray.from_numpy(values)

    def values(self, array: FakeArray) -> NDArray[Any]:
        return array.to_numpy()


def advanced(old: NDArray[Any]) -> NDArray[Any]:
    """The next temperatures of a periodic box."""
    near = [np.roll(old, shift, axis) for axis in range(3) for shift in (1, -1)]
    around = near[0] + near[1] + near[2] + near[3] + (near[4] + near[5])
    return old + heat.SPEED * (around - 6.0 * old)  # type: ignore[no-any-return]


def on_the_fake_device(cells: int, steps: int) -> dict[str, int]:
    """How the exchanges were carried out."""
    tempi.reset_stats()
    start = heat.hot_spots(cells)
    found, _ = heat.simulate(MPI.COMM_WORLD, start, steps, FakeGpu())
    if found is not None:
        for _ in range(steps):
            start = advanced(start)
        np.testing.assert_allclose(found, start, rtol=1e-12)
    return {row.outcome: row.calls for row in tempi.stats() if row.function == "stream"}
