"""MPI datatypes of single array elements, for every NumPy dtype that holds data and no Python objects.

Numbers in the machine's byte order are MPI's own types. All else travels as its bytes: half precision and
bfloat16, strings, numbers in the other byte order (which arrive in that order), and long double, of which MPICH
would copy 10 bytes of 16. Structures are structs of their fields; padding is not sent.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np
from mpi4py import MPI

# By numpy.dtype.kind and size. Times and dates are 64-bit integers.
_NUMBERS = {
    "b1": MPI.C_BOOL,
    "i1": MPI.INT8_T,
    "i2": MPI.INT16_T,
    "i4": MPI.INT32_T,
    "i8": MPI.INT64_T,
    "m8": MPI.INT64_T,
    "M8": MPI.INT64_T,
    "u1": MPI.UINT8_T,
    "u2": MPI.UINT16_T,
    "u4": MPI.UINT32_T,
    "u8": MPI.UINT64_T,
    "f4": MPI.FLOAT,
    "f8": MPI.DOUBLE,
    "c8": MPI.C_FLOAT_COMPLEX,
    "c16": MPI.C_DOUBLE_COMPLEX,
}


@cache
def element_datatype(dtype: np.dtype[Any]) -> MPI.Datatype:
    """The MPI datatype of one array element: committed, as wide as the element, shared and never to be freed.

    Parameters
    ----------
    dtype : numpy.dtype
        Of any kind, nested and padded structures and sub-arrays included.

    Raises
    ------
    TypeError
        If elements hold Python objects: they are addresses, which mean nothing elsewhere.
    """
    if dtype.hasobject:
        raise TypeError(
            f"tempi: elements of dtype {dtype} hold Python objects, which MPI cannot send:"
            " convert them to numbers or strings of a fixed length, or use mpi4py's lower-case send and recv"
        )
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return element_datatype(base).Create_contiguous(prod(shape)).Commit()
    if dtype.names is not None and not _fields_overlap(dtype):
        return _structure(dtype)
    number = _NUMBERS.get(f"{dtype.kind}{dtype.itemsize}") if dtype.isnative else None
    return number or MPI.BYTE.Create_contiguous(dtype.itemsize).Commit()


def _fields(dtype: np.dtype[Any]) -> list[tuple[int, np.dtype[Any]]]:
    """Offset and dtype of the fields that hold data."""
    fields = (dtype.fields[name] for name in dtype.names) if dtype.fields and dtype.names else ()
    return [(field[1], field[0]) for field in fields if field[0].itemsize]


def _fields_overlap(dtype: np.dtype[Any]) -> bool:
    """Whether the structure is a union: then its bytes travel, because no byte may be received twice."""
    end = 0
    for offset, field in sorted(_fields(dtype), key=lambda placed: placed[0]):
        if offset < end:
            return True
        end = offset + field.itemsize
    return False


def _structure(dtype: np.dtype[Any]) -> MPI.Datatype:
    fields = _fields(dtype)
    offsets, types = [offset for offset, _ in fields], [element_datatype(field) for _, field in fields]
    tight = MPI.Datatype.Create_struct([1] * len(fields), offsets, types)
    padded = tight.Create_resized(0, dtype.itemsize).Commit()
    tight.Free()
    return padded
