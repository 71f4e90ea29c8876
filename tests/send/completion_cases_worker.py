"""Ranks of test_completion.py: sets of requests as programs complete them, each with the error that it is about."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np
import ways
from completion_worker import handlers
from mpi4py import MPI

from support import calls, equal
from support import constructors as c
from support.building import Builder
from support.messages import End, Image, Side
from support.p2p import PLAIN, Piece, Requests, Statuses
from support.typemap import Bytes, Named

INT = Named("INT")
N_INTS, N_LONG = 1000, 3000
SENDER, RECEIVER = 0, 1


def vector(n_ints: int) -> c.Vector:
    return c.Vector(n_ints, 1, 2, INT)


def payload_of(end: End, builder: Builder) -> Bytes:
    return Image(end, builder).payload()


# ---- files


def _started(file: MPI.File, verb: str, side: Side, at: int, requests: Requests, k: int) -> None:
    offset = ctypes.c_int64(at * side.size)
    PLAIN(f"File_i{verb}_at", calls.handle(file), offset, side.piece, requests.at(k))  # type: ignore[arg-type]


def _asked_and(way: str, requests: Requests) -> None:
    """A query that says complete, and then a completing call."""
    for k in range(requests.size):
        ways.poll(lambda flag, k=k: PLAIN("Request_get_status", requests.value(k), flag, MPI.Status()))
    ways.complete(PLAIN, way, requests)


def files(kind: str, way: str, is_asked: bool) -> None:
    """Two nonblocking writes, and then two reads, each pair completed by one way."""
    me = MPI.COMM_WORLD.rank
    ends = [End(kind, vector(N_INTS), 1, 10 * me + k) for k in range(2)]
    with Builder() as builder, tempfile.TemporaryDirectory() as folder:
        file = MPI.File.Open(MPI.COMM_SELF, f"{folder}/file", MPI.MODE_CREATE | MPI.MODE_RDWR)
        for verb, seed in (("write", 0), ("read", 1)):
            sides, requests = [Side(end.later(seed), builder) for end in ends], Requests(2)
            for k, side in enumerate(sides):
                _started(file, verb, side, k, requests, k)
            if is_asked:
                _asked_and(way, requests)
            else:
                statuses = ways.complete(PLAIN, way, requests)
                assert [status.Get_elements(MPI.BYTE) for status in statuses] == [side.size for side in sides]
            assert all(requests.is_null(k) for k in range(2))
            for end, side in zip(ends, sides, strict=True):
                if verb == "write":
                    side.check_untouched()
                else:
                    side.check_received(payload_of(end, builder))
        file.Close()


def file_beside_receive(kind: str, way: str) -> None:
    """A persistent receive in one set with a write, twice."""
    comm = MPI.COMM_WORLD.Dup()
    with Builder() as builder, tempfile.TemporaryDirectory() as folder:
        out = End(kind, vector(N_INTS), 1, 5)
        if comm.rank == SENDER:
            side = Side(out, builder)
            for _ in range(2):
                comm.Barrier()
                PLAIN("Send", side.piece, RECEIVER, 0, comm)
        else:
            file = MPI.File.Open(MPI.COMM_SELF, f"{folder}/file", MPI.MODE_CREATE | MPI.MODE_RDWR)
            received, written = Side(out.later(1), builder), Side(out.later(2), builder)
            requests = Requests(2)
            PLAIN("Recv_init", received.piece, SENDER, 0, comm, requests.at(0))
            for n in range(2):
                received.refill(n)
                PLAIN("Start", requests.at(0))
                _started(file, "write", written, n, requests, 1)
                comm.Barrier()
                one_each(requests, way)
                received.check_received(payload_of(out, builder))
            ways.free(PLAIN, requests)
            file.Close()
    comm.Free()


def one_each(requests: Requests, way: str) -> None:
    """Completes both by MPI_Waitsome or MPI_Testsome: each is told once, without an error."""
    left = set(range(requests.size))
    while left:
        count, indices, statuses = ctypes.c_int(0), (ctypes.c_int * requests.size)(), Statuses(requests.size)
        PLAIN(way, requests.size, requests.handles, ctypes.byref(count), indices, statuses.pointer)
        for k in range(count.value):
            left.remove(indices[k])


# ---- errors


@contextmanager
def told() -> Iterator[list[tuple[str, int]]]:
    """The error handlers, which return, that are called: the names of their communicators, and error classes."""
    its = handlers()
    its.called.clear()
    with its.set():
        yield its.called


def one_too_long(kind: str, way: str, bad: int, returns: bool) -> None:
    """Three persistent receives; the message of one is too long. The two others arrive in the same or in a later call.

    `returns`: by MPI_ERRORS_RETURN, else by a handler that returns.
    """
    comm, tokens = handlers().comm("a"), MPI.COMM_WORLD.Dup()
    out = [End(kind, vector(N_LONG if k == bad else N_INTS), 1, k) for k in range(3)]
    with Builder() as builder:
        if comm.rank == SENDER:
            sides = [Side(end, builder) for end in out]
            for k, side in enumerate(sides):
                PLAIN("Send", side.piece, RECEIVER, k, comm)
            tokens.Barrier()
        else:
            sides, requests = [Side(End(kind, vector(N_INTS), 1, 50 + k), builder) for k in range(3)], Requests(3)
            for k, side in enumerate(sides):
                PLAIN("Recv_init", side.piece, SENDER, k, comm, requests.at(k))
            PLAIN("Startall", 3, requests.handles)
            tokens.Barrier()
            if returns:
                statuses = _until_all_are_told(way, requests, [])
            else:
                with told() as called:
                    statuses = _until_all_are_told(way, requests, called)
            for k, side in enumerate(sides):
                if k != bad:
                    status = statuses[k]
                    found = (status.Get_source(), status.Get_tag(), status.Get_elements(MPI.BYTE))
                    assert found == (SENDER, k, 4 * N_INTS), (k, found)
                    side.check_received(payload_of(out[k], builder))
            ways.free(PLAIN, requests)
    tokens.Free()


def _until_all_are_told(way: str, requests: Requests, called: list[tuple[str, int]]) -> dict[int, MPI.Status]:
    """Statuses by request: those of the first call that does not say MPI_ERR_PENDING of it."""
    found: dict[int, MPI.Status] = {}
    while len(found) < requests.size:
        statuses, flag = Statuses(requests.size), ctypes.c_int(1)
        middle = (ctypes.byref(flag),) if way == "Testall" else ()
        called.clear()
        try:
            PLAIN(way, requests.size, requests.handles, *middle, statuses.pointer)
            has_failed = bool(called)
        except MPI.Exception as error:
            has_failed = error.Get_error_class() == MPI.ERR_IN_STATUS
        for k in range(requests.size if flag.value or has_failed else 0):
            status = statuses.at(k)
            if not has_failed or MPI.Get_error_class(status.Get_error()) != MPI.ERR_PENDING:
                found.setdefault(k, status)
    return found


def too_long(kind: str, peer_kind: str, recv: str, way: str, n_ints: int) -> tuple[list[tuple[str, int]], int]:
    """A message with one INT too many. The handlers that are called, and the class of the code."""
    comm, tokens = handlers().comm("a"), MPI.COMM_WORLD.Dup()
    code, called = MPI.SUCCESS, list[tuple[str, int]]()
    with Builder() as builder:
        if comm.rank == SENDER:
            side = Side(End(peer_kind, vector(n_ints + 1), 1, 1), builder)
            tokens.Barrier()
            PLAIN("Send", side.piece, RECEIVER, 0, comm)
        else:
            side, requests = Side(End(kind, vector(n_ints), 1, 2), builder), Requests(1)
            side.before = np.concatenate([side.before, np.zeros(64, np.uint8)])  # libraries write behind host memory
            PLAIN(recv, side.piece, SENDER, 0, comm, requests.at(0))
            if recv == "Recv_init":
                PLAIN("Start", requests.at(0))
            tokens.Barrier()
            with told() as handler_calls:
                try:
                    ways.complete(PLAIN, way, requests)
                except MPI.Exception as error:
                    code = error.Get_error_class()
                called = list(handler_calls)
            ways.free(PLAIN, requests)
    tokens.Free()
    return called, int(code)


N_LATER = 8


def two_too_long(kind: str, way: str) -> None:
    """Two messages are too long. When their receives are done with, receives of host memory follow."""
    comm = MPI.COMM_WORLD.Dup()
    if comm.rank == SENDER:
        with Builder() as builder:
            sides = [Side(End(kind, vector(24), 1, k), builder) for k in range(2)]
            for k, side in enumerate(sides):
                PLAIN("Send", side.piece, RECEIVER, k, comm)
            comm.Barrier()
            for k in range(N_LATER):
                comm.Send(np.full(12, k, np.int32), RECEIVER, 2 + k)
    else:
        with Builder() as builder:
            sides, requests = [Side(End(kind, vector(12), 1, 50 + k), builder) for k in range(2)], Requests(2)
            for k, side in enumerate(sides):
                PLAIN("Irecv", side.piece, SENDER, k, comm, requests.at(k))
            comm.Barrier()
            _until_all_are_null(way, requests)
            left = [side.buffer.read().copy() for side in sides]
            _receive_on_the_host(comm)
            for side, before in zip(sides, left, strict=True):
                equal.check(side.buffer.read(), before, "a later message was unpacked here")
    comm.Free()


def _until_all_are_null(way: str, requests: Requests) -> None:
    while not all(requests.is_null(k) for k in range(requests.size)):
        with suppress(MPI.Exception):
            ways.complete(PLAIN, way, requests)


def _receive_on_the_host(comm: MPI.Intracomm) -> None:
    arrays, requests, statuses = np.zeros((N_LATER, 12), np.int32), Requests(N_LATER), Statuses(N_LATER)
    for k, array in enumerate(arrays):
        PLAIN("Irecv", Piece(array.ctypes.data, 12, MPI.INT), SENDER, 2 + k, comm, requests.at(k))
    PLAIN("Waitall", N_LATER, requests.handles, statuses.pointer)
    assert [statuses.at(k).Get_tag() for k in range(N_LATER)] == [2 + k for k in range(N_LATER)]
    equal.check(arrays, np.repeat(np.arange(N_LATER), 12).reshape(N_LATER, 12))


# ---- fairness


def arrived_beside_a_complete_send(kind: str, way: str) -> None:
    """A receive in one set with a send to oneself that the program starts again whenever it is complete."""
    comm, own = MPI.COMM_WORLD.Dup(), MPI.COMM_SELF.Dup()
    out = End(kind, vector(12), 1, 3)
    with Builder() as builder:
        if comm.rank == SENDER:
            side = Side(out, builder)
            PLAIN("Send", side.piece, RECEIVER, 0, comm)
            comm.Barrier()
        else:
            received, requests = Side(out.later(1), builder), Requests(2)
            pair = [Side(out.later(2), builder), Side(out.later(3), builder)]
            into = Requests(1)
            PLAIN("Send_init", pair[0].piece, 0, 0, own, requests.at(0))
            PLAIN("Recv_init", pair[1].piece, 0, 0, own, into.at(0))
            PLAIN("Irecv", received.piece, SENDER, 0, comm, requests.at(1))
            comm.Barrier()  # the message has been sent
            _start_until_received(way, requests, into)
            received.check_received(payload_of(out, builder))
            for its in (requests, into):
                ways.free(PLAIN, its)
        comm.Barrier()
    comm.Free()
    own.Free()


N_OFTEN = 2000


def _start_until_received(way: str, requests: Requests, into: Requests) -> None:
    indices, statuses, status = (ctypes.c_int * 2)(), Statuses(2), MPI.Status()
    for _ in range(N_OFTEN):
        PLAIN("Start", into.at(0))
        PLAIN("Start", requests.at(0))
        seen: set[int] = set()
        while 0 not in seen:
            count = ctypes.c_int(0)
            PLAIN(way, 2, requests.handles, ctypes.byref(count), indices, statuses.pointer)
            seen |= {indices[k] for k in range(max(0, count.value))}
        PLAIN("Wait", into.at(0), status)
        if requests.is_null(1):
            return
    raise AssertionError(f"{N_OFTEN} calls of {way} have not told of a receive whose message was sent")
