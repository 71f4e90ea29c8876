"""Sets of persistent messages of this rank to itself, each of them started by one MPI_Startall."""

from __future__ import annotations

import random

import ways
from mpi4py import MPI

from support.building import Builder
from support.messages import End, Side
from support.p2p import PLAIN, Requests

N_OFTEN = 3  # sets that come again and again, among others that come seldom


class Messages:
    """The messages of one set."""

    def __init__(self, out: End, into: End, first_tag: int, comm: MPI.Comm, builder: Builder) -> None:
        self.sides = [(Side(out.later(tag), builder), Side(into.later(tag), builder)) for tag in range(2)]
        self.requests = Requests(2 * len(self.sides))
        for k, (sent, received) in enumerate(self.sides):
            PLAIN("Recv_init", received.piece, 0, first_tag + k, comm, self.requests.at(2 * k))
            PLAIN("Send_init", sent.piece, 0, first_tag + k, comm, self.requests.at(2 * k + 1))
        self.is_active = False

    def turn(self) -> None:
        """Starts or completes them."""
        if self.is_active:
            ways.complete(PLAIN, "Waitall", self.requests)
            for sent, received in self.sides:
                received.check_received(sent.payload())
                received.refill(len(received.before))
        else:
            PLAIN("Startall", self.requests.size, self.requests.handles)
        self.is_active = not self.is_active

    def free(self) -> None:
        for i in range(self.requests.size):
            PLAIN("Request_free", self.requests.at(i))


def take_turns(out: End, into: End, n_sets: int, n_turns: int, seed: int) -> int:
    """Sets start and complete in a random order; the turns that were taken."""
    draw, comm = random.Random(seed), MPI.COMM_SELF.Dup()
    with Builder() as builder:
        sets = [Messages(out, into, 2 * k, comm, builder) for k in range(n_sets)]
        for _ in range(n_turns):
            draw.choice(sets[:N_OFTEN] if draw.random() < 0.3 else sets).turn()
        for one in sets:
            if one.is_active:
                one.turn()
            one.free()
    comm.Free()
    return n_turns
