"""Ranks of test_direct_ranks.py: exchanges between processes, with the number of messages that went direct."""

from __future__ import annotations

import ctypes
import os
import time
from typing import NamedTuple

import ways
from mpi4py import MPI

from support import constructors as c
from support import mailboxes, outcomes
from support.building import Builder
from support.messages import End, Image, Side, check_status
from support.p2p import PLAIN, Requests

DIRECT = ("direct", "taken: straight into the receiver")
DECLINED = ("direct", "declined: memory out of reach, or layouts that do not compose")
FELL_BACK = ("direct", "taken: staged after a GPU failure")
SENDER, RECEIVER = 0, 1


class Counts(NamedTuple):
    """What became of the messages of a rank."""

    direct: int
    declined: int
    fell_back: int


def counts_since(before: outcomes.Rows) -> Counts:
    rows = outcomes.rows() - before
    return Counts(rows[DIRECT], rows[DECLINED], rows[FELL_BACK])


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


def rows_of_messages(out: End, into: End, tags: list[int], at_once: int) -> Counts:
    """One message for each tag, `at_once` receives being posted before their sends."""
    comm = MPI.COMM_WORLD.Dup()
    before = outcomes.rows()
    with Builder() as builder:
        for first in range(0, len(tags), at_once):
            row = tags[first : first + at_once]
            end = out if comm.rank == SENDER else into
            sides, requests = [Side(end.later(first + k), builder) for k in range(len(row))], Requests(len(row))
            if comm.rank == SENDER:
                comm.Barrier()
            for k, (side, tag) in enumerate(zip(sides, row, strict=True)):
                way = "Isend" if comm.rank == SENDER else "Irecv"
                PLAIN(way, side.piece, 1 - comm.rank, tag, comm, requests.at(k))
            if comm.rank == RECEIVER:
                comm.Barrier()
            ways.complete(PLAIN, "Waitall", requests)
            if comm.rank == RECEIVER:
                for k, side in enumerate(sides):
                    side.check_received(Image(out.later(first + k), builder).payload())
    comm.Free()
    return counts_since(before)


def one_message(out: End, into: End, send: str, recv: str, receives_first: bool = False) -> tuple[Counts, float]:
    """One message, its status, and the seconds that it takes."""
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
            request = ways.receive(PLAIN, recv, side.piece, ways.Place(comm, SENDER, 4), status)
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
    return (outcomes.rows() - before)[DIRECT]


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
    return code, (outcomes.rows() - before)[DIRECT]


def n_mapped() -> int:
    """Pieces of the fake device's memory, of this process and of others."""
    with open("/proc/self/maps") as maps:
        return sum("tempi_fake_device" in line for line in maps)


def reallocated(out: End, into: End, n: int) -> tuple[int, int, int]:
    """Messages into buffers that are freed after each: the direct ones, different addresses, and further mappings."""
    comm, before, n_before, addresses = MPI.COMM_WORLD, outcomes.rows(), n_mapped(), set()
    with Builder() as builder:
        for k in range(n):
            side = Side((out if comm.rank == SENDER else into).later(k), builder)
            addresses.add(side.buffer.address)
            if comm.rank == RECEIVER:
                PLAIN("Irecv", side.piece, SENDER, 8, comm, (request := Requests()).at(0))
            comm.Barrier()
            if comm.rank == SENDER:
                PLAIN("Isend", side.piece, RECEIVER, 8, comm, (request := Requests()).at(0))
            ways.complete(PLAIN, "Wait", request)
            if comm.rank == RECEIVER:
                side.check_received(Image(out.later(k), builder).payload())
            del side
    return (outcomes.rows() - before)[DIRECT], len(addresses), n_mapped() - n_before


def close_communicators(out: End, into: End, n: int) -> int:
    """A wildcard on each of `n` communicators, then messages on a new one. The direct ones among those."""
    comms = [MPI.COMM_WORLD.Dup() for _ in range(n)]
    for comm in comms:
        comm.Sendrecv(bytearray(1), 1 - comm.rank, 0, bytearray(1), MPI.ANY_SOURCE, 0)
    direct = ring(out, into, 6) + ring(out, into, 6, False)
    for comm in comms:
        comm.Free()
    return direct


def mixed(spec: c.Spec, n: int) -> tuple[int, float]:
    """Messages both ways, of which a rank without the shim has its ends in host memory."""
    comm, start = MPI.COMM_WORLD, time.monotonic()
    kind, before = "device" if outcomes.in_the_way() else "host", outcomes.rows() if outcomes.in_the_way() else None
    with Builder() as builder:
        for k in range(n):
            out, into, requests = End(kind, spec, 1, k), Side(End(kind, spec, 1, 50 + k), builder), Requests(2)
            PLAIN("Irecv", into.piece, 1 - comm.rank, k, comm, requests.at(0))
            if k % 2:
                comm.Barrier()
            sent = Side(out, builder)
            PLAIN("Isend", sent.piece, 1 - comm.rank, k, comm, requests.at(1))
            ways.complete(PLAIN, "Waitall", requests)
            into.check_received(Image(out, builder).payload())
    direct = (outcomes.rows() - before)[DIRECT] if before is not None else 0
    return direct, time.monotonic() - start


_kept: list[object] = []


