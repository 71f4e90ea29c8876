"""Ranks of test_publishing_resumes.py: they exchange their pattern as set-up phases do, then halos by rank and tag."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import numpy as np
import ways
from exchange_worker import RECEIVER, SENDER, ring
from mpi4py import MPI

from support import outcomes
from support.building import Builder
from support.direct_counts import bounced_since, direct_since
from support.messages import End, Image, Side
from support.p2p import PLAIN, Piece, Requests, message_handle

COUNTS, HALO = 41, 5  # tags
SECONDS = 3.0  # less than a call waited for a sender that computes


def _neighbours(comm: MPI.Intracomm) -> tuple[int, int]:
    return (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


def _send_count(comm: MPI.Intracomm, number: np.ndarray) -> Requests:
    request = Requests()
    PLAIN("Isend", Piece(number.ctypes.data, 1, MPI.INT), _neighbours(comm)[0], COUNTS, comm, request.at(0))
    return request


def _counts(comm: MPI.Intracomm, receive: Callable[[Piece], None]) -> None:
    """Each rank sends a number to the next one, which receives it without its source."""
    sent, received = np.array([comm.rank], np.int32), np.array([-1], np.int32)
    request = _send_count(comm, sent)
    receive(Piece(received.ctypes.data, 1, MPI.INT))
    ways.complete(PLAIN, "Wait", request)
    assert received[0] == _neighbours(comm)[1]


def _irecv(comm: MPI.Intracomm, tag: int, completion: str = "Wait") -> Callable[[Piece], None]:
    def receive(into: Piece) -> None:
        PLAIN("Irecv", into, MPI.ANY_SOURCE, tag, comm, (request := Requests()).at(0))
        ways.complete(PLAIN, completion, request)

    return receive


def _irecv_without_status(comm: MPI.Intracomm) -> Callable[[Piece], None]:
    def receive(into: Piece) -> None:
        memory = MPI.buffer.fromaddress(into.address, 4)
        comm.Irecv([memory, 1, MPI.INT], MPI.ANY_SOURCE, COUNTS).Wait()  # mpi4py passes MPI_STATUS_IGNORE

    return receive


def _recv(comm: MPI.Intracomm, has_status: bool) -> Callable[[Piece], None]:
    def receive(into: Piece) -> None:
        status = MPI.Status() if has_status else None
        comm.Recv([MPI.buffer.fromaddress(into.address, 4), 1, MPI.INT], MPI.ANY_SOURCE, MPI.ANY_TAG, status)

    return receive


def _probed(comm: MPI.Intracomm, way: str) -> Callable[[Piece], None]:
    def receive(into: Piece) -> None:
        at = ways.Place(comm, MPI.ANY_SOURCE, COUNTS)
        if request := ways.receive(PLAIN, way, into, at, MPI.Status()):
            ways.complete(PLAIN, "Wait", request)

    return receive


def _freed(comm: MPI.Intracomm) -> Callable[[Piece], None]:
    def receive(into: Piece) -> None:
        PLAIN("Irecv", into, MPI.ANY_SOURCE, COUNTS, comm, (request := Requests()).at(0))
        PLAIN("Request_free", request.handles)
        memory = (ctypes.c_int * 1).from_address(into.address)
        while memory[0] == -1:
            comm.Iprobe(comm.rank, COUNTS + 1)

    return receive


def _cancelled(comm: MPI.Intracomm, source: int, end: End | None, tag: int = HALO) -> None:
    """A receive that nothing matches yet is cancelled, another one behind it stays."""
    with Builder() as builder:
        if end is None:
            memory = np.zeros(1000, np.int32)
            piece = Piece(memory.ctypes.data, 24, MPI.INT)
        else:
            side = Side(end, builder)
            piece = side.piece
        PLAIN("Irecv", piece, source, tag, comm, (request := Requests()).at(0))
        PLAIN("Cancel", request.handles)
        [status] = ways.complete(PLAIN, "Wait", request)
        assert status.Is_cancelled()


def _improbe(comm: MPI.Intracomm) -> None:
    """A matching probe that finds nothing."""
    flag, message = ctypes.c_int(0), message_handle()
    PLAIN("Improbe", MPI.ANY_SOURCE, COUNTS + 1, comm, ctypes.byref(flag), ctypes.byref(message), MPI.Status())
    assert not flag.value


def _persistent_of_host(comm: MPI.Intracomm) -> None:
    right, left = _neighbours(comm)
    numbers, requests = np.array([comm.rank, -1], np.int32), Requests(2)
    PLAIN("Send_init", Piece(numbers.ctypes.data, 1, MPI.INT), right, HALO, comm, requests.at(0))
    PLAIN("Recv_init", Piece(numbers.ctypes.data + 4, 1, MPI.INT), left, HALO, comm, requests.at(1))
    for together in (True, False, True):
        if together:
            PLAIN("Startall", 2, requests.handles)
        else:
            PLAIN("Start", requests.at(0))
            PLAIN("Start", requests.at(1))
        ways.complete(PLAIN, "Waitall", requests)
    assert numbers[1] == left
    ways.free(PLAIN, requests)


PROBED = tuple(way for way in ways.RECVS if way.startswith(("Mrecv", "Imrecv", "Recv p")))


def set_up(comm: MPI.Intracomm, how: str, end: End) -> None:
    left = _neighbours(comm)[1]
    if how in PROBED:
        return _counts(comm, _probed(comm, how))
    plain: dict[str, Callable[[], None]] = {
        "Irecv": lambda: _counts(comm, _irecv(comm, COUNTS)),
        "Irecv of any tag": lambda: _counts(comm, _irecv(comm, MPI.ANY_TAG, "Test")),
        "Irecv, seen first": lambda: _counts(comm, _irecv(comm, COUNTS, "Request_get_status")),
        "Irecv without a status": lambda: _counts(comm, _irecv_without_status(comm)),
        "Irecv, freed": lambda: _counts(comm, _freed(comm)),
        "Recv": lambda: _counts(comm, _recv(comm, True)),
        "Recv without a status": lambda: _counts(comm, _recv(comm, False)),
        "an Improbe in vain": lambda: _improbe(comm),
        "a cancelled receive of GPU memory": lambda: _cancelled(comm, left, end),
        "a cancelled receive of host memory": lambda: _cancelled(comm, left, None, COUNTS),
        "a cancelled wildcard": lambda: _cancelled(comm, MPI.ANY_SOURCE, None),
        "a cancelled wildcard of GPU memory": lambda: _cancelled(comm, MPI.ANY_SOURCE, end),
        "persistent requests of host memory": lambda: _persistent_of_host(comm),
    }
    plain[how]()


WAYS = (
    "Irecv", "Irecv of any tag", "Irecv, seen first", "Irecv without a status", "Irecv, freed",
    "Recv", "Recv without a status", "an Improbe in vain", "a cancelled receive of GPU memory",
    "a cancelled receive of host memory", "a cancelled wildcard", "a cancelled wildcard of GPU memory",
    "persistent requests of host memory",
    *PROBED,
)  # fmt: skip


def halos_behind(how: str, out: End, into: End, n: int) -> tuple[int, int]:
    """The direct messages among the halos behind a set-up phase, and all of them."""
    set_up(MPI.COMM_WORLD, how, into)
    MPI.COMM_WORLD.Barrier()
    return sum(ring(out, into, 8, receives_first=False) for _ in range(n)), 8 * n


def halos_beside_a_listener(out: End, into: End, n: int) -> tuple[int, int]:
    """A wildcard receive of another tag stays open meanwhile."""
    comm, word = MPI.COMM_WORLD, np.array([-1], np.int32)
    listener = Requests()
    PLAIN("Irecv", Piece(word.ctypes.data, 1, MPI.INT), MPI.ANY_SOURCE, COUNTS, comm, listener.at(0))
    comm.Barrier()
    n_direct = sum(ring(out, into, 8, receives_first=False) for _ in range(n))
    number = np.array([comm.rank], np.int32)
    request = _send_count(comm, number)
    ways.complete(PLAIN, "Wait", listener)
    ways.complete(PLAIN, "Wait", request)
    assert word[0] == _neighbours(comm)[1]
    return n_direct, 8 * n


def cancelled_while_its_sender_computes(out: End, into: End, folder: Path) -> bool:
    """Two messages are claimed, and the second has not left when its receive is cancelled: the sender makes no call of
    MPI until MPI_Cancel has returned, or for seconds. Whether it has returned."""
    comm, in_time = MPI.COMM_WORLD.Dup(), True
    sent, told = folder / "sent", folder / "cancelled"

    def wait_for(file: Path, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not file.exists() and time.monotonic() < end:
            time.sleep(0.005)
        return file.exists()

    with Builder() as builder:
        sides = [Side((out if comm.rank == SENDER else into).later(k), builder) for k in range(2)]
        requests = Requests(2)
        if comm.rank == RECEIVER:
            for k, side in enumerate(sides):
                PLAIN("Irecv", side.piece, SENDER, HALO, comm, requests.at(k))
        comm.Barrier()
        if comm.rank == SENDER:
            for k, side in enumerate(sides):
                PLAIN("Isend", side.piece, RECEIVER, HALO, comm, requests.at(k))
            sent.touch()
            in_time = wait_for(told, SECONDS)
        else:
            assert wait_for(sent, 20)
            PLAIN("Cancel", requests.at(1))
            told.touch()
        statuses = ways.complete(PLAIN, "Waitall", requests)
        if comm.rank == RECEIVER:
            for k, side in enumerate(sides):
                assert not statuses[k].Is_cancelled()
                side.check_received(Image(out.later(k), builder).payload())
    comm.Free()
    return in_time


def longer_receives(out: End, into: list[End], n_sent: list[int]) -> int:
    """Messages of some elements into receives that have room for more. The direct ones, also through bounce buffers."""
    comm, before = MPI.COMM_WORLD, outcomes.rows()
    for k, (end, n) in enumerate(zip(into, n_sent, strict=True)):
        with Builder() as builder:
            sent = End(out.kind, out.spec, n, out.seed + k)
            side = Side(sent if comm.rank == SENDER else end, builder)
            request = Requests()
            if comm.rank == RECEIVER:
                PLAIN("Irecv", side.piece, SENDER, HALO, comm, request.at(0))
            comm.Barrier()
            if comm.rank == SENDER:
                PLAIN("Isend", side.piece, RECEIVER, HALO, comm, request.at(0))
            [status] = ways.complete(PLAIN, "Wait", request)
            if comm.rank == RECEIVER:
                payload = Image(sent, builder).payload()
                assert (status.Get_source(), status.Get_tag()) == (SENDER, HALO)
                assert status.Get_count(MPI.BYTE) == len(payload)
                side.check_received(payload)
            comm.Barrier()
    return direct_since(before) + bounced_since(before)


def ended_by(what: str, out: End, into: End) -> int:
    """Something that ends direct messages; the ones that are direct behind it."""
    comm = MPI.COMM_WORLD
    if what == "thread":
        thread = Thread(target=lambda: _counts(comm, _irecv(comm, COUNTS)))
        ring(out, into, 1)
        thread.start()
        thread.join()
    else:
        right = _neighbours(comm)[0]
        numbers, requests = np.array([comm.rank, -1], np.int32), Requests(2)
        PLAIN("Send_init", Piece(numbers.ctypes.data, 1, MPI.INT), right, COUNTS, comm, requests.at(0))
        PLAIN("Recv_init", Piece(numbers.ctypes.data + 4, 1, MPI.INT), MPI.ANY_SOURCE, COUNTS, comm, requests.at(1))
        PLAIN("Startall", 2, requests.handles)
        ways.complete(PLAIN, "Waitall", requests)
        ways.free(PLAIN, requests)
    return ring(out, into, 4)
