"""The two ranks of test_message_errors.py."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable

import numpy as np
import ways
from calls_worker import comms
from mpi4py import MPI
from ways import Place

from support import constructors as c
from support import equal, memory, outcomes
from support.building import Builder
from support.messages import End, Image, Side, make_end
from support.p2p import Form, Piece, Requests, Statuses
from support.typemap import Named

FORM = Form()
INT = Named("INT")
SMALL = 16  # ints that the receiver has room for


def error_class(call: Callable[..., object], *arguments: object) -> int:
    try:
        call(*arguments)
    except MPI.Exception as error:
        return error.Get_error_class()
    return MPI.SUCCESS


def _small(kind: str, vector: bool) -> End:
    return End(kind, c.Vector(SMALL, 1, 3, INT), 1, 7) if vector else End(kind, INT, SMALL, 7)


def _check_guards(side: Side) -> None:
    """Only the datatype's bytes have changed. Not checked on host memory, where libraries write beside it."""
    if memory.needs_shim(side.end.kind):
        inside = side.message.byte_offsets() + side.origin
        found, before = side.buffer.read().copy(), side.before.copy()
        found[inside] = before[inside] = 0
        equal.check(found, before, "bytes beside the receive buffer")


def _spare(kind: str, end: End, builder: Builder, n_bytes: int) -> Side:
    """Room behind host receives, into which the libraries write: it protects other memory."""
    side = Side(end, builder)
    if not memory.needs_shim(kind):
        before = np.concatenate([side.before, np.zeros(n_bytes, np.uint8)])
        side.before, side.buffer = before, memory.at_hand(kind, before)
    return side


def truncated(kind: str, n_bytes: int, recv: str, vector: bool) -> None:
    comm, me = comms()["world"], MPI.COMM_WORLD.Get_rank()
    with Builder() as builder:
        if me == 0:
            big = Side(End(kind, Named("BYTE"), n_bytes, 3), builder)
            with outcomes.claimed(("Isend", big)):
                FORM("Isend", big.piece, 1, 4, comm, (sent := Requests()).at(0))
                ways.complete(FORM, "Wait", sent)
            big.check_untouched()
        else:
            side, status = _spare(kind, _small(kind, vector), builder, n_bytes), MPI.Status()
            with outcomes.claimed(outcomes.claim(recv, side, is_filled=False)):
                found = error_class(lambda: _receive(recv, side.piece, Place(comm, 0, 4), status))
            assert found == MPI.ERR_TRUNCATE, f"{recv}: {MPI.Get_error_string(found)}"
            _check_guards(side)
        _still_works(kind, builder)


def _receive(recv: str, piece: Piece, at: Place, status: MPI.Status) -> None:
    request = ways.receive(FORM, recv, piece, at, status)
    if request:
        try:
            ways.complete(FORM, "Wait", request)
        finally:
            ways.free(FORM, request)


def _still_works(kind: str, builder: Builder) -> None:
    """After an error a message of the usual sort arrives."""
    comm, me = comms()["world"], MPI.COMM_WORLD.Get_rank()
    end = End(kind, c.Vector(500, 2, 5, INT), 2, 11)
    if me == 0:
        side = Side(end, builder)
        with outcomes.claimed(("Send", side)):
            FORM("Send", side.piece, 1, 9, comm)
    else:
        side = Side(end.later(1), builder)
        with outcomes.claimed(("Recv", side)):
            FORM("Recv", side.piece, 0, 9, comm, MPI.Status())
        side.check_received(Image(end, builder).payload())