def pretend(how: str) -> None:
    """The rank without the shim opens a door, behind which there is no mailbox."""
    comm = MPI.COMM_WORLD
    size = 0
    if comm.rank == SENDER and (file := mailboxes.file_of(os.getpid())):
        size = file.stat().st_size
    size = comm.bcast(size, SENDER)
    if comm.rank == SENDER:
        assert size > 0, "this rank has no mailbox"
    else:
        first = {"another version": b"\x63" + bytes(3) + size.to_bytes(4, "little") + b"\1\0\0\0\1"}.get(how, b"")
        if how != "no file":
            _kept.append(mailboxes.make_file(size + (4096 if how == "another size" else 0), first))
        _kept.append(mailboxes.listen(mailboxes.job_name(), comm.rank))
    comm.Barrier()


def who() -> tuple[int, str]:
    return os.getpid(), mailboxes.job_name()


# Programs as they are.


def ring_of_sends(end: End, n: int) -> None:
    """MPI_Send, of what libraries send eagerly, before MPI_Recv on all ranks."""
    comm = MPI.COMM_WORLD
    with Builder() as builder:
        for k in range(n):
            out, into = Side(end.later(k), builder), Side(end.later(100 + k), builder)
            PLAIN("Send", out.piece, (comm.rank + 1) % comm.size, 1, comm)
            PLAIN("Recv", into.piece, (comm.rank - 1) % comm.size, 1, comm, MPI.Status())
            into.check_received(out.payload())


def ring_of_sendrecvs(end: End, n: int) -> None:
    comm = MPI.COMM_WORLD
    with Builder() as builder:
        for k in range(n):
            out, into = Side(end.later(k), builder), Side(end.later(100 + k), builder)
            right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
            PLAIN("Sendrecv", out.piece, right, 1, into.piece, left, 1, comm, MPI.Status())
            into.check_received(out.payload())


def barrier_between(end: End, n: int) -> None:
    """MPI_Isend, MPI_Barrier, MPI_Irecv."""
    comm = MPI.COMM_WORLD
    with Builder() as builder:
        for k in range(n):
            out, into, requests = Side(end.later(k), builder), Side(end.later(100 + k), builder), Requests(2)
            PLAIN("Isend", out.piece, (comm.rank + 1) % comm.size, 1, comm, requests.at(0))
            comm.Barrier()
            PLAIN("Irecv", into.piece, (comm.rank - 1) % comm.size, 1, comm, requests.at(1))
            ways.complete(PLAIN, "Waitall", requests)
            into.check_received(out.payload())


def probed(end: End, n: int, way: str) -> None:
    comm = MPI.COMM_WORLD
    with Builder() as builder:
        for k in range(n):
            out, into = Side(end.later(k), builder), Side(end.later(100 + k), builder)
            PLAIN("Isend", out.piece, (comm.rank + 1) % comm.size, 1, comm, (sent := Requests()).at(0))
            at = ways.Place(comm, (comm.rank - 1) % comm.size, 1)
            ways.receive(PLAIN, way, into.piece, at, MPI.Status())
            ways.complete(PLAIN, "Wait", sent)
            into.check_received(out.payload())


def answered(end: End, n: int) -> None:
    """An early send, and a receive of the answer, which its receiver sends when it has it."""
    comm = MPI.COMM_WORLD
    with Builder() as builder:
        for k in range(n):
            side, answer = Side(end.later(k), builder), bytearray(1)
            if comm.rank == SENDER:
                PLAIN("Isend", side.piece, RECEIVER, 1, comm, (sent := Requests()).at(0))
                comm.Recv(answer, RECEIVER, 2)
                ways.complete(PLAIN, "Wait", sent)
            elif comm.rank == RECEIVER:
                into = Side(end.later(100 + k), builder)
                PLAIN("Recv", into.piece, SENDER, 1, comm, MPI.Status())
                comm.Send(answer, SENDER, 2)
                into.check_received(side.payload())


def polled(end: End, n: int) -> None:
    """Nothing but MPI_Test; the receive comes late."""
    comm = MPI.COMM_WORLD
    with Builder() as builder:
        for k in range(n):
            out, into, requests = Side(end.later(k), builder), Side(end.later(100 + k), builder), Requests(2)
            PLAIN("Isend", out.piece, (comm.rank + 1) % comm.size, 1, comm, requests.at(0))
            flag = ctypes.c_int(0)
            for _ in range(50):
                PLAIN("Test", requests.at(0), ctypes.byref(flag), MPI.Status())
            PLAIN("Irecv", into.piece, (comm.rank - 1) % comm.size, 1, comm, requests.at(1))
            ways.complete(PLAIN, "Testall", requests)
            into.check_received(out.payload())


def replaced(end: End, n: int) -> None:
    """MPI_Isendrecv_replace: the peer is first, and may not write what has not been sent yet."""
    comm = MPI.COMM_WORLD
    with Builder() as builder:
        for k in range(n):
            mine, others = Side(end.later(2 * k + comm.rank), builder), Image(end.later(2 * k + 1 - comm.rank), builder)
            if comm.rank == RECEIVER:
                time.sleep(0.002 * (k % 2))
            peer = 1 - comm.rank
            PLAIN("Isendrecv_replace", mine.piece, peer, 1, peer, 1, comm, (request := Requests()).at(0))
            ways.complete(PLAIN, "Wait", request)
            mine.check_received(others.payload())


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
    return (outcomes.rows() - before)[DIRECT]


def cancelled_twice(end: End) -> float:
    """Two receives are cancelled while others stay. Seconds."""
    comm, start = MPI.COMM_WORLD.Dup(), time.monotonic()
    with Builder() as builder:
        sides, requests = [Side(end.later(k), builder) for k in range(6)], Requests(6)
        for k, side in enumerate(sides):
            PLAIN("Irecv", side.piece, 1 - comm.rank, k, comm, requests.at(k))
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
