"""Reductions of 16-bit floats in host memory."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

import tempi
from support import equal


def host_memory() -> None:
    comm = MPI.COMM_WORLD
    total = comm.size * (comm.size + 1) // 2
    a, b = np.full(1000, comm.rank + 1, "f2"), np.zeros(1000, "f2")
    half = tempi.datatype(a.dtype)
    comm.Allreduce([a, half], [b, half], tempi.operation(MPI.SUM))
    equal.check(b, total)
    comm.Iallreduce(tempi.view(a), tempi.view(b), tempi.operation(MPI.MAX)).Wait()
    equal.check(b, comm.size)
    bits = (np.full(7, comm.rank + 1, "f4").view("u4") >> 16).astype("u2")
    brain = tempi.datatype("bfloat16")
    comm.Allreduce(MPI.IN_PLACE, [bits, brain], tempi.operation(MPI.PROD))
    equal.check((bits.astype("u4") << 16).view("f4"), np.prod(np.arange(comm.size) + 1))