def one_of_several_truncated(kind: str, n_bytes: int, completion: str) -> None:
    """Receives 0 and 2 are good, receive 1 is too small."""
    comm, me = comms()["world"], MPI.COMM_WORLD.Get_rank()
    good = End(kind, c.Vector(SMALL, 1, 3, INT), 1, 21)
    with Builder() as builder:
        if me == 0:
            sides = [Side(good, builder), Side(End(kind, Named("BYTE"), n_bytes, 3), builder), Side(good, builder)]
            requests = Requests(3)
            for i, side in enumerate(sides):
                FORM("Isend", side.piece, 1, i, comm, requests.at(i))
            ways.complete(FORM, "Waitall", requests)
        else:
            ends = (good.later(1), _small(kind, True), good.later(2))
            sides = [_spare(kind, end, builder, n_bytes) for end in ends]
            requests = Requests(3)
            for i, side in enumerate(sides):
                FORM("Irecv", side.piece, 0, i, comm, requests.at(i))
            errors = _errors(completion, requests)
            assert errors == [MPI.SUCCESS, MPI.ERR_TRUNCATE, MPI.SUCCESS], errors
            for side in (sides[0], sides[2]):
                side.check_received(Image(good, builder).payload())
            _check_guards(sides[1])
        _still_works(kind, builder)


def _errors(completion: str, requests: Requests) -> list[int]:
    """Completes all, and hands back the error class of each. The call itself must say MPI_ERR_IN_STATUS."""
    errors: dict[int, int] = {}
    said: set[int] = set()
    while len(errors) < requests.size:
        statuses, indices = Statuses(requests.size), (ctypes.c_int * requests.size)()
        if completion.endswith("all"):
            flag, arguments = ctypes.c_int(1), [requests.size, requests.handles]
            middle = [ctypes.byref(flag)] if completion == "Testall" else []
            result = error_class(FORM, completion, *arguments, *middle, statuses.pointer)
            done = list(range(requests.size)) if flag.value or result else []
        else:
            n = ctypes.c_int(0)
            result = error_class(
                FORM, completion, requests.size, requests.handles, ctypes.byref(n), indices, statuses.pointer
            )
            done = [indices[k] for k in range(max(0, n.value))]
        said.add(result)
        for k, i in enumerate(done):
            error = statuses.at(k).Get_error() if result == MPI.ERR_IN_STATUS else MPI.SUCCESS
            if error != MPI.ERR_PENDING:
                errors.setdefault(i, MPI.Get_error_class(error))
    assert MPI.ERR_IN_STATUS in said, f"{completion} said {said}"
    return [errors[i] for i in range(requests.size)]


def cancelled_receive(kind: str) -> None:
    comm, me = comms()["world"], MPI.COMM_WORLD.Get_rank()
    with Builder() as builder:
        for persistent in (False, True):
            side = Side(End(kind, c.Vector(500, 2, 5, INT), 1, me), builder)
            way, nobody_sends = "Recv_init" if persistent else "Irecv", Place(comm, 1 - me, 77)
            request = ways.receive(FORM, way, side.piece, nobody_sends, MPI.Status())
            assert request
            FORM("Cancel", request.at(0))
            [status] = ways.complete(FORM, "Wait", request)
            assert status.Is_cancelled()
            side.check_untouched()
            ways.free(FORM, request)
        comm.Barrier()
        _still_works(kind, builder)


def cancelled_send(kind: str, n_ints: int, persistent: bool) -> None:
    comm, me = comms()["world"], MPI.COMM_WORLD.Get_rank()
    end = make_end(kind, "vector", "INT", n_ints, random.Random(4))
    with Builder() as builder:
        if me == 0:
            side = Side(end, builder)
            request = ways.send(FORM, "Send_init" if persistent else "Isend", side.piece, Place(comm, 1, 6))
            assert request
            FORM("Cancel", request.at(0))
            comms()["tokens"].send("posted", 1)  # now the receiver takes what has not been cancelled: Wait returns
            [status] = ways.complete(FORM, "Wait", request)
            cancelled = status.Is_cancelled()
            side.check_untouched()
            ways.free(FORM, request)
            comm.send(cancelled, 1, 8)
        else:
            comms()["tokens"].recv(source=0)
            _take_unless_cancelled(comm, end, builder)
        _still_works(kind, builder)


