"""A persistent MPI_Allgather of host memory that is started twice."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

from support.p2p import has


def second_allgather() -> list[int] | None:
    """What the second start gathers: 10 of rank 0, 11 of rank 1, ...; None where the library has no such call."""
    if not has("Allgather_init"):
        return None
    comm = MPI.COMM_WORLD
    mine, all_of_them = np.empty(1, "i"), np.empty(comm.size, "i")
    request = comm.Allgather_init(mine, all_of_them)
    for first in (0, 10):
        mine[:], all_of_them[:] = first + comm.rank, -1
        request.Start()
        request.Wait()
    request.Free()
    return [int(one) for one in all_of_them]
