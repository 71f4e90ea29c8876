"""A distributed 3-D Fourier transform: slabs, transposed by one MPI_Alltoallw of subarrays.

    tempi run -- mpirun -n 4 python examples/fft.py --cells 64

The layout is that of mpi4py-fft: for each other rank, a datatype describes the part of the slab that goes to
it, so the program copies nothing. With CuPy and a GPU the arrays are in GPU memory, else in host memory;
--numpy asks for host memory. The result is compared with NumPy's own transform of the whole array.
"""

from __future__ import annotations

import argparse
import time
from types import ModuleType
from typing import Any

import numpy as np
import tempi  # before mpi4py: this switches TEMPI on
from mpi4py import MPI


def arrays(wants_numpy: bool) -> ModuleType:
    """CuPy where it works, else NumPy."""
    if not wants_numpy:
        try:
            import cupy

            cupy.zeros(1)
            return cupy  # type: ignore[no-any-return]
        except Exception:
            pass
    return np


def part(n: int, size: int, rank: int) -> slice:
    """The cells of one rank along an axis: as equal as can be."""
    return slice(n * rank // size, n * (rank + 1) // size)


class Transpose:
    """From slabs along `source` to slabs along `target`, axes of a global array of complex numbers."""

    def __init__(self, comm: MPI.Comm, shape: tuple[int, ...], source: int, target: int) -> None:
        self._comm = comm
        self.shapes = [self._local(shape, axis) for axis in (source, target)]
        self._types = [
            self._pieces(self.shapes[0], target, shape[target]),
            self._pieces(self.shapes[1], source, shape[source]),
        ]

    def _local(self, shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
        mine = part(shape[axis], self._comm.size, self._comm.rank)
        return tuple(mine.stop - mine.start if i == axis else n for i, n in enumerate(shape))

    def _pieces(self, local: tuple[int, ...], axis: int, n: int) -> list[MPI.Datatype]:
        """What each rank gets of a local array, or gives to it: its cells along the axis."""
        pieces = []
        for rank in range(self._comm.size):
            theirs = part(n, self._comm.size, rank)
            sizes = [theirs.stop - theirs.start if i == axis else m for i, m in enumerate(local)]
            starts = [theirs.start if i == axis else 0 for i in range(len(local))]
            pieces.append(MPI.C_DOUBLE_COMPLEX.Create_subarray(local, sizes, starts).Commit())
        return pieces

    def __call__(self, given: Any, made: Any) -> None:
        """Collective."""
        ones = ([1] * self._comm.size, [0] * self._comm.size)
        self._comm.Alltoallw([given, ones, self._types[0]], [made, ones, self._types[1]])

    def free(self) -> None:
        for datatype in (*self._types[0], *self._types[1]):
            datatype.Free()


def transform(comm: MPI.Comm, xp: ModuleType, slab: Any, shape: tuple[int, ...]) -> tuple[Any, float]:
    """The transform, in slabs along the second axis, and the seconds of its transpose."""
    transpose = Transpose(comm, shape, source=0, target=1)
    there = xp.ascontiguousarray(xp.fft.fftn(slab, axes=(1, 2)))
    turned = xp.empty(transpose.shapes[1], complex)
    if xp is not np:
        xp.cuda.get_current_stream().synchronize()
    comm.Barrier()
    begin = time.perf_counter()
    transpose(there, turned)
    seconds = time.perf_counter() - begin
    transpose.free()
    return xp.fft.fft(turned, axis=0), seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cells", type=int, default=48, help="along each axis")
    parser.add_argument("--numpy", action="store_true", help="in ordinary memory, even if there is a GPU")
    arguments = parser.parse_args()
    comm, n = MPI.COMM_WORLD, arguments.cells
    xp = arrays(arguments.numpy)
    whole = np.random.default_rng(1).standard_normal((n, n, n)) + 0j
    slab = xp.asarray(whole[part(n, comm.size, comm.rank)])
    found, seconds = transform(comm, xp, slab, whole.shape)
    expected = np.fft.fftn(whole)[:, part(n, comm.size, comm.rank)]
    local = found if xp is np else xp.asnumpy(found)
    np.testing.assert_allclose(local, expected, rtol=0, atol=1e-9 * n**1.5)
    if comm.rank == 0:
        name, is_on = xp.__name__, "on" if tempi.enabled() else "off"
        print(f"{n}^3 cells, {comm.size} ranks, {name}, tempi {is_on}: {seconds * 1e3:.2f} ms, right")


if __name__ == "__main__":
    main()
