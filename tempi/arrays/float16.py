"""Datatypes and operations of 16-bit floats, which the MPI standard does not have: float16 and bfloat16.

For the MPI library they are a datatype of two bytes and a user-defined operation. TEMPI recognises them, and
reduces them by a GPU kernel.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NoReturn

import numpy as np
from mpi4py import MPI

from tempi import _native
from tempi._arguments import wrong
from tempi._library import enabled, library
from tempi.arrays.dlpack import BFLOAT16_DTYPE
from tempi.handles import number_of

FLOAT16, BFLOAT16 = "float16", "bfloat16"
OPERATIONS = {"SUM": MPI.SUM, "PROD": MPI.PROD, "MIN": MPI.MIN, "MAX": MPI.MAX}


_made: dict[str, MPI.Datatype] = {}  # by `datatype_named`


class _Datatype(MPI.Datatype):
    """Not to be freed: TEMPI knows the handle, which the MPI library might use again.

    Datatypes that are made of this one are of its class, too.
    """

    def _float_name(self) -> str | None:
        """`FLOAT16` or `BFLOAT16`; None for a datatype that is made of them."""
        return next((name for name, made in _made.items() if self == made), None)

    def Free(self) -> None:
        """Refuse, as for MPI's own datatypes."""
        if self._float_name() is not None:
            raise MPI.Exception(MPI.ERR_TYPE)
        super().Free()

    def __repr__(self) -> str:
        name = self._float_name()
        return super().__repr__() if name is None else f"<tempi.datatype of {name}, 2 bytes>"


class _Op(MPI.Op):
    """Not to be freed: TEMPI knows the handle, which the MPI library might use again."""

    name: str  # of the operation of MPI

    def Free(self) -> NoReturn:
        """Refuse, as for MPI's own operations."""
        raise MPI.Exception(MPI.ERR_OP)

    def __repr__(self) -> str:
        return f"<tempi.operation of MPI.{self.name}, for {FLOAT16} and {BFLOAT16}>"


def name_of(dtype: np.dtype[Any]) -> str | None:
    """`FLOAT16`, `BFLOAT16` (also of the package ml_dtypes) or None: it is another type."""
    if dtype == np.float16 and dtype.isnative:
        return FLOAT16
    return BFLOAT16 if dtype == BFLOAT16_DTYPE or dtype.name == BFLOAT16 else None


@cache
def datatype_named(name: str) -> MPI.Datatype:
    """The MPI datatype of `FLOAT16` or `BFLOAT16`: committed, shared, not to be freed."""
    made = _made[name] = _Datatype(MPI.BYTE.Create_contiguous(2).Commit())
    made.Set_name(f"tempi {name}")
    if enabled():
        library().note_float16_type(name, number_of(made))
    return made


def operation(op: MPI.Op) -> MPI.Op:
    """Return the operation of 16-bit floats that corresponds to an operation of MPI.

    MPI's own operations do not support 16-bit floats. Pass the result to reductions of float16 or bfloat16
    (`tempi.datatype`). Each step of a reduction is computed in float32 and rounded to 16 bits. Among the
    GPUs of a node, a kernel computes the reduction in the order of the ranks. Elsewhere, the CPU computes it.

    Parameters
    ----------
    op : mpi4py.MPI.Op
        ``MPI.SUM``, ``MPI.PROD``, ``MPI.MIN`` or ``MPI.MAX``.

    Returns
    -------
    mpi4py.MPI.Op
        A commutative operation. It is the same object for the same `op`, and cannot be freed.

    Raises
    ------
    TypeError
        If `op` is not an operation of mpi4py.
    ValueError
        If `op` is another operation.

    Examples
    --------
    >>> half = tempi.datatype("float16")
    >>> comm.Allreduce([a, half], [b, half], op=tempi.operation(MPI.SUM))
    """
    if not isinstance(op, MPI.Op):
        raise wrong("op", op, "MPI.SUM, MPI.PROD, MPI.MIN or MPI.MAX of mpi4py")
    for name, known in OPERATIONS.items():
        if op == known:
            return _operation_named(name)
    raise ValueError("op is none of MPI.SUM, MPI.PROD, MPI.MIN and MPI.MAX; 16-bit floats have only these")


@cache
def _operation_named(name: str) -> MPI.Op:
    def reduce(source: Any, target: Any, datatype: MPI.Datatype) -> None:
        for scalar in (FLOAT16, BFLOAT16):
            if datatype == datatype_named(scalar):
                _native.reduce_float16(scalar, name, source, target)
                return
        raise TypeError(
            "tempi.operation reduces elements of tempi.datatype of float16 or bfloat16, next to each other"
        )

    made = _Op(MPI.Op.Create(reduce, commute=True))
    made.name = name
    if enabled():
        library().note_float16_operation(name, number_of(made))
    return made