def _take_unless_cancelled(comm: MPI.Comm, end: End, builder: Builder) -> None:
    """A message on tag 6 arrives exactly if the sender's status does not say that it was cancelled."""
    side, request = Side(end.later(1), builder), Requests()
    FORM("Irecv", side.piece, 0, 6, comm, request.at(0))
    cancelled = comm.recv(source=0, tag=8)
    if cancelled:
        FORM("Cancel", request.at(0))
    [status] = ways.complete(FORM, "Wait", request)
    assert status.Is_cancelled() == cancelled
    if cancelled:
        side.check_untouched()
    else:
        side.check_received(Image(end, builder).payload())


def bad_arguments(kind: str) -> None:
    comm = comms()["self"]
    with Builder() as builder:
        side = Side(End(kind, c.Vector(20, 1, 3, INT), 1, 5), builder)
        address, _, vector = side.piece
        uncommitted = MPI.INT.Create_vector(4, 1, 2)
        bad = {
            "count": (Piece(address, -1, vector), 0, 1, MPI.ERR_COUNT),
            "type": (Piece(address, 1, MPI.DATATYPE_NULL), 0, 1, MPI.ERR_TYPE),
            "uncommitted": (Piece(address, 1, uncommitted), 0, 1, MPI.ERR_TYPE),
            "rank": (side.piece, 5, 1, MPI.ERR_RANK),
            "tag": (side.piece, 0, -77, MPI.ERR_TAG),
        }
        for what, (piece, peer, tag, expected) in bad.items():
            for way in (*ways.SENDS, "Recv", "Irecv", "Recv_init"):
                if what == "uncommitted" and way.endswith("_init"):
                    continue  # some libraries look at it only when it is started
                found = error_class(_attempt, way, piece, Place(comm, peer, tag))
                assert found == expected, f"{way} with a bad {what}: {MPI.Get_error_string(found)}"
        uncommitted.Free()
        side.check_untouched()


def _attempt(way: str, piece: Piece, to: Place) -> None:
    if way in ways.SENDS:
        ways.send(FORM, way, piece, to)
    else:
        ways.receive(FORM, way, piece, to, MPI.Status())


def with_faults(kind: str) -> None:
    """Exchanges of several sizes. Each either works or raises an MPI error; errors are not repeated for ever."""
    comm, me = comms()["world"], MPI.COMM_WORLD.Get_rank()
    failures = 0
    with Builder() as builder:
        for n in (12, 1200, 75_000, 12, 1200, 75_000):
            for way in ("vector", "contiguous"):
                ours = make_end(kind, way, "INT", n, random.Random(10 * n + me))
                theirs = make_end(kind, way, "INT", n, random.Random(10 * n + 1 - me))
                failures += _exchange_with_faults(comm, ours, theirs, builder)
    assert failures <= 4, "an injected fault on each rank, and more than four exchanges failed"


def _exchange_with_faults(comm: MPI.Comm, ours: End, theirs: End, builder: Builder) -> int:
    """Both directions at once. A rank whose call fails tells the other one, which then gives up its receive."""
    me = comm.Get_rank()
    side, target, requests = Side(ours, builder), Side(theirs.later(1), builder), Requests(2)
    failed_recv = error_class(lambda: FORM("Irecv", target.piece, 1 - me, 3, comm, requests.at(0)))
    failed_send = error_class(lambda: FORM("Isend", side.piece, 1 - me, 3, comm, requests.at(1)))
    # Host bytes: not a matter of the device.
    their_recv, their_send = comm.sendrecv((failed_recv, failed_send), 1 - me, 4, None, 1 - me, 4)
    if their_send and not failed_recv:
        FORM("Cancel", requests.at(0))
    if failed_recv and not their_send:  # the message is on its way all the same
        drained = np.zeros(side.size + target.size, np.uint8)
        FORM("Irecv", Piece(drained.ctypes.data, len(drained), MPI.BYTE), 1 - me, 3, comm, requests.at(0))
    finished = error_class(lambda: ways.complete(FORM, "Waitall", requests))
    if not (failed_recv or their_send or finished):
        target.check_received(Image(theirs, builder).payload())
    side.check_untouched()
    return int(bool(failed_recv or failed_send or their_recv or their_send or finished))
