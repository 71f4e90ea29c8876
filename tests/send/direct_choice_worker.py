"""Ranks of test_direct_choice.py: one ring of messages, and what became of them."""

from __future__ import annotations

import exchange_worker
from mpi4py import MPI

from support import outcomes
from support.building import Builder
from support.direct_counts import direct_since
from support.messages import End, Side
from support.p2p import PLAIN

TAG = 3


def ring(out: End, into: End, n: int) -> dict[str, int]:
    """Counts of published receives, and of messages written into them. Receives are posted first; bytes are checked."""
    before = outcomes.rows()
    exchange_worker.ring(out, into, n)
    return {outcome: calls for (name, outcome), calls in (outcomes.rows() - before).items() if name == "direct"}


def blocking(out: End, into: End) -> int:
    """Both ranks call MPI_Sendrecv. The number that went direct."""
    comm, status = MPI.COMM_WORLD, MPI.Status()
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    before = outcomes.rows()
    with Builder() as builder:
        sent, received = Side(out, builder), Side(into.later(100), builder)
        PLAIN("Sendrecv", sent.piece, right, TAG, received.piece, left, TAG, comm, status)
        received.check_received(Side(out, builder).payload())
    comm.Barrier()
    return direct_since(before)
