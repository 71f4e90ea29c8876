"""Ranks of test_direct_ranks.py: exchanges between processes, with the number of messages that went direct."""

from __future__ import annotations

import time

import ways
from mpi4py import MPI

from support import constructors as c
from support import outcomes
from support.building import Builder
from support.direct_counts import Counts, counts_since, direct_since
from support.messages import End, Image, Side, check_status
from support.p2p import PLAIN, Requests

SENDER, RECEIVER = 0, 1


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
    return direct_since(before)


def posted_between_two_sends(out: End, into: End, sent: tuple[int, int], received: int) -> None:
    """Rank 1 posts both receives between two sends of rank 0 to it, of these tags. No call of MPI tells the sender."""
    comm = MPI.COMM_WORLD.Dup()
    with Builder() as builder:
        requests = Requests(2)
        sides = [Side((into if comm.rank else out).later(k), builder) for k in range(2)]
        comm.Barrier()
        if comm.rank == 1:
            time.sleep(0.3)
        for k, side in enumerate(sides):
            way, tag = ("Irecv", received) if comm.rank else ("Isend", sent[k])
            PLAIN(way, side.piece, 1 - comm.rank, tag, comm, requests.at(k))
            if comm.rank == 0:
                time.sleep(0.6)
        statuses = ways.complete(PLAIN, "Wait", requests)
        if comm.rank == 1:
            for k, side in enumerate(sides):
                assert statuses[k].Get_tag() == sent[k]
                side.check_received(Side(out.later(k), builder).payload())
    comm.Free()


def rows_of_messages(
    out: End, into: End, tags: list[int], at_once: int, received: list[int] | None = None, recv: str = "Irecv"
) -> Counts:
    """One message for each tag, `at_once` receives being posted before their sends, of the same tags or those given."""
    comm = MPI.COMM_WORLD.Dup()
    before = outcomes.rows()
    with Builder() as builder:
        for first in range(0, len(tags), at_once):
            row = (received if received and comm.rank == RECEIVER else tags)[first : first + at_once]
            end = out if comm.rank == SENDER else into
            sides, requests = [Side(end.later(first + k), builder) for k in range(len(row))], Requests(len(row))
            if comm.rank == SENDER:
                comm.Barrier()
            for k, (side, tag) in enumerate(zip(sides, row, strict=True)):
                way = "Isend" if comm.rank == SENDER else recv
                PLAIN(way, side.piece, 1 - comm.rank, tag, comm, requests.at(k))
                if way == "Recv_init":
                    PLAIN("Start", requests.at(k))
            if comm.rank == RECEIVER:
                comm.Barrier()
            statuses = ways.complete(PLAIN, "Waitall", requests)
            if comm.rank == RECEIVER:
                for k, side in enumerate(sides):
                    assert statuses[k].Get_tag() == tags[first + k]
                    side.check_received(Image(out.later(first + k), builder).payload())
            ways.free(PLAIN, requests)
    comm.Free()
    return counts_since(before)


def one_message(
    out: End, into: End, send: str, recv: str, receives_first: bool = False, received: int = 4
) -> tuple[Counts, float]:
    """One message of tag 4, which its receive calls `received`; its status, and the seconds that it takes."""
    comm, start = MPI.COMM_WORLD.Dup(), time.monotonic()
    before = outcomes.rows()
    with Builder() as builder:
        if comm.rank == SENDER:
            if receives_first:
                comm.Barrier()
            side = Side(out, builder)
            request = ways.send(PLAIN, send, side.piece, ways.Place(comm, RECEIVER, 4))
            if request:
                ways.complete(PLAIN, "Wait", request)
                ways.free(PLAIN, request)
            side.check_untouched()
        else:
            side, status = Side(into, builder), MPI.Status()
            request = ways.receive(PLAIN, recv, side.piece, ways.Place(comm, SENDER, received), status)
            if receives_first:
                comm.Barrier()
            if request:
                [status] = ways.complete(PLAIN, "Wait", request)
                ways.free(PLAIN, request)
            payload = Image(out, builder).payload()
            check_status(status, SENDER, 4, len(payload), side)
            side.check_received(payload)
    found = counts_since(before), time.monotonic() - start
    comm.Free()
    return found


