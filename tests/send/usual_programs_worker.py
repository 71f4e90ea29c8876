"""Ranks of test_direct_ranks.py: rings of messages as programs make them, and an answer. They end, with the bytes."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator

import ways
from exchange_worker import RECEIVER, SENDER
from mpi4py import MPI

from support import outcomes
from support.building import Builder
from support.direct_counts import TIMED_OUT
from support.messages import End, Image, Side
from support.p2p import PLAIN, Requests

TAG = 1


def rounds(end: End, n: int) -> Iterator[tuple[Side, Side, int, int]]:
    """A message to the right and one from the left, `n` times: the ends and the ranks. The bytes are checked then."""
    comm = MPI.COMM_WORLD
    with Builder() as builder:
        for k in range(n):
            out, into = Side(end.later(k), builder), Side(end.later(100 + k), builder)
            yield out, into, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
            into.check_received(out.payload())


def ring_of_sends(end: End, n: int) -> None:
    """MPI_Send, of what libraries send eagerly, before MPI_Recv on all ranks."""
    comm = MPI.COMM_WORLD
    for out, into, right, left in rounds(end, n):
        PLAIN("Send", out.piece, right, TAG, comm)
        PLAIN("Recv", into.piece, left, TAG, comm, MPI.Status())


def ring_of_sendrecvs(end: End, n: int) -> None:
    for out, into, right, left in rounds(end, n):
        PLAIN("Sendrecv", out.piece, right, TAG, into.piece, left, TAG, MPI.COMM_WORLD, MPI.Status())


def barrier_between(end: End, n: int) -> None:
    """MPI_Isend, MPI_Barrier, MPI_Irecv."""
    comm = MPI.COMM_WORLD
    for out, into, right, left in rounds(end, n):
        requests = Requests(2)
        PLAIN("Isend", out.piece, right, TAG, comm, requests.at(0))
        comm.Barrier()
        PLAIN("Irecv", into.piece, left, TAG, comm, requests.at(1))
        ways.complete(PLAIN, "Waitall", requests)


def probed(end: End, n: int, way: str) -> None:
    comm = MPI.COMM_WORLD
    for out, into, right, left in rounds(end, n):
        PLAIN("Isend", out.piece, right, TAG, comm, (sent := Requests()).at(0))
        ways.receive(PLAIN, way, into.piece, ways.Place(comm, left, TAG), MPI.Status())
        ways.complete(PLAIN, "Wait", sent)


def sent_to_a_prober(end: End, n: int, send: str) -> int:
    """Messages to a rank that probes before it receives: how many waited for a published receive in vain."""
    comm = MPI.COMM_WORLD
    comm.Iprobe(MPI.PROC_NULL)
    comm.Barrier()
    before = outcomes.rows()
    with Builder() as builder:
        for k in range(n):
            side = Side(end.later(k), builder)
            if comm.rank == SENDER:
                request = ways.send(PLAIN, send, side.piece, ways.Place(comm, RECEIVER, TAG))
                if request:
                    ways.complete(PLAIN, "Wait", request)
            else:
                into = Side(end.later(100 + k), builder)
                ways.receive(PLAIN, "Recv probed", into.piece, ways.Place(comm, SENDER, TAG), MPI.Status())
                into.check_received(side.payload())
    return (outcomes.rows() - before)[TIMED_OUT]


def polled(end: End, n: int) -> None:
    """Nothing but MPI_Test; the receive comes late."""
    comm = MPI.COMM_WORLD
    for out, into, right, left in rounds(end, n):
        requests, flag = Requests(2), ctypes.c_int(0)
        PLAIN("Isend", out.piece, right, TAG, comm, requests.at(0))
        for _ in range(50):
            PLAIN("Test", requests.at(0), ctypes.byref(flag), MPI.Status())
        PLAIN("Irecv", into.piece, left, TAG, comm, requests.at(1))
        ways.complete(PLAIN, "Testall", requests)


def answered(end: End, n: int) -> None:
    """An unmatched send, and a receive of the answer, which its receiver sends when it has it."""
    comm = MPI.COMM_WORLD
    with Builder() as builder:
        for k in range(n):
            side, answer = Side(end.later(k), builder), bytearray(1)
            if comm.rank == SENDER:
                PLAIN("Isend", side.piece, RECEIVER, TAG, comm, (sent := Requests()).at(0))
                comm.Recv(answer, RECEIVER, 2)
                ways.complete(PLAIN, "Wait", sent)
            elif comm.rank == RECEIVER:
                into = Side(end.later(100 + k), builder)
                PLAIN("Recv", into.piece, SENDER, TAG, comm, MPI.Status())
                comm.Send(answer, SENDER, 2)
                into.check_received(side.payload())


def replaced(end: End, n: int) -> None:
    """MPI_Isendrecv_replace: the peer is first, and may not write what has not been sent yet."""
    comm = MPI.COMM_WORLD
    peer = 1 - comm.rank
    with Builder() as builder:
        for k in range(n):
            mine, others = Side(end.later(2 * k + comm.rank), builder), Image(end.later(2 * k + peer), builder)
            if comm.rank == RECEIVER:
                time.sleep(0.002 * (k % 2))
            PLAIN("Isendrecv_replace", mine.piece, peer, TAG, peer, TAG, comm, (request := Requests()).at(0))
            ways.complete(PLAIN, "Wait", request)
            mine.check_received(others.payload())
