"""MPI handles of mpi4py objects as integers, whatever the ABI: a pointer (Open MPI) or an int (MPICH)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from tempi._arguments import wrong

if TYPE_CHECKING:
    from mpi4py import MPI


def handle_of(datatype: MPI.Datatype) -> int:
    """The C handle of a datatype, widened to 64 bits; TypeError if it is none."""
    from mpi4py import MPI

    if not isinstance(datatype, MPI.Datatype):
        expected = "an mpi4py.MPI.Datatype, and comes first (that of an array is tempi.view(array)[2])"
        raise wrong("datatype", datatype, expected)
    return number_of(datatype)


def number_of(handle: MPI.Datatype | MPI.Op) -> int:
    """The C handle of an object of mpi4py, widened to 64 bits."""
    from mpi4py import MPI

    if hasattr(MPI, "_handleof"):
        return int(MPI._handleof(handle)) & 0xFFFF_FFFF_FFFF_FFFF
    address, size = MPI._addressof(handle), MPI._sizeof(handle)
    return int.from_bytes(ctypes.string_at(address, size), "little")
