"""MPI datatypes of loops (`tempi.strides`) around blocks of neighbouring elements."""

from __future__ import annotations

from collections.abc import Sequence

from mpi4py import MPI

from tempi.strides import Loop


def nested_datatype(loops: Sequence[Loop], block: int, element: MPI.Datatype) -> MPI.Datatype:
    """Blocks of elements at the loops' positions, in their order; not committed.

    Displacements count from the lowest address, also where strides are negative.
    """
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
    """Backwards block by block: Open MPI crashes in large messages of vectors with a negative stride."""
    if stride < 0:
        return inner.Create_hindexed_block(block, range((count - 1) * -stride, -1, stride))
    return inner.Create_hvector(count, block, stride)
