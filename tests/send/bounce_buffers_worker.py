"""Ranks of test_bounce_buffers.py: rows of messages from one rank to another, and how each of them went."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import ways
from mpi4py import MPI

from support import memory, outcomes
from support.building import Builder
from support.direct_counts import TIMED_OUT, bounced_since, counts_since
from support.messages import End, Image, Side, check_status
from support.p2p import PLAIN, Requests
from support.typemap import Bytes

SENDER, RECEIVER = 0, 1
Pairs = list[tuple[End, End]]


class Went(NamedTuple):
    """Messages that this rank sent."""

    bounced: int
    direct: int
    declined: int
    fell_back: int


def went_since(before: outcomes.Rows) -> Went:
    return Went(bounced_since(before), *counts_since(before))


def payload_of(end: End, builder: Builder) -> Bytes:
    return Image(end, builder).payload()


def check(side: Side, status: MPI.Status, sent: Bytes, source: int, tag: int) -> None:
    check_status(status, source, tag, len(sent), side)
    side.check_received(sent)


def row(pairs: Pairs, completion: str = "Waitall", recv: str = "Irecv", rounds: int = 1) -> Went:
    """A message of each pair of ends, with a tag of its own; the receives are posted first."""
    comm, before = MPI.COMM_WORLD.Dup(), outcomes.rows()
    with Builder() as builder:
        sides = [Side(pair[comm.rank], builder) for pair in pairs]
        requests = Requests(len(pairs))
        for n in range(rounds):
            for side in sides:
                side.refill(side.end.later(n).seed)
            if comm.rank == RECEIVER:
                post(comm, sides, requests, recv, is_first=n == 0)
                comm.Barrier()
                statuses = ways.complete(PLAIN, completion, requests)
                for k, (side, status, (sent, _)) in enumerate(zip(sides, statuses, pairs, strict=True)):
                    check(side, status, payload_of(sent.later(n), builder), SENDER, k)
            else:
                comm.Barrier()
                send(comm, sides)
        ways.free(PLAIN, requests)
    comm.Free()
    return went_since(before)


def row_behind(first: tuple[End, End], pairs: Pairs) -> Went:
    """A row behind a message whose communicator and buffers are there still."""
    comm = MPI.COMM_WORLD
    with Builder() as builder:
        side, requests = Side(first[comm.rank], builder), Requests(1)
        if comm.rank == RECEIVER:
            post(comm, [side], requests, "Irecv", True)
            [status] = ways.complete(PLAIN, "Wait", requests)
            check(side, status, payload_of(first[SENDER], builder), SENDER, 0)
        else:
            send(comm, [side])
        return row(pairs)


class Packing(threading.Thread):
    """Packs GPU memory while it runs: the fake device works on all that is queued only while somebody waits for it."""

    def __init__(self, end: End) -> None:
        import tempi  # noqa: F401 -- not first in two threads at a time: one of them may see half of the package

        super().__init__()
        self._ends, self._end = threading.Event(), end

    def run(self) -> None:
        with Builder() as builder:
            side = Side(self._end, builder)
            packed = bytearray(side.size)
            there = MPI.buffer.fromaddress(side.piece.address, 1)
            while not self._ends.is_set():
                side.datatype.Pack([there, side.end.count, side.datatype], packed, 0, MPI.COMM_SELF)
                assert packed == side.payload().tobytes()

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self.join()


def row_beside_packing(pairs: Pairs, small: End) -> Went:
    if MPI.COMM_WORLD.rank == SENDER:
        return row(pairs)
    with Packing(small):
        return row(pairs)


def post(comm: MPI.Comm, sides: list[Side], requests: Requests, recv: str, is_first: bool) -> None:
    if recv == "Irecv" or is_first:
        for k, side in enumerate(sides):
            PLAIN(recv, side.piece, SENDER, k, comm, requests.at(k))
    if recv == "Recv_init":
        ways.again(PLAIN, requests, together=True)


def send(comm: MPI.Comm, sides: list[Side]) -> None:
    requests = Requests(len(sides))
    for k, side in enumerate(sides):
        PLAIN("Isend", side.piece, RECEIVER, k, comm, requests.at(k))
    ways.complete(PLAIN, "Waitall", requests)
    for side in sides:
        side.check_untouched()


def exchange(out: End, into: End) -> Went:
    """MPI_Sendrecv between two ranks. Rank 0 has memory of the kind of `out`, rank 1 of that of `into`."""
    comm, before = MPI.COMM_WORLD.Dup(), outcomes.rows()
    peer = 1 - comm.rank
    with Builder() as builder:
        kind = (out, into)[comm.rank].kind
        sent, received = (Side(replace(end.later(comm.rank), kind=kind), builder) for end in (out, into))
        status = MPI.Status()
        PLAIN("Sendrecv", sent.piece, peer, 3, received.piece, peer, 3, comm, status)
        check(received, status, payload_of(out.later(peer), builder), peer, 3)
    comm.Free()
    return went_since(before)


def truncated(out: End, into: End) -> tuple[int, Went]:
    """A message that is longer than its receive: the class of the error."""
    comm, before, code = MPI.COMM_WORLD.Dup(), outcomes.rows(), 0
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    with Builder() as builder:
        side, requests = Side((out, into)[comm.rank], builder), Requests()
        if comm.rank == RECEIVER:
            PLAIN("Irecv", side.piece, SENDER, 4, comm, requests.at(0))
            comm.Barrier()
            try:
                ways.complete(PLAIN, "Wait", requests)
            except MPI.Exception as error:
                code = error.Get_error_class()
        else:
            comm.Barrier()
            PLAIN("Isend", side.piece, RECEIVER, 4, comm, requests.at(0))
            ways.complete(PLAIN, "Wait", requests)
    comm.Free()
    return code, went_since(before)


def freed(pairs: Pairs) -> Went:
    """The receives are freed while they are under way."""
    comm, before = MPI.COMM_WORLD.Dup(), outcomes.rows()
    with Builder() as builder:
        sides, requests = [Side(pair[comm.rank], builder) for pair in pairs], Requests(len(pairs))
        if comm.rank == RECEIVER:
            post(comm, sides, requests, "Irecv", True)
            ways.free(PLAIN, requests)
        comm.Barrier()
        if comm.rank == SENDER:
            send(comm, sides)
        comm.Barrier()
        if comm.rank == RECEIVER:
            for side, (sent, _) in zip(sides, pairs, strict=True):
                expected = side.after(payload_of(sent, builder))
                ways.poll(lambda flag, side=side, expected=expected: _look(flag, side, expected, comm))
    comm.Free()
    return went_since(before)


def _look(flag: Any, side: Side, expected: Bytes, comm: MPI.Comm) -> None:
    comm.Iprobe(SENDER, 99)  # a call of MPI, by which freed receives end
    flag._obj.value = int((side.buffer.read() == expected).all())


def cancelled_beside(out: End, into: End, n: int) -> Went:
    """While one thread waits for a message into a bounce buffer, a second one cancels a receive, and looks at all."""
    before = outcomes.rows()
    for k in range(n):  # a cancel closes the communicators that there are
        comm, other = MPI.COMM_WORLD.Dup(), MPI.COMM_WORLD.Dup()
        with Builder() as builder:
            side, requests = Side((out, into)[comm.rank].later(k), builder), Requests(1)
            if comm.rank == SENDER:
                comm.Barrier()
                send(comm, [side])
            else:
                post(comm, [side], requests, "Irecv", True)
                never = other.Irecv([bytearray(8), MPI.BYTE], SENDER, 5)
                thread = threading.Timer(0.001 * (k % 12), never.Cancel)
                comm.Barrier()
                thread.start()
                [status] = ways.complete(PLAIN, "Wait", requests)
                thread.join()
                never.Wait()
                check(side, status, payload_of(out.later(k), builder), SENDER, 0)
        comm.Barrier()
        other.Free()
        comm.Free()
    return went_since(before)


def bounced() -> int:
    return bounced_since(outcomes.Rows())


def timeouts_behind_unpublished() -> int:
    """Sends of GPU memory into host memory, the last of which is received behind a message that is sent after it."""
    comm, before, n = MPI.COMM_WORLD.Dup(), outcomes.rows(), 5
    column = MPI.INT.Create_vector(16, 1, 2).Commit()
    numbers = np.arange(32, dtype="i")
    on_gpu = memory.at_hand("device", numbers.view("u1"))
    sent = [MPI.buffer.fromaddress(on_gpu.address, numbers.nbytes), 1, column]
    into, token = np.zeros(32, "i"), np.zeros(1, "i")
    for _ in range(n - 1):
        if comm.rank == SENDER:
            comm.Send(sent, RECEIVER, 1)
        else:
            comm.Recv([into, 1, column], SENDER, 1)
        comm.Barrier()
    if comm.rank == SENDER:
        comm.Send(sent, RECEIVER, 1)
        comm.Send(token, RECEIVER, 2)
    else:
        comm.Recv(token, SENDER, 2)
        comm.Recv([into, 1, column], SENDER, 1)
        assert (into[::2] == numbers[::2]).all()
    column.Free()
    comm.Free()
    return (outcomes.rows() - before)[TIMED_OUT]
