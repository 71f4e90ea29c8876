"""Rows of direct messages: their launches, and the bytes of rows with other counts."""

from __future__ import annotations

import time

import ways
from mpi4py import MPI

from support import outcomes
from support.building import Builder
from support.direct_counts import DIRECT, bounced_since
from support.messages import End, Image, Side
from support.p2p import PLAIN, Requests
from support.typemap import Spec


def launches(ends: list[tuple[End, End]]) -> tuple[int, int]:
    """Kernel launches and direct messages of persistent requests to the next rank that one Startall starts, the second
    time."""
    comm = MPI.COMM_WORLD.Dup()
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    with Builder() as builder:
        sides = [(Side(out, builder), Side(into, builder)) for out, into in ends]
        requests = Requests(2 * len(ends))
        for k, (out, into) in enumerate(sides):
            PLAIN("Send_init", out.piece, right, k, comm, requests.at(2 * k))
            PLAIN("Recv_init", into.piece, left, k, comm, requests.at(2 * k + 1))
        for _ in range(2):
            before = outcomes.rows()
            PLAIN("Startall", 2 * len(ends), requests.handles)
            ways.complete(PLAIN, "Waitall", requests)
            found = outcomes.rows() - before
        for out, into in sides:
            into.check_received(out.payload())
        ways.free(PLAIN, requests)
    comm.Free()
    return found[outcomes.LAUNCHES], found[DIRECT]


def send_row(sides: list[tuple[Side, Side]], first: int, requests: Requests, comm: MPI.Comm) -> None:
    """From a first message on."""
    for k, (out, _) in enumerate(sides[first:]):
        PLAIN("Isend", out.piece, 0, first + k, comm, requests.at(len(sides) - first + k))


def launches_of_rows(ends: list[tuple[End, End]], firsts: tuple[int, ...]) -> list[tuple[int, int]]:
    """Kernel launches of rows of nonblocking sends, from a first one on: before its MPI_Waitall, and all."""
    comm = MPI.COMM_SELF.Dup()
    found = []
    with Builder() as builder:
        sides = [(Side(out, builder), Side(into, builder)) for out, into in ends]
        for first in firsts:
            n = len(sides) - first
            requests = Requests(2 * n)
            for k, (_, into) in enumerate(sides[first:]):
                PLAIN("Irecv", into.piece, 0, first + k, comm, requests.at(k))
            before = outcomes.rows()
            send_row(sides, first, requests, comm)
            early = outcomes.rows() - before
            ways.complete(PLAIN, "Waitall", requests)
            found.append((early[outcomes.LAUNCHES], (outcomes.rows() - before)[outcomes.LAUNCHES]))
        for out, into in sides:
            into.check_received(out.payload())
    comm.Free()
    return found


def rows_with_counts(spec: Spec, counts: tuple[int, ...]) -> int:
    """Rows of two messages each way between the same buffers, with a count each; those of this rank that bounced."""
    comm, before, most = MPI.COMM_WORLD.Dup(), outcomes.rows(), max(counts)
    peer = 1 - comm.rank
    with Builder() as builder:
        outs = [Side(End("device", spec, most, 10 * comm.rank + k), builder) for k in range(2)]
        sent = [Image(End("device", spec, most, 10 * peer + k), builder).payload() for k in range(2)]
        intos = [Side(End("device", spec, most, 50 + k), builder) for k in range(2)]
        for count in counts:
            requests = Requests(4)
            for k, into in enumerate(intos):
                PLAIN("Irecv", into.piece._replace(count=count), peer, k, comm, requests.at(k))
            comm.Barrier()
            for k, out in enumerate(outs):
                PLAIN("Isend", out.piece._replace(count=count), peer, k, comm, requests.at(2 + k))
            ways.complete(PLAIN, "Waitall", requests)
            for into, payload in zip(intos, sent, strict=True):
                into.check_received(payload[: len(payload) // most * count])
                into.refill(7 * count)
    comm.Free()
    return bounced_since(before)


def launches_of_equal_rows(ends: list[tuple[End, End]], n_rows: int, computes: float) -> list[int]:
    """Kernel launches of each; the program computes for so many seconds before its MPI_Waitall."""
    comm = MPI.COMM_SELF.Dup()
    found = []
    with Builder() as builder:
        sides = [(Side(out, builder), Side(into, builder)) for out, into in ends]
        for _ in range(n_rows):
            requests, before = Requests(2 * len(sides)), outcomes.rows()
            for k, (_, into) in enumerate(sides):
                PLAIN("Irecv", into.piece, 0, k, comm, requests.at(k))
            send_row(sides, 0, requests, comm)
            if computes:
                time.sleep(computes)
            ways.complete(PLAIN, "Waitall", requests)
            found.append((outcomes.rows() - before)[outcomes.LAUNCHES])
        for out, into in sides:
            into.check_received(out.payload())
    comm.Free()
    return found
