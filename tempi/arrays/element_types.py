"""MPI datatypes of single array elements, for every NumPy dtype that holds data and no Python objects.

Numbers in the machine's byte order are MPI's own types; float16 and bfloat16 are types of TEMPI (float16.py).
All else travels as its bytes: strings, numbers in the other byte order (which arrive in that order), long
double, of which MPICH would copy 10 bytes of 16, and the fields of structures, without the padding between
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from mpi4py import MPI

from tempi._arguments import wrong
from tempi.arrays import float16
from tempi.arrays.dlpack import BFLOAT16_DTYPE

# MPI datatypes by numpy.dtype.kind and size. Times and dates are 64-bit integers.
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
}
# Complex numbers as pairs: Open MPI rounds the displacements of complex types down to a multiple of their
# size.
_COMPLEX = {"c8": MPI.FLOAT, "c16": MPI.DOUBLE}


def element_datatype(dtype: np.dtype[Any]) -> MPI.Datatype:
    """The MPI datatype of one array element: committed, as wide as the element, shared and not to be freed.

    Elements at distances that are no multiple of ``dtype.alignment`` need `byte_datatype` instead: Open MPI
    moves wrong bytes where it cuts a message of misaligned numbers into pieces.

    Parameters
    ----------
    dtype : numpy.dtype
        Any kind, nested and padded structures and sub-arrays included.

    Raises
    ------
    TypeError
        If elements hold Python objects: they are addresses, which mean nothing elsewhere.
    """
    return _not_freed(_element, dtype)


def datatype(dtype: Any) -> MPI.Datatype:
    """Return the MPI datatype of one element of an array.

    Parameters
    ----------
    dtype : dtype
        A dtype of NumPy, CuPy, Numba, PyTorch or JAX, its name, or "bfloat16".

    Returns
    -------
    mpi4py.MPI.Datatype
        A committed datatype with the size of the element. It is shared: do not free it. Reductions of float16
        and bfloat16 need an operation of `tempi.operation`.

    Raises
    ------
    TypeError
        If `dtype` is not a dtype, or if elements hold Python objects.

    Examples
    --------
    >>> comm.Allreduce([a, tempi.datatype(a.dtype)], [b, tempi.datatype(b.dtype)])
    """
    return element_datatype(_numpy_dtype(dtype))


def _numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """PyTorch names its types torch.float16, ..."""
    name = str(dtype).removeprefix("torch.")
    if name == float16.BFLOAT16:
        return BFLOAT16_DTYPE
    try:
        if dtype is None:  # for NumPy it is float64
            raise TypeError
        return np.dtype(name if name != str(dtype) else dtype)
    except (TypeError, ValueError):
        expected = "a dtype (that of an array is array.dtype), its name such as 'float64', or 'bfloat16'"
        raise wrong("dtype", dtype, expected) from None


def byte_datatype(dtype: np.dtype[Any]) -> MPI.Datatype:
    """`element_datatype` made of bytes only.

    Raises
    ------
    TypeError
        If elements hold Python objects.
    """
    return _not_freed(_bytes, dtype)


_Make = Callable[[np.dtype[Any]], MPI.Datatype]
_made: dict[tuple[_Make, np.dtype[Any]], MPI.Datatype] = {}


def _not_freed(make: _Make, dtype: np.dtype[Any]) -> MPI.Datatype:
    """The datatype that `make` has made of `dtype`; made anew where the program has freed it."""
    found = _made.get((make, dtype))
    if not found:
        found = _made[make, dtype] = make(dtype)
    return found


def _element(dtype: np.dtype[Any]) -> MPI.Datatype:
    name = f"{dtype.kind}{dtype.itemsize}" if dtype.isnative else "not a number of ours"
    if name in _NUMBERS:
        return _NUMBERS[name]
    if name in _COMPLEX:
        return _COMPLEX[name].Create_contiguous(2).Commit()
    if float_name := float16.name_of(dtype):
        return float16.datatype_named(float_name)
    return byte_datatype(dtype)


def _bytes(dtype: np.dtype[Any]) -> MPI.Datatype:
    if dtype.hasobject:
        raise TypeError(
            f"tempi: elements of dtype {dtype} hold Python objects, which MPI cannot send: convert them to"
            " numbers or strings of a fixed length, or use mpi4py's lower-case send and recv"
        )
    runs = _joined(list(_runs(dtype, 0)))
    tight = MPI.BYTE.Create_hindexed([n_bytes for _, n_bytes in runs], [offset for offset, _ in runs])
    padded = tight.Create_resized(0, dtype.itemsize).Commit()
    tight.Free()
    return padded


_Run = tuple[int, int]  # offset and length in bytes


def _runs(dtype: np.dtype[Any], offset: int) -> Iterator[_Run]:
    """The bytes that hold data in an element at `offset`, in the order of its fields."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        for i in range(prod(shape)):
            yield from _runs(base, offset + i * base.itemsize)
    elif dtype.names is not None and dtype.fields is not None:
        for name in dtype.names:
            yield from _runs(dtype.fields[name][0], offset + dtype.fields[name][1])
    elif dtype.itemsize:
        yield offset, dtype.itemsize


def _joined(runs: list[_Run]) -> list[_Run]:
    """Neighbours as one run; the fields of a union, which overlap, by their offsets and each byte once."""
    ordered = sorted(runs)
    overlap = any(start + n_bytes > following for (start, n_bytes), (following, _) in pairwise(ordered))
    joined: list[_Run] = []
    for offset, n_bytes in ordered if overlap else runs:
        start, end = (joined[-1][0], sum(joined[-1])) if joined else (offset, offset)
        if joined and (end == offset or (overlap and end > offset)):
            joined[-1] = start, max(end, offset + n_bytes) - start
        else:
            joined.append((offset, n_bytes))
    return joined
