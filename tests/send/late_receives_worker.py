"""Ranks of test_late_receives.py: sends whose receives are posted late."""

from __future__ import annotations

import ctypes
import time
from statistics import median
from threading import Thread

import numpy as np
import ways
from exchange_worker import RECEIVER, SENDER
from mpi4py import MPI

from support import outcomes
from support.building import Builder
from support.direct_counts import direct_since
from support.messages import End, Side
from support.p2p import PLAIN, Piece, Requests

CALLS = ("Send", "Ssend", "Sendrecv", "Wait", "Waitall")
TAG, TOKEN = 3, 4
LATE_SECONDS = 0.003


def _send(call: str, piece: Piece, comm: MPI.Intracomm) -> None:
    if not call.startswith("Wait"):
        assert ways.send(PLAIN, call, piece, ways.Place(comm, RECEIVER, TAG)) is None
        return
    PLAIN("Isend", piece, RECEIVER, TAG, comm, (request := Requests()).at(0))
    ways.complete(PLAIN, call, request)


def late(call: str, out: End, into: End, n: int) -> int:
    """`n` messages, each of which its receiver receives a little after its send. The number of direct ones."""
    comm = MPI.COMM_WORLD.Dup()
    before = outcomes.rows()
    with Builder() as builder:
        for k in range(n):
            side = Side((out if comm.rank == SENDER else into).later(k), builder)
            comm.Barrier()
            if comm.rank == SENDER:
                _send(call, side.piece, comm)
            else:
                time.sleep(LATE_SECONDS)
                ways.receive(PLAIN, "Recv", side.piece, ways.Place(comm, SENDER, TAG), MPI.Status())
                side.check_received(Side(out.later(k), builder).payload())
    comm.Free()
    return direct_since(before)


def _token(comm: MPI.Intracomm, sends: bool) -> None:
    token = np.zeros(1, np.int32)
    (comm.Send if sends else comm.Recv)([token, 1, MPI.INT], 1 - comm.rank, TOKEN)


def not_needed(out: End, into: End, n: int) -> float:
    """The receive is posted behind a message that the sender sends after MPI_Waitany. The median of its time."""
    seconds = []
    with Builder() as builder:
        for k in range(n):
            comm = MPI.COMM_WORLD.Dup()  # with match queues of its own
            side, token = Side((out if comm.rank == SENDER else into).later(k), builder), np.zeros(1, np.int32)
            comm.Barrier()
            if comm.rank == SENDER:
                requests = Requests(2)
                PLAIN("Irecv", Piece(token.ctypes.data, 1, MPI.INT), RECEIVER, TOKEN, comm, requests.at(0))
                PLAIN("Isend", side.piece, RECEIVER, TAG, comm, requests.at(1))
                begin = time.perf_counter()
                index = ctypes.c_int(-1)
                PLAIN("Waitany", 2, requests.handles, ctypes.byref(index), MPI.Status())
                seconds.append(time.perf_counter() - begin)
                assert index.value == 0
                _token(comm, sends=True)
                ways.complete(PLAIN, "Waitall", requests)
            else:
                _token(comm, sends=True)
                _token(comm, sends=False)
                ways.receive(PLAIN, "Recv", side.piece, ways.Place(comm, SENDER, TAG), MPI.Status())
                side.check_received(Side(out.later(k), builder).payload())
            comm.Free()
    return median(seconds) if seconds else 0.0


def needed_by_another_thread(out: End, into: End, n: int) -> float:
    """The receive is posted behind a message of another thread than the sender. The median of its time."""
    seconds = []

    def send_token(comm: MPI.Intracomm) -> None:
        time.sleep(LATE_SECONDS)
        begin = time.perf_counter()
        _token(comm, sends=True)
        seconds.append(time.perf_counter() - begin)

    with Builder() as builder:
        for k in range(n):
            comm, of_tokens = MPI.COMM_WORLD.Dup(), MPI.COMM_WORLD.Dup()
            side = Side((out if comm.rank == SENDER else into).later(k), builder)
            comm.Barrier()
            if comm.rank == SENDER:
                other = Thread(target=send_token, args=(of_tokens,))
                other.start()
                _send("Send", side.piece, comm)
                other.join()
            else:
                _token(of_tokens, sends=False)
                ways.receive(PLAIN, "Recv", side.piece, ways.Place(comm, SENDER, TAG), MPI.Status())
                side.check_received(Side(out.later(k), builder).payload())
            comm.Free()
            of_tokens.Free()
    return median(seconds) if seconds else 0.0


def beside_a_wildcard(out: End, into: End) -> float:
    """A receive is posted behind one from any source, which then gets its message. The time of the next send."""
    comm, seconds = MPI.COMM_WORLD.Dup(), 0.0
    with Builder() as builder:
        sides = [Side((out if comm.rank == SENDER else into).later(k), builder) for k in range(2)]
        if comm.rank == SENDER:
            comm.Barrier()
            _send("Send", sides[0].piece, comm)
            _token(comm, sends=False)
            begin = time.perf_counter()
            _send("Send", sides[1].piece, comm)
            seconds = time.perf_counter() - begin
        else:
            first, second = Requests(), Requests()
            PLAIN("Irecv", sides[0].piece, MPI.ANY_SOURCE, TAG, comm, first.at(0))
            PLAIN("Irecv", sides[1].piece, SENDER, TAG, comm, second.at(0))
            comm.Barrier()
            ways.complete(PLAIN, "Wait", first)
            _token(comm, sends=True)
            ways.complete(PLAIN, "Wait", second)
            for k, side in enumerate(sides):
                side.check_received(Side(out.later(k), builder).payload())
    comm.Free()
    return seconds
