"""Ranks of test_renewed_buffers.py and test_direct_ranks.py: buffers and communicators that come and go."""

from __future__ import annotations

import numpy as np
import ways
from exchange_worker import RECEIVER, SENDER, ring
from mpi4py import MPI

from support import equal, memory, outcomes
from support.building import Builder
from support.direct_counts import direct_since
from support.messages import End, Image, Side
from support.p2p import PLAIN, Piece, Requests


def n_mapped() -> int:
    """Pieces of the fake device's memory, of this process and of others."""
    with open("/proc/self/maps") as maps:
        return sum("tempi_fake_device" in line for line in maps)


def reallocated(out: End, into: End, n: int) -> tuple[int, int, int]:
    """Messages into buffers that are freed after each: the direct ones, different addresses, and what is mapped more
    than after the first message."""
    comm, before, n_first, addresses = MPI.COMM_WORLD, outcomes.rows(), 0, set()
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
            n_first = n_first or n_mapped()
            del side
    return direct_since(before), len(addresses), n_mapped() - n_first


def close_communicators(out: End, into: End, n: int) -> int:
    """A wildcard on each of `n` communicators, then messages on a new one. The direct ones among those."""
    comms = [MPI.COMM_WORLD.Dup() for _ in range(n)]
    for comm in comms:
        comm.Sendrecv(bytearray(1), 1 - comm.rank, 0, bytearray(1), MPI.ANY_SOURCE, 0)
    direct = ring(out, into, 6) + ring(out, into, 6, False)
    for comm in comms:
        comm.Free()
    return direct


def renewed_behind_requests(out: End, into: End, n: int) -> tuple[int, int]:
    """Persistent messages of an element each between buffers of two, which are freed and allocated again between their
    starts: the direct ones, and the starts at an address where another buffer was."""
    comm, before, n_same = MPI.COMM_WORLD, outcomes.rows(), 0
    is_sender, side, requests = comm.rank == SENDER, None, Requests(2)
    peer, init = (RECEIVER, "Send_init") if is_sender else (SENDER, "Recv_init")
    with Builder() as builder:
        for k in range(n):
            address = side.buffer.address if side else 0
            del side
            side = Side((out if is_sender else into).later(k), builder)
            if side.buffer.address == address:
                n_same += 1
            else:
                for tag in range(2):
                    if address:
                        PLAIN("Request_free", requests.at(tag))
                    place = side.piece.address + tag * side.datatype.extent
                    PLAIN(init, Piece(place, 1, side.datatype), peer, tag, comm, requests.at(tag))
            if not is_sender:
                ways.again(PLAIN, requests)
            comm.Barrier()
            if is_sender:
                ways.again(PLAIN, requests)
            ways.complete(PLAIN, "Waitall", requests)
            if not is_sender:
                side.check_received(Image(out.later(k), builder).payload())
        for tag in range(2):
            PLAIN("Request_free", requests.at(tag))
    return direct_since(before), n_same


def renewed_in_part(n: int) -> tuple[int, int]:
    """The same of a receive into two allocations, of which the second is freed and allocated again."""
    comm, before, n_same, bytes_ = MPI.COMM_WORLD, outcomes.rows(), 0, 256
    first, request = memory.at_hand("device", np.zeros(4096, np.uint8)), Requests()
    second, datatype = None, MPI.BYTE.Create_vector(2, bytes_, 1024).Commit()
    if comm.rank == SENDER:
        PLAIN("Send_init", Piece(first.address, 1, datatype), RECEIVER, 8, comm, request.at(0))
    for k in range(n):
        comm.Barrier()
        sent = np.random.default_rng(k).integers(0, 256, 4096, np.uint8)
        if comm.rank == SENDER:
            first.write(sent)
        else:
            address = second.address if second else 0
            del second
            second = memory.at_hand("device", np.zeros(4096, np.uint8))
            n_same += second.address == address
            if second.address != address:
                if address:
                    PLAIN("Request_free", request.at(0))
                datatype.Free()
                datatype = MPI.BYTE.Create_hindexed([bytes_] * 2, [first.address, second.address]).Commit()
                PLAIN("Recv_init", Piece(0, 1, datatype), SENDER, 8, comm, request.at(0))
            ways.again(PLAIN, request)
        comm.Barrier()
        if comm.rank == SENDER:
            ways.again(PLAIN, request)
        ways.complete(PLAIN, "Wait", request)
        if comm.rank == RECEIVER:
            found = np.concatenate((first.read()[:bytes_], second.read()[:bytes_]))
            equal.check(found, np.concatenate((sent[:bytes_], sent[1024:][:bytes_])))
    PLAIN("Request_free", request.at(0))
    datatype.Free()
    return direct_since(before), n_same
