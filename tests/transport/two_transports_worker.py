"""The ranks of test_two_transports.py: three, of which 0 and 2 are peers by shared segments, others by files.

Between hosts: four ranks, of which 0 and 1 are on one host.
"""

from __future__ import annotations

import numpy as np
import ways
from mpi4py import MPI

import tempi
from support import equal, outcomes
from support.building import Builder
from support.direct_counts import direct_since
from support.messages import End, Side
from support.p2p import PLAIN, Piece, Requests
from tempi.testing import FakeArray, FakeStream


def host_piece(array: np.ndarray) -> Piece:
    return Piece(array.ctypes.data, array.nbytes, MPI.BYTE)


def any_source_then_two(out: End, into: End, on_gpu: bool) -> int:
    """Rank 0 receives from any source what rank 2 sends, then two messages of rank 2 and one of rank 1."""
    comm = MPI.COMM_WORLD
    first, senders = np.zeros(40, np.uint8), [2, 2, 1]
    with Builder() as builder:
        wild = Side(into.later(7), builder) if on_gpu else None
        received = [Side(into.later(100 + k), builder) for k in range(3)]
        sent = [Side(out.later(k), builder) for k in range(4)]
        requests = Requests(4)
        if comm.rank == 0:
            PLAIN("Irecv", wild.piece if wild else host_piece(first), MPI.ANY_SOURCE, 9, comm, requests.at(3))
        comm.Barrier()
        if comm.rank == 2:
            PLAIN("Send", sent[3].piece if on_gpu else host_piece(np.full(40, 5, np.uint8)), 0, 9, comm)
        if comm.rank == 0:
            ways.complete(PLAIN, "Wait", requests)
            wild.check_received(sent[3].payload()) if wild else equal.check(first, 5)
            for k, sender in enumerate(senders):
                PLAIN("Irecv", received[k].piece, sender, k, comm, requests.at(k))
        comm.Barrier()
        before = outcomes.rows()
        for k, sender in enumerate(senders):
            if comm.rank == sender:
                PLAIN("Send", sent[k].piece, 0, k, comm)
        if comm.rank == 0:
            ways.complete(PLAIN, "Waitall", requests)
            for k in range(3):
                received[k].check_received(sent[k].payload())
        comm.Barrier()
    return direct_since(before)


def send_right_receive_left(out: End, into: End) -> None:
    """MPI_Sendrecv and MPI_Isendrecv, in host memory and in GPU memory: for rank 0 the two peers differ."""
    comm = MPI.COMM_WORLD
    right, left = (comm.rank + 1) % 3, (comm.rank - 1) % 3
    own, other = np.full(40, comm.rank, np.uint8), np.zeros(40, np.uint8)
    with Builder() as builder:
        sent, received = Side(out.later(comm.rank), builder), Side(into, builder)
        for pieces in ((host_piece(own), host_piece(other)), (sent.piece, received.piece)):
            PLAIN("Sendrecv", pieces[0], right, 5, pieces[1], left, 5, comm, MPI.Status())
        for way in filter(lambda way: way in ways.RECVS, ["Isendrecv"]):
            requests = Requests()
            PLAIN(way, host_piece(own), right, 6, host_piece(other), left, 6, comm, requests.at(0))
            ways.complete(PLAIN, "Wait", requests)
        received.check_received(Side(out.later(left), builder).payload())
    equal.check(other, left)


def blocking_calls_to_the_other_host(out: End, into: End) -> tuple[int, int]:
    """MPI_Send, MPI_Recv and MPI_Sendrecv with rank + 2, modulo 4: the messages of each kind that went direct."""
    world = MPI.COMM_WORLD
    reverse = world.Split(0, -world.rank)
    n_sends = n_sendrecvs = 0
    for comm in (world, reverse):
        other = (comm.rank + 2) % 4
        with Builder() as builder:
            sent = [Side(out.later(10 * comm.rank + k), builder) for k in range(2)]
            received = [Side(into.later(k), builder) for k in range(2)]
            expected = [Side(out.later(10 * other + k), builder).payload() for k in range(2)]
            before = outcomes.rows()
            for sends in (comm.rank < 2, comm.rank >= 2):
                if sends:
                    PLAIN("Send", sent[0].piece, other, 1, comm)
                else:
                    PLAIN("Recv", received[0].piece, other, 1, comm, MPI.Status())
            n_sends += direct_since(before)
            before = outcomes.rows()
            PLAIN("Sendrecv", sent[1].piece, other, 2, received[1].piece, other, 2, comm, MPI.Status())
            n_sendrecvs += direct_since(before)
            for k in range(2):
                received[k].check_received(expected[k])
    reverse.Free()
    return n_sends, n_sendrecvs


def reason_for_no_channel() -> str:
    """Of a request that two ranks exchange in the order of a stream."""
    comm, stream, array = MPI.COMM_WORLD, FakeStream(), FakeArray(64)
    make = comm.Recv_init if comm.rank else comm.Send_init
    request = make([array, MPI.BYTE], 1 - comm.rank, 3)
    tempi.start_enqueue(request, stream)
    tempi.wait_enqueue(request, stream)
    why = tempi.why_no_channel(request)
    request.Free()
    return why


def cancel_a_receive_of_the_library() -> None:
    """Rank 0 cancels a receive from rank 1 in host memory."""
    if MPI.COMM_WORLD.rank != 0:
        return
    requests, memory = Requests(), np.zeros(40, np.uint8)
    PLAIN("Irecv", host_piece(memory), 1, 77, MPI.COMM_WORLD, requests.at(0))
    PLAIN("Cancel", requests.at(0))
    assert ways.complete(PLAIN, "Wait", requests)[0].Is_cancelled()
