"""The ranks of test_handed.py: calls on contiguous GPU memory, and the memory that the library was given for them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np
from mpi4py import MPI

from tempi.testing import FakeArray

N = 60_000  # INTs: messages of so many bytes are packed in device memory where they may be

Given = list[str]


def _is_fake_device_memory(address: int) -> bool:
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "tempi_fake_device" in line:
            begin, end = (int(bound, 16) for bound in line.split()[0].split("-"))
            if begin <= address < end:
                return True
    return False


def _given() -> Given:
    """The kinds of memory that given_tool.c has noted since the last question."""
    tool = ctypes.CDLL(None)
    n_given = ctypes.c_int.in_dll(tool, "n_given")
    buffers = (ctypes.c_void_p * 64).in_dll(tool, "given_buffers")
    noted = [buffers[i] or 0 for i in range(n_given.value)]
    n_given.value = 0
    return sorted({"GPU" if _is_fake_device_memory(address) else "host" for address in noted if address})


def _completed(call: Callable[..., MPI.Request | MPI.Prequest | None], *arguments: object) -> None:
    request = call(*arguments)
    if isinstance(request, MPI.Prequest):
        request.Start()
        request.Wait()
        request.Free()
    elif request is not None:
        request.Wait()


def _reduced(name: str, comm: MPI.Intracomm, values: np.ndarray) -> tuple[Given, bool]:
    """One reduction of GPU memory; the memory given for it, and whether its result is right."""
    operation = name.removesuffix("_init")
    operation = operation[1:].capitalize() if operation.startswith("I") else operation
    n = N * comm.size if operation.startswith("Reduce_scatter") else N
    sent = FakeArray.from_numpy(np.resize(values, n) + comm.rank)
    is_significant = comm.rank == 0 if operation == "Reduce" else comm.rank > 0 or operation != "Exscan"
    into = FakeArray.from_numpy(np.zeros(N, "i")) if is_significant else np.zeros(N, "i")
    everyone = [np.resize(values, n) + rank for rank in range(comm.size)]
    expected = np.sum(everyone, 0)
    if operation == "Scan":
        expected = np.sum(everyone[: comm.rank + 1], 0)
    elif operation == "Exscan":
        expected = np.sum(everyone[: comm.rank], 0) if comm.rank else np.zeros(N, "i")
    elif operation.startswith("Reduce_scatter"):
        expected = expected[comm.rank * N : (comm.rank + 1) * N]
    elif operation == "Reduce" and comm.rank:
        expected = np.zeros(N, "i")
    counts = [[N] * comm.size] if operation == "Reduce_scatter" else []
    n_given = n if counts else N  # mpi4py wants so many of MPI_Reduce_scatter_block
    _given()
    _completed(getattr(comm, name), [sent, n_given, MPI.INT], [into, N, MPI.INT], *counts, MPI.SUM)
    result = into.to_numpy() if is_significant else into
    return _given(), bool(np.array_equal(result, expected))


def reduction(name: str) -> tuple[Given, bool]:
    return _reduced(name, MPI.COMM_WORLD, np.arange(N, dtype="i"))


def reduction_between_groups(name: str) -> tuple[Given, bool]:
    """The ranks of each group get the sum of the other one."""
    world = MPI.COMM_WORLD
    half = world.Split(world.rank % 2)
    inter = half.Create_intercomm(0, world, 1 - world.rank % 2, 5)
    sent, into = FakeArray.from_numpy(np.full(N, world.rank, "i")), FakeArray.from_numpy(np.zeros(N, "i"))
    _given()
    _completed(getattr(inter, name), [sent, N, MPI.INT], [into, N, MPI.INT], MPI.SUM)
    others = sum(rank for rank in range(world.size) if rank % 2 != world.rank % 2)
    is_right = bool((into.to_numpy() == others).all())
    given = _given()
    inter.Free()
    half.Free()
    return given, is_right


def local_reduction() -> tuple[Given, bool]:
    """By an operation of the program, which no kernel can do."""

    def add(inbuf: MPI.buffer, inoutbuf: MPI.buffer, datatype: MPI.Datatype) -> None:
        np.frombuffer(inoutbuf, "i")[:] += np.frombuffer(inbuf, "i")

    operation = MPI.Op.Create(add, True)
    sent, into = FakeArray.from_numpy(np.arange(N, dtype="i")), FakeArray.from_numpy(np.ones(N, "i"))
    _given()
    operation.Reduce_local([sent, N, MPI.INT], [into, N, MPI.INT])
    operation.Free()
    return _given(), bool(np.array_equal(into.to_numpy(), np.arange(N) + 1))


def movement() -> tuple[Given, bool]:
    comm = MPI.COMM_WORLD
    sent = FakeArray.from_numpy(np.full(N, comm.rank, "i"))
    into = FakeArray.from_numpy(np.zeros(N * comm.size, "i"))
    _given()
    _completed(comm.Iallgather, [sent, N, MPI.INT], [into, N, MPI.INT])
    return _given(), bool(np.array_equal(into.to_numpy(), np.repeat(np.arange(comm.size), N)))


def access(name: str) -> tuple[Given, bool]:
    """MPI_Put or MPI_Accumulate of GPU memory into the next rank's window in host memory."""
    comm = MPI.COMM_WORLD
    there = np.zeros(N, "i")
    sent = FakeArray.from_numpy(np.full(N, comm.rank + 1, "i"))
    window = MPI.Win.Create(there, 4, comm=comm)
    window.Fence()
    _given()
    getattr(window, name)([sent, N, MPI.INT], (comm.rank + 1) % comm.size)
    given = _given()
    window.Fence()
    window.Free()
    return given, bool((there == (comm.rank - 1) % comm.size + 1).all())
