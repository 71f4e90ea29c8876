"""MPI_Reduce_local in memory of any kind, against the library's own of host memory."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

from support import memory, outcomes

KERNEL = ("MPI_Reduce_local", "taken: GPU kernel")


def _values(draw: np.random.Generator, datatype: MPI.Datatype, op: str, n: int) -> np.ndarray:
    """Sums and products do not overflow: Open MPI ends some of them at the greatest number."""
    dtype = np.dtype(datatype.typechar)
    if dtype.kind == "f":
        return draw.normal(size=n).astype(dtype)
    if op.startswith("L"):
        return draw.integers(0, 3, n).astype(dtype)
    if op in ("SUM", "PROD"):
        return draw.integers(-10 if dtype.kind == "i" else 0, 11, n).astype(dtype)
    return draw.integers(0, 256, n * dtype.itemsize).astype("u1").view(dtype)


def _held(kind: str, values: np.ndarray, first: int) -> tuple[memory.Buffer, MPI.buffer]:
    """The values from the element `first` of a buffer on, and zeros before and behind them."""
    size = values.itemsize
    contents = np.zeros((len(values) + first + 1) * size, "u1")
    contents[first * size : -size] = values.view("u1")
    held = memory.at_hand(kind, contents)
    return held, MPI.buffer.fromaddress(held.address + first * size, values.nbytes)


def reduce_local(name: str, op: str, n: int, kinds: tuple[str, str], firsts: tuple[int, int], seed: int) -> int:
    """The calls that a kernel did: of one.

    Parameters
    ----------
    name, op : str
        Of the datatype and the operation, without MPI_.
    n : int
        Elements.
    kinds, firsts : pairs
        Of the buffer that is read and of the one that is reduced: its memory, the place of its first element.
    """
    datatype, operation = getattr(MPI, name), getattr(MPI, op)
    draw = np.random.default_rng(seed)
    mine, expected = (_values(draw, datatype, op, n) for _ in range(2))
    (read, read_at), (result, result_at) = (
        _held(kind, values, first) for kind, values, first in zip(kinds, (mine, expected), firsts, strict=True)
    )
    operation.Reduce_local([mine, n, datatype], [expected, n, datatype])
    before = outcomes.rows()
    operation.Reduce_local([read_at, n, datatype], [result_at, n, datatype])
    by_kernel = (outcomes.rows() - before)[KERNEL]
    for held, values, first in ((read, mine, firsts[0]), (result, expected, firsts[1])):
        found = held.read().view(values.dtype)
        np.testing.assert_array_equal(found[first : first + n], values, f"{name} {op}")
        assert not found[:first].any()
        assert not found[first + n :].any()
    return by_kernel


def reduce_locals(cases: list[tuple]) -> list[int]:
    return [reduce_local(*case) for case in cases]
