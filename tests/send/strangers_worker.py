"""Ranks of test_direct_ranks.py: peers that pack, and doors of shared segments that another process holds."""

from __future__ import annotations

import os
import time

import ways
from exchange_worker import SENDER
from mpi4py import MPI

from support import constructors as c
from support import outcomes, shared_segments
from support.building import Builder
from support.direct_counts import direct_since
from support.messages import End, Image, Side
from support.p2p import PLAIN, Requests


def mixed(spec: c.Spec, n: int) -> tuple[int, float]:
    """Messages both ways, of which a rank without the shim has its ends in host memory: (direct, seconds)."""
    comm = MPI.COMM_WORLD
    kind, before = "device" if outcomes.in_the_way() else "host", outcomes.rows() if outcomes.in_the_way() else None
    with Builder() as builder:
        Side(End(kind, spec, 1, 0), builder)  # the first use of a GPU may take seconds
        comm.Barrier()
        start = time.monotonic()
        for k in range(n):
            out, into, requests = End(kind, spec, 1, k), Side(End(kind, spec, 1, 50 + k), builder), Requests(2)
            PLAIN("Irecv", into.piece, 1 - comm.rank, k, comm, requests.at(0))
            if k % 2:
                comm.Barrier()
            sent = Side(out, builder)
            PLAIN("Isend", sent.piece, 1 - comm.rank, k, comm, requests.at(1))
            ways.complete(PLAIN, "Waitall", requests)
            into.check_received(Image(out, builder).payload())
    return 0 if before is None else direct_since(before), time.monotonic() - start


_kept: list[object] = []


def pretend(how: str) -> None:
    """The rank without the shim opens a door, behind which there is no shared segment."""
    comm = MPI.COMM_WORLD
    size = 0
    if comm.rank == SENDER and (file := shared_segments.file_of(os.getpid())):
        size = file.stat().st_size
    size = comm.bcast(size, SENDER)
    if comm.rank == SENDER:
        assert size > 0, "this rank has no shared segment"
    else:
        first = {"another version": b"\x63" + bytes(3) + size.to_bytes(4, "little") + b"\1\0\0\0\1"}.get(how, b"")
        if how != "no file":
            _kept.append(shared_segments.make_file(size + (4096 if how == "another size" else 0), first))
        _kept.append(shared_segments.listen(shared_segments.job_name(), comm.rank))
    comm.Barrier()


def who() -> tuple[int, str]:
    return os.getpid(), shared_segments.job_name()
