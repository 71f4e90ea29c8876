"""MPI_Reduce_local in memory of any kind, against NumPy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from support import equal, memory, outcomes

KERNEL = ("MPI_Reduce_local", "taken: GPU kernel")
NUMPY = {
    "SUM": np.add,
    "PROD": np.multiply,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "BAND": np.bitwise_and,
    "BOR": np.bitwise_or,
    "BXOR": np.bitwise_xor,
    "LAND": np.logical_and,
    "LOR": np.logical_or,
    "LXOR": np.logical_xor,
}


class Case(NamedTuple):
    """A call.

    Attributes
    ----------
    datatype, operation : str
        Without MPI_.
    count : int
    kinds : pair of str
        The memory of the buffer that is read, and of the one that is reduced.
    offsets : pair of int
        Bytes before the first element of each, from an address that is aligned.
    seed : int
    """

    datatype: str
    operation: str
    count: int
    kinds: tuple[str, str] = ("device", "device")
    offsets: tuple[int, int] = (0, 0)
    seed: int = 0


def _values(draw: np.random.Generator, case: Case) -> np.ndarray:
    """Of integers the full range: sums and products wrap around."""
    dtype = np.dtype(getattr(MPI, case.datatype).typechar)
    if dtype.kind == "f":
        return draw.normal(size=case.count).astype(dtype)
    if case.operation.startswith("L"):
        return draw.integers(0, 3, case.count).astype(dtype)
    return draw.integers(0, 256, case.count * dtype.itemsize).astype("u1").view(dtype)


def _held(kind: str, values: np.ndarray, offset: int) -> tuple[memory.Buffer, MPI.buffer]:
    contents = np.zeros(offset + values.nbytes + values.itemsize, "u1")
    contents[offset : offset + values.nbytes] = values.view("u1")
    held = memory.at_hand(kind, contents)
    return held, MPI.buffer.fromaddress(held.address + offset, values.nbytes)


def reduce_local(case: Case) -> bool:
    """True if a kernel did the call."""
    datatype, operation = getattr(MPI, case.datatype), getattr(MPI, case.operation)
    draw = np.random.default_rng(case.seed)
    mine, result = _values(draw, case), _values(draw, case)
    expected = NUMPY[case.operation](result, mine).astype(result.dtype)
    read, read_at = _held(case.kinds[0], mine, case.offsets[0])
    reduced, reduced_at = _held(case.kinds[1], result, case.offsets[1])
    before = outcomes.rows()
    operation.Reduce_local([read_at, case.count, datatype], [reduced_at, case.count, datatype])
    by_kernel = (outcomes.rows() - before)[KERNEL]
    for held, values, offset in ((read, mine, case.offsets[0]), (reduced, expected, case.offsets[1])):
        found, end = held.read(), offset + values.nbytes
        equal.check(found[offset:end].view(values.dtype), values, str(case))
        assert not found[:offset].any()
        assert not found[end:].any()
    return by_kernel == 1


def reduce_locals(cases: list[Case]) -> list[bool]:
    return [reduce_local(case) for case in cases]


def special_numbers(operation: str) -> tuple[list[str], list[str]]:
    """Of NaN, infinite numbers and zeros of both signs: by a kernel, and by the library on host memory."""
    numbers = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0])
    mine, result = (np.ascontiguousarray(each.ravel()) for each in np.meshgrid(numbers, numbers))
    _, read_at = _held("device", mine, 0)
    reduced, reduced_at = _held("device", result, 0)
    call = getattr(MPI, operation).Reduce_local
    call([read_at, len(mine), MPI.DOUBLE], [reduced_at, len(mine), MPI.DOUBLE])
    for one, other in zip(np.split(mine, len(mine)), np.split(result, len(mine)), strict=True):
        call([one, 1, MPI.DOUBLE], [other, 1, MPI.DOUBLE])  # one at a time: long ones are vectors, which differ
    return [str(one) for one in reduced.read().view("f8")[: len(mine)]], [str(one) for one in result]


def by_an_operation_of_the_program() -> list[int]:
    """The sum of two pairs."""

    def add(inbuf: MPI.buffer, inoutbuf: MPI.buffer, _: MPI.Datatype) -> None:
        np.frombuffer(inoutbuf, "i4")[:] += np.frombuffer(inbuf, "i4")

    made = MPI.Op.Create(add, True)
    _, read_at = _held("device", np.array([1, 2], "i4"), 0)
    reduced, reduced_at = _held("device", np.array([10, 20], "i4"), 0)
    made.Reduce_local([read_at, 2, MPI.INT], [reduced_at, 2, MPI.INT])
    made.Free()
    return [int(one) for one in reduced.read().view("i4")[:2]]
