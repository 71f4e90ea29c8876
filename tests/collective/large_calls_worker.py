"""Large collective calls of GPU memory between small ones of host memory: each rank checks its bytes."""

from __future__ import annotations

import numpy as np
from by_messages_worker import DEVICE, filled, ints, rows_of, spec
from mpi4py import MPI

from support import equal, outcomes


def _uniform_call(comm: MPI.Comm, function: str, n: int, kind: str, turn: int) -> None:
    """A call in which each rank, or the root, gets blocks of n ints."""
    own = np.arange(n * comm.size) + 1000 * comm.rank + turn
    if function == "Bcast":
        buffer = filled(own[:n], kind)
        comm.Bcast(spec(buffer, n, MPI.INT), 0)
        equal.check(ints(buffer), np.arange(n) + turn)
        return
    if function in ("Scatter", "Gather"):
        _uniform_call_in_place(comm, function, n, kind, turn)
        return
    out, into = filled(own, kind), filled(np.full(n * comm.size, -1), kind)
    getattr(comm, function)(spec(out, n, MPI.INT), spec(into, n, MPI.INT))
    first = n * comm.rank if function == "Alltoall" else 0
    expected = [np.arange(first, first + n) + 1000 * peer + turn for peer in range(comm.size)]
    equal.check(ints(into), np.concatenate(expected))


def _uniform_call_in_place(comm: MPI.Comm, function: str, n: int, kind: str, turn: int) -> None:
    """The root's own block stays where it is."""
    of_ranks = np.arange(n * comm.size) + turn
    is_root, own = comm.rank == 0, of_ranks[n * comm.rank : n * (comm.rank + 1)]
    of_others = np.where(np.arange(n * comm.size) < n, of_ranks, -1)
    blocks = filled(of_ranks if function == "Scatter" else of_others, kind)
    block = filled(own if function == "Gather" else np.full(n, -1), kind)
    at_root, here = spec(blocks, n, MPI.INT), MPI.IN_PLACE if is_root else spec(block, n, MPI.INT)
    if function == "Scatter":
        comm.Scatter(at_root, here, 0)
    else:
        comm.Gather(here, at_root, 0)
    if function == "Scatter" and not is_root:
        equal.check(ints(block), own)
    if is_root:
        equal.check(ints(blocks), of_ranks)


def large_calls_between(function: str, rounds: int) -> dict[str, int]:
    """Large calls of GPU memory between small ones of host memory."""
    comm = MPI.COMM_WORLD.Dup()
    before = outcomes.rows()
    for turn in range(rounds):
        for _ in range(3):
            _uniform_call(comm, function, 1, "host", turn)
        _uniform_call(comm, function, 20_000, DEVICE, turn)
    counted = rows_of(f"MPI_{function}", before)
    comm.Free()
    return counted