def ignored_status(out: End, into: End) -> int:
    comm, before = MPI.COMM_WORLD.Dup(), outcomes.rows()
    with Builder() as builder:
        if comm.rank == SENDER:
            side = Side(out, builder)
            PLAIN("Send", side.piece, RECEIVER, 4, comm)
        else:
            side = Side(into, builder)
            memory = MPI.buffer.fromaddress(side.piece.address, 1)
            comm.Recv([memory, 1, side.datatype], SENDER, 4)  # mpi4py passes MPI_STATUS_IGNORE
            side.check_received(Image(out, builder).payload())
    comm.Free()
    return direct_since(before)


def direct_behind_tags(out: End, into: End, n_tags: int, tag: int) -> int:
    """The direct messages, of one with this tag, behind host messages of so many tags."""
    comm, byte = MPI.COMM_WORLD.Dup(), bytearray(1)
    for one in range(n_tags):
        if comm.rank == SENDER:
            comm.Send(byte, RECEIVER, one)
        else:
            comm.Recv(byte, SENDER, one)
    before = outcomes.rows()
    with Builder() as builder:
        side = Side(out if comm.rank == SENDER else into, builder)
        if comm.rank == SENDER:
            PLAIN("Send", side.piece, RECEIVER, tag, comm)
        else:
            ways.receive(PLAIN, "Recv", side.piece, ways.Place(comm, SENDER, tag), MPI.Status())
            side.check_received(Image(out, builder).payload())
    comm.Free()
    return direct_since(before)


def truncated(out: End, into: End, recv: str) -> tuple[int, int]:
    """A message that is longer than its receive: the class of the error, and the direct messages."""
    comm, before, code = MPI.COMM_WORLD.Dup(), outcomes.rows(), 0
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    with Builder() as builder:
        if comm.rank == SENDER:
            side = Side(out, builder)
            PLAIN("Isend", side.piece, RECEIVER, 4, comm, (request := Requests()).at(0))
            ways.complete(PLAIN, "Wait", request)
        else:
            side = Side(into, builder)
            try:
                request = ways.receive(PLAIN, recv, side.piece, ways.Place(comm, SENDER, 4), MPI.Status()) or Requests()
                ways.complete(PLAIN, "Wait", request)
            except MPI.Exception as error:
                code = error.Get_error_class()
    comm.Free()
    return code, direct_since(before)


def shorter(spec: c.Spec) -> int:
    """Messages of no byte, of half the bytes that their receives have room for, and of all: the direct ones."""
    comm, before = MPI.COMM_WORLD, outcomes.rows()
    with Builder() as builder:
        for n, count in ((0, 2), (1, 2), (2, 2)):
            if comm.rank == SENDER:
                side = Side(End("device", spec, max(n, 1), 5 + n), builder)
                comm.Barrier()
                PLAIN("Send", side.piece._replace(count=n), RECEIVER, 6, comm)
                continue
            into = Side(End("device", spec, count, 9), builder)
            PLAIN("Irecv", into.piece, SENDER, 6, comm, (request := Requests()).at(0))
            comm.Barrier()
            [status] = ways.complete(PLAIN, "Wait", request)
            payload = Image(End("device", spec, n, 5 + n), builder).payload() if n else b""
            assert status.Get_count(into.datatype) == n
            if n:
                into.check_received(payload)
            else:
                into.check_untouched()
    return direct_since(before)


def cancelled_twice(end: End) -> float:
    """Two receives are cancelled while others stay. The seconds of MPI_Cancel."""
    comm = MPI.COMM_WORLD.Dup()
    with Builder() as builder:
        sides, requests = [Side(end.later(k), builder) for k in range(6)], Requests(6)
        for k, side in enumerate(sides):
            PLAIN("Irecv", side.piece, 1 - comm.rank, k, comm, requests.at(k))
        start = time.monotonic()
        for k in (0, 1):
            PLAIN("Cancel", requests.at(k))
        seconds = time.monotonic() - start
        sent = [Side(end.later(50 + k), builder) for k in range(6)]
        for k in range(2, 6):
            PLAIN("Send", sent[k].piece, 1 - comm.rank, k, comm)
        statuses = ways.complete(PLAIN, "Waitall", requests)
        assert [status.Is_cancelled() for status in statuses] == [True] * 2 + [False] * 4
        for k in range(2, 6):
            sides[k].check_received(sent[k].payload())
    comm.Free()
    return seconds
