"""MPI_Alltoallw on host memory whose own block has another layout at either end."""

from __future__ import annotations

import numpy as np
from by_messages_worker import DEVICE, filled, ints, rows_of
from mpi4py import MPI

from support import equal, outcomes


def transposed(n: int) -> dict[str, int]:
    """A matrix of n x n blocks, each turned on its way: rows of the sender are columns of the receiver."""
    comm = MPI.COMM_WORLD.Dup()
    edge = n * comm.size
    sent = np.arange(edge * n, dtype="f8").reshape(edge, n) + 1000 * comm.rank
    into = np.full((n, edge), -1.0)
    column = MPI.DOUBLE.Create_vector(n, 1, edge)
    spread = column.Create_resized(0, 8)
    columns = spread.Create_contiguous(n).Commit()
    rows = MPI.DOUBLE.Create_contiguous(n * n).Commit()
    ones = [1] * comm.size
    at = [8 * n * n * rank for rank in range(comm.size)], [8 * n * rank for rank in range(comm.size)]
    before = outcomes.rows()
    for _ in range(3):
        comm.Alltoallw([sent, (ones, at[0]), [rows] * comm.size], [into, (ones, at[1]), [columns] * comm.size])
    counted = rows_of("MPI_Alltoallw", before)
    for rank in range(comm.size):
        block = np.arange(edge * n, dtype="f8").reshape(edge, n)[n * comm.rank : n * (comm.rank + 1)] + 1000 * rank
        equal.check(into[:, n * rank : n * (rank + 1)], block.T)
    for one in (column, spread, columns, rows):
        one.Free()
    comm.Free()
    return counted


def irregular(n: int) -> dict[str, int]:
    """Blocks of n values at places of no order, in reverse; those of GPU memory, or of the host."""
    comm = MPI.COMM_WORLD.Dup()
    places = np.cumsum(np.arange(n) % 3 + 1)
    width = int(places[-1]) + 1
    sent = np.arange(width * comm.size, dtype="i4") + 10_000 * comm.rank
    into = np.full(n * comm.size, -1, "i4")
    scattered = MPI.INT.Create_indexed_block(1, places).Commit()
    ones, ints = [1] * comm.size, [MPI.INT] * comm.size
    to = [4 * width * rank for rank in range(comm.size)], [4 * n * rank for rank in range(comm.size)]
    before = outcomes.rows()
    comm.Alltoallw([sent, (ones, to[0]), [scattered] * comm.size], [into, ([n] * comm.size, to[1]), ints])
    counted = rows_of("MPI_Alltoallw", before)
    for rank in range(comm.size):
        expected = places + width * comm.rank + 10_000 * rank
        equal.check(into[n * rank : n * (rank + 1)], expected)
    scattered.Free()
    comm.Free()
    return counted


def others_on_the_gpu(n: int) -> dict[str, int]:
    """The own block lies in host memory at both ends, all others in GPU memory: MPI_BOTTOM and addresses."""
    comm = MPI.COMM_WORLD.Dup()
    every = MPI.INT.Create_vector(n, 1, 2).Commit()
    out, into = {}, {}
    for rank in range(comm.size):
        kind = "host" if rank == comm.rank else DEVICE
        out[rank] = filled(np.arange(2 * n) + 1000 * comm.rank + 100 * rank, kind)
        into[rank] = filled(np.full(2 * n, -1), kind)
    specs = []
    for side in (out, into):
        absolute = [every.Create_hindexed([1], [side[rank].address]).Commit() for rank in range(comm.size)]
        specs.append([MPI.BOTTOM, ([1] * comm.size, [0] * comm.size), absolute])
    before = outcomes.rows()
    comm.Alltoallw(*specs)
    counted = rows_of("MPI_Alltoallw", before)
    for rank in range(comm.size):
        equal.check(ints(into[rank])[::2], (np.arange(2 * n) + 1000 * rank + 100 * comm.rank)[::2])
    for one in (every, *specs[0][2], *specs[1][2]):
        one.Free()
    comm.Free()
    return counted


def many_layouts(n: int) -> None:
    """More pairs of layouts than are kept."""
    for edge in range(2, n):
        transposed(edge)


def of_different_sizes() -> str:
    """The library says of the own block what it says without us; the others arrive."""
    comm = MPI.COMM_WORLD.Dup()
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    sent, into = np.arange(4 * comm.size, dtype="i4"), np.full(4 * comm.size, -1, "i4")
    counts = [4] * comm.size
    shorter = [2 if rank == comm.rank else 4 for rank in range(comm.size)]
    at, types = [16 * rank for rank in range(comm.size)], [MPI.INT] * comm.size
    try:
        comm.Alltoallw([sent, (counts, at), types], [into, (shorter, at), types])
    except MPI.Exception as error:
        return str(error.Get_error_class() == MPI.ERR_TRUNCATE)
    assert (into[4 * comm.rank + 2 : 4 * comm.rank + 4] == -1).all()
    return "no error"
