"""The ranks of test_gpu_halo.py: arrays of GPU libraries, each rank on the GPU whose turn it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from mpi4py import MPI

import tempi
from support import equal
from support.busy_gpu import spinner

COMM = MPI.COMM_WORLD
SHAPE, WIDTHS = (20, 24, 28), ((1, 2), (3, 3), (2, 0))
SPIN_CYCLES = 100_000_000  # a twentieth of a second


def decomposition() -> tempi.Decomposition:
    return tempi.Decomposition(SHAPE, tuple(MPI.Compute_dims(COMM.size, 3)), WIDTHS, periods=True)


def expected(whole: np.ndarray) -> np.ndarray:
    grid = decomposition()
    wrapped = np.pad(whole, WIDTHS, mode="wrap")
    block = zip(grid.block(COMM.rank), WIDTHS, strict=True)
    return wrapped[tuple(slice(part.start, part.stop + low + high) for part, (low, high) in block)]


def wholes() -> list[np.ndarray]:
    numbers = np.arange(np.prod(SHAPE)).reshape(SHAPE)
    return [numbers.astype("f8"), (numbers % 251).astype("u1"), (1j * numbers).astype("c16")]


def exchange(library: str) -> None:
    """Arrays of three dtypes in one exchange."""
    cupy.cuda.Device(COMM.rank % cupy.cuda.runtime.getDeviceCount()).use()
    to_device, to_host = _libraries()[library]()
    grid = decomposition()
    arrays = [to_device(grid.scatter(whole, COMM.rank)) for whole in wholes()]
    cupy.cuda.runtime.deviceSynchronize()
    with tempi.HaloExchange(COMM, arrays, WIDTHS, True, dims=grid.dims) as halo:
        for _ in range(3):  # the third time from a graph
            halo()
            for array, whole in zip(arrays, wholes(), strict=True):
                equal.check(to_host(array), expected(whole))


def _libraries() -> dict[str, Callable[[], tuple[Callable[..., Any], Callable[..., Any]]]]:
    def numba() -> tuple[Callable[..., Any], Callable[..., Any]]:
        from numba import cuda

        return cuda.to_device, lambda array: array.copy_to_host()

    return {"cupy": lambda: (cupy.asarray, lambda array: array.get()), "numba": numba}


def as_with_numpy() -> None:
    """Staggered arrays, boundary functions, the adjoint and other decompositions: the same with CuPy and NumPy."""
    cupy.cuda.Device(COMM.rank % cupy.cuda.runtime.getDeviceCount()).use()
    for found, wanted in zip(_results(cupy), _results(np), strict=True):
        equal.check(cupy.asnumpy(found), wanted)


def _results(library: Any) -> list[Any]:
    numbers = np.random.default_rng(COMM.rank)
    p, u = (library.asarray(numbers.integers(0, 9, shape).astype("f8")) for shape in ((9, 8), (10, 8)))
    grid = tempi.Decomposition((5 * COMM.size, 4), (COMM.size, 1), width=2)
    other = tempi.Decomposition((5 * COMM.size, 4), (1, COMM.size))
    slab = library.zeros(other.local_shape(COMM.rank))

    def boundary(face: tempi.Face) -> None:
        face.array[face.ghost] = face.array[face.layer(0)]

    fields = [p, tempi.Field(u, stagger=(1, 0))]
    with tempi.HaloExchange(COMM, fields, width=2, dims=grid.dims, boundary=boundary) as halo:
        halo()
        found = [p.copy(), u.copy()]
        halo.accumulate()
        with halo.with_arrays([array.copy() for array in found]) as again:
            again()
    grid.redistribute(COMM, p, other, slab)
    return [*found, p, u, slab]


def queued_work(own_stream: bool) -> None:
    """Own cells are written by a kernel behind one that spins; then the exchange, at once."""
    cupy.cuda.Device(COMM.rank % cupy.cuda.runtime.getDeviceCount()).use()
    spin = spinner()
    grid, whole = decomposition(), wholes()[0]
    local = cupy.asarray(grid.scatter(whole, COMM.rank))
    array = cupy.zeros_like(local)
    cupy.cuda.runtime.deviceSynchronize()
    with (
        tempi.HaloExchange(COMM, array, WIDTHS, True, dims=grid.dims) as halo,
        cupy.cuda.Stream(non_blocking=True) if own_stream else cupy.cuda.Stream.null,
    ):
        spin(SPIN_CYCLES)
        array[...] = local
        halo()
        equal.check(array.get(), expected(whole))
