"""The ranks of tests/nodes: hosts' names, messages to all others, and the shim's opinion of them."""

from __future__ import annotations

import socket

import ways
from mpi4py import MPI

from support import outcomes, shared_segments
from support.building import Builder
from support.direct_counts import DIRECT
from support.messages import End, Side
from support.p2p import PLAIN, Requests
from tempi._library import library

PUBLISHED = ("direct", "published: a receive that the sender may write into")


def neighbours() -> tuple[list[str], list[int]]:
    """The host of each rank, and the ranks that the shim takes to be on this one."""
    comm = MPI.COMM_WORLD
    here = [rank for rank in range(comm.size) if library().is_on_this_node(rank)]
    return comm.allgather(socket.gethostname()), here


def messages_to_all(out: End, into: End, n: int) -> tuple[int, int]:
    """`n` messages from each rank to each other one, posted first: those that went direct, and those published."""
    comm = MPI.COMM_WORLD
    others = [(other, k) for other in range(comm.size) if other != comm.rank for k in range(n)]
    before = outcomes.rows()
    with Builder() as builder:
        requests = Requests(2 * len(others))
        received = [Side(into.later(100 + i), builder) for i in range(len(others))]
        sent = [Side(out.later(comm.rank), builder) for _ in others]
        for i, (other, k) in enumerate(others):
            PLAIN("Irecv", received[i].piece, other, k, comm, requests.at(i))
        comm.Barrier()
        for i, (other, k) in enumerate(others):
            PLAIN("Isend", sent[i].piece, other, k, comm, requests.at(len(others) + i))
        ways.complete(PLAIN, "Waitall", requests)
        for i, (other, _) in enumerate(others):
            received[i].check_received(Side(out.later(other), builder).payload())
    rows = outcomes.rows() - before
    return rows[DIRECT], rows[PUBLISHED]


def searches(out: End, into: End) -> int:
    """The number of times that the ranks of this host look for those of others, in messages to all."""
    ranks = range(MPI.COMM_WORLD.size)
    here = [rank for rank in ranks if library().is_on_this_node(rank)]
    is_first = MPI.COMM_WORLD.rank == here[0]  # it takes the doors of the others, whose own ones are on their hosts
    far = [rank for rank in ranks if rank not in here and is_first]
    doors = [shared_segments.listen(shared_segments.job_name(), rank) for rank in far]
    messages_to_all(out, into, 3)
    return sum(map(_visits, doors))


def _visits(door: socket.socket) -> int:
    door.setblocking(False)
    n = 0
    while True:
        try:
            door.accept()[0].close()
        except BlockingIOError:
            door.close()
            return n
        n += 1
