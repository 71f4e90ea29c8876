"""Ranks of test_direct_ranks.py: exchanges between processes, with the number of messages that went direct."""

from __future__ import annotations

import time

import ways
from mpi4py import MPI

from support import outcomes
from support.building import Builder
from support.messages import End, Side
from support.p2p import PLAIN, Requests

DIRECT = ("direct", "taken: straight into the receiver")


def ring(out: End, into: End, n: int, receives_first: bool = True) -> int:
    """Each rank sends `n` messages to the next one. The number that it wrote straight into the receiver's buffers."""
    comm = MPI.COMM_WORLD
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    before = outcomes.rows()
    with Builder() as builder:
        pairs = [(Side(out.later(k), builder), Side(into.later(100 + k), builder)) for k in range(n)]
        requests = Requests(2 * n)
        comm.Barrier()
        for k, (_, received) in enumerate(pairs):
            PLAIN("Irecv", received.piece, left, 5 + k % 2, comm, requests.at(n + k))
        if receives_first:
            comm.Barrier()
        for k, (sent, _) in enumerate(pairs):
            PLAIN("Isend", sent.piece, right, 5 + k % 2, comm, requests.at(k))
        ways.complete(PLAIN, "Waitall", requests)
        comm.Barrier()
        for k, (_, received) in enumerate(pairs):
            received.check_received(Side(out.later(k), builder).payload())
    print(comm.rank, {k: v for k, v in (outcomes.rows() - before).items() if k[0] == "direct"}, file=__import__("sys").stderr)
    return (outcomes.rows() - before)[DIRECT]


def posted_between_two_sends(out: End, into: End) -> None:
    """Rank 1 posts both receives between two sends of rank 0 to it, of one tag. No call of MPI tells the sender."""
    comm = MPI.COMM_WORLD
    with Builder() as builder:
        requests = Requests(2)
        sides = [Side((into if comm.rank else out).later(k), builder) for k in range(2)]
        comm.Barrier()
        if comm.rank == 1:
            time.sleep(0.3)
        for k, side in enumerate(sides):
            PLAIN("Irecv" if comm.rank else "Isend", side.piece, 1 - comm.rank, 5, comm, requests.at(k))
            if comm.rank == 0:
                time.sleep(0.6)
        ways.complete(PLAIN, "Wait", requests)
        if comm.rank == 1:
            for k, side in enumerate(sides):
                side.check_received(Side(out.later(k), builder).payload())
