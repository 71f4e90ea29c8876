"""MPI datatypes of loops (`tempi.arrays.strides`) around blocks of neighbouring elements."""

from __future__ import annotations

from collections.abc import Sequence

from mpi4py import MPI

from tempi.arrays.strides import Loop

MOST_COUNT = 2**31 - 1  # before MPI 4
MOST_DISPLACEMENTS = 2**16  # each is a number in memory


def nested_datatype(loops: Sequence[Loop], block: int, element: MPI.Datatype) -> MPI.Datatype:
    """Blocks of elements at the loops' positions, in their order; not committed.

    Displacements count from the lowest address, also where strides are negative.
    """
    if block > MOST_COUNT:
        loops, block = [*loops, (block, element.extent)], 1
    if not loops:
        return element.Create_contiguous(block)
    datatype = element
    for count, stride in reversed(loops):
        inner, datatype = datatype, _loop(count, stride, block, datatype)
        if inner is not element:
            inner.Free()
        block = 1
    return datatype


def _loop(count: int, stride: int, block: int, inner: MPI.Datatype) -> MPI.Datatype:
    """A backward loop by blocks: Open MPI crashes in large messages of vectors with negative strides."""
    if count > (MOST_COUNT if stride >= 0 else MOST_DISPLACEMENTS):
        return _long_loop(count, stride, block, inner)
    if stride < 0:
        return inner.Create_hindexed_block(block, range((count - 1) * -stride, -1, stride))
    return inner.Create_hvector(count, block, stride)


def _long_loop(count: int, stride: int, block: int, inner: MPI.Datatype) -> MPI.Datatype:
    """A loop of loops of the largest possible length, and one of the remainder."""
    most = MOST_COUNT if stride >= 0 else MOST_DISPLACEMENTS
    n_rounds, n_left = divmod(count, most)
    one_round = _loop(most, stride, block, inner)
    parts, begins = (
        [one_round.Create_hvector(n_rounds, 1, most * stride)],
        [0 if stride >= 0 else (count - most) * -stride],
    )
    if n_left:
        parts.append(_loop(n_left, stride, block, inner))
        begins.append(n_rounds * most * stride if stride >= 0 else 0)
    whole = MPI.Datatype.Create_struct([1] * len(parts), begins, parts)
    for datatype in (one_round, *parts):
        datatype.Free()
    return whole
