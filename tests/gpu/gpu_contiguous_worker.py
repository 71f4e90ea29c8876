"""Contiguous GPU memory described by derived datatypes, between two ranks and to oneself, by every kind of call."""

from __future__ import annotations

import random
from functools import cache

from mpi4py import MPI

from support import constructors as c
from support.building import Builder
from support.messages import End, Side
from support.p2p import PLAIN, Requests
from support.typemap import Named

INT = Named("INT")
# The first two are moved wrongly by Open MPI 5.0.7 on a GPU; Open MPI 4.1 over a CUDA-aware UCX crashes at any.
SPECS = (
    c.Resized(0, 8, c.Dup(c.Indexed((2,), (-1,), INT))),
    c.Struct((1,), (-8,), (c.Resized(0, 8, c.Contiguous(2, INT)),)),
    c.Contiguous(5000, Named("DOUBLE")),
)
COUNT = 2


@cache
def comms() -> tuple[MPI.Comm, ...]:
    return MPI.COMM_WORLD, MPI.COMM_SELF


def ends(kind: str, spec: object, draw: random.Random) -> tuple[End, End]:
    return tuple(End(kind, spec, COUNT, draw.getrandbits(31)) for _ in "sr")  # type: ignore[return-value]


def exchange(kind: str, seed: int) -> int:
    """Every rank sends to the next one. Returns the number of messages that this rank has checked."""
    draw, checked = random.Random(seed), 0
    with Builder() as builder:
        for comm in comms():
            for spec in SPECS:
                for call in CALLS:
                    sent, received = (Side(end, builder) for end in ends(kind, spec, draw))
                    place = ((comm.rank + 1) % comm.size, 7, comm)
                    source = ((comm.rank - 1) % comm.size, 7, comm)
                    payload = sent.payload()  # the same on all ranks: both draw alike
                    target = CALLS[call](sent, received, place, source)
                    target.check_received(payload)
                    checked += 1
    return checked


def _nonblocking(sent: Side, received: Side, to: tuple, source: tuple) -> Side:
    requests = Requests(2)
    PLAIN("Irecv", received.piece, *source, requests.at(0))
    PLAIN("Isend", sent.piece, *to, requests.at(1))
    PLAIN("Wait", requests.at(0), MPI.Status())
    PLAIN("Wait", requests.at(1), MPI.Status())
    return received


def _blocking(sent: Side, received: Side, to: tuple, source: tuple) -> Side:
    request = Requests()
    PLAIN("Isend", sent.piece, *to, request.at(0))
    PLAIN("Recv", received.piece, *source, MPI.Status())
    PLAIN("Wait", request.at(0), MPI.Status())
    return received


def _sendrecv(sent: Side, received: Side, to: tuple, source: tuple) -> Side:
    PLAIN("Sendrecv", sent.piece, *to[:2], received.piece, *source, MPI.Status())
    return received


def _replace(sent: Side, _: Side, to: tuple, source: tuple) -> Side:
    PLAIN("Sendrecv_replace", sent.piece, *to[:2], *source, MPI.Status())
    return sent


def _persistent(sent: Side, received: Side, to: tuple, source: tuple) -> Side:
    requests = Requests(2)
    PLAIN("Recv_init", received.piece, *source, requests.at(0))
    PLAIN("Send_init", sent.piece, *to, requests.at(1))
    PLAIN("Startall", 2, requests.handles)
    for i in range(2):
        PLAIN("Wait", requests.at(i), MPI.Status())
        PLAIN("Request_free", requests.at(i))
    return received


CALLS = {
    "Isend, Irecv": _nonblocking,
    "Isend, Recv": _blocking,
    "Sendrecv": _sendrecv,
    "Sendrecv_replace": _replace,
    "Startall": _persistent,
}
