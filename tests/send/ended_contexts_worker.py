"""Ranks of test_ended_contexts.py: GPU contexts that the program ends between messages."""

from __future__ import annotations

import threading
import time

import numpy as np
import ways
from exchange_worker import RECEIVER, SENDER, ring
from mpi4py import MPI

from support import calls, equal, memory, outcomes
from support.building import Builder
from support.direct_counts import direct_since
from support.messages import End, Image, Side
from support.p2p import PLAIN, Piece, Requests
from tempi._library import library

PERSISTENT, BLOCKS, BLOCK, STRIDE = 2, 40, 8, 20


def end_context(*buffers: memory.Buffer) -> None:
    """The program frees none of these buffers: they go with the context."""
    for buffer in buffers:
        assert isinstance(buffer, memory.Fake)
        buffer.forget()
    library().fake_end_context(0)


def phases(out: End, into: End, n: int, ranks: list[int]) -> list[int]:
    """Messages around the ring in `n` phases, behind each of which the contexts of `ranks` end: the direct ones."""
    comm, direct = MPI.COMM_WORLD, []
    for k in range(n):
        before = outcomes.rows()
        ring(out.later(k), into, 4)
        ring(out.later(k), into, 4)
        direct.append(direct_since(before))
        comm.Barrier()
        if comm.rank in ranks:
            end_context()
        comm.Barrier()
    return direct


def renewed_requests(out: End, into: End, n: int) -> int:
    """Persistent messages between buffers whose context ends between their starts, and which come again at the same
    addresses. The starts at an address where a buffer of an ended context was."""
    comm, n_same = MPI.COMM_WORLD, 0
    is_sender, side, requests = comm.rank == SENDER, None, Requests(1)
    with Builder() as builder:
        for k in range(n):
            address = side.buffer.address if side else 0
            if side:
                end_context(side.buffer)
            side = Side((out if is_sender else into).later(k), builder)
            n_same += side.buffer.address == address
            if side.buffer.address != address:
                if address:
                    PLAIN("Request_free", requests.at(0))
                peer, init = (RECEIVER, "Send_init") if is_sender else (SENDER, "Recv_init")
                PLAIN(init, side.piece, peer, 4, comm, requests.at(0))
            for _ in range(2):
                ways.again(PLAIN, requests)
                ways.complete(PLAIN, "Wait", requests)
            if not is_sender:
                side.check_received(Image(out.later(k), builder).payload())
            comm.Barrier()
        PLAIN("Request_free", requests.at(0))
    return n_same


def freed_with_its_requests(out: End, into: End) -> None:
    """Requests, messages that would come again, datatypes and a communicator end behind the context."""
    comm = MPI.COMM_WORLD.Dup()
    is_sender, requests = comm.rank == SENDER, Requests(PERSISTENT)
    with Builder() as builder:
        side = Side(out if is_sender else into, builder)
        peer, init, call = (RECEIVER, "Send_init", "Isend") if is_sender else (SENDER, "Recv_init", "Irecv")
        for i in range(PERSISTENT):
            PLAIN(init, side.piece, peer, i, comm, requests.at(i))
        for _ in range(3):
            ways.again(PLAIN, requests)
            ways.complete(PLAIN, "Waitall", requests)
            PLAIN(call, side.piece, peer, 9, comm, (one := Requests()).at(0))
            ways.complete(PLAIN, "Wait", one)
        comm.Barrier()
        end_context(side.buffer)
        for i in range(PERSISTENT):
            PLAIN("Request_free", requests.at(i))
    comm.Free()


def posted_receive() -> tuple[int, bool]:
    """A receive is posted, and its context ends before the message comes: the direct messages, and whether the library
    tells of the failure."""
    comm, before, fails = MPI.COMM_WORLD, outcomes.rows(), False
    vector = MPI.BYTE.Create_vector(BLOCKS, BLOCK, STRIDE).Commit()
    buffer = memory.at_hand("device", np.zeros(BLOCKS * STRIDE, np.uint8))
    if comm.rank == RECEIVER:
        request = Requests()
        PLAIN("Irecv", Piece(buffer.address, 1, vector), SENDER, 6, comm, request.at(0))
        end_context(buffer)
        end = time.monotonic() + 0.1  # contexts are looked at each ten milliseconds
        while time.monotonic() < end:
            comm.Iprobe(SENDER, 7)
        comm.Barrier()
        handler = comm.Get_errhandler()
        comm.Set_errhandler(MPI.ERRORS_RETURN)
        try:
            ways.complete(PLAIN, "Wait", request)
        except MPI.Exception:
            fails = True
        comm.Set_errhandler(handler)
    else:
        comm.Barrier()
        PLAIN("Send", Piece(buffer.address, 1, vector), RECEIVER, 6, comm)
    vector.Free()
    return direct_since(before), fails


def threads_end(out: End, n: int) -> None:
    """Threads pack, and end before the context, behind it, and in the next one."""
    with Builder() as builder:
        for k in range(n):
            side = Side(out.later(k), builder)
            packed = memory.Host(np.zeros(len(side.payload()), np.uint8))
            gone, has_packed = threading.Event(), threading.Event()

            def pack(waits: bool, side=side, packed=packed, gone=gone, has_packed=has_packed) -> None:
                n_bytes, where = len(packed.read()), side.piece
                result = calls.program().pack(where.address, 1, where.datatype, packed.address, n_bytes)
                assert result == (0, n_bytes)
                has_packed.set()
                if waits:
                    gone.wait()

            for waits in (False, True):
                has_packed.clear()
                thread = threading.Thread(target=pack, args=(waits,))
                thread.start()
                has_packed.wait()
                if not waits:
                    thread.join()
                equal.check(packed.read(), side.payload())
            end_context(side.buffer)
            gone.set()
            thread.join()
