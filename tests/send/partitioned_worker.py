"""Partitioned messages of rank 0 to rank 1, in memory of any kind."""

from __future__ import annotations

import ctypes
import random
import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import ways
from mpi4py import MPI

from support import calls, equal
from support import constructors as c
from support.building import Builder
from support.defects import arrivals_are_inexact, loses_partitions_of_threads, partitions_travel_together
from support.messages import End, Image, Side
from support.p2p import PLAIN, Form, Requests
from support.typemap import Named

N_LEAVES = 24  # of each message
TAG = 5
INT = Named("INT")
HOST_KINDS = ("host", "pinned")  # the message is the library's


class Case(NamedTuple):
    sent: End
    received: End
    n_sent: int  # partitions
    n_received: int
    ready: str
    completion: str
    form: Form
    seed: int


class Message:
    """One side of a partitioned message and its request."""

    def __init__(self, form: Form, side: Side, n_partitions: int) -> None:
        me = MPI.COMM_WORLD.Get_rank()
        self.form, self.side, self.n = form, side, n_partitions
        self.request = Requests()
        piece = side.piece
        arguments = (ctypes.c_void_p(piece.address), n_partitions, ctypes.c_int64(piece.count // n_partitions))
        arguments += (calls.handle(piece.datatype), 1 - me, TAG, MPI.COMM_WORLD)  # type: ignore[assignment]
        init = "Psend_init" if me == 0 else "Precv_init"
        form(init, *arguments, calls.handle(MPI.INFO_NULL), self.request.at(0))

    def start(self) -> None:
        ways.again(self.form, self.request)

    def ready(self, *partitions: int) -> None:
        for one in partitions:
            self.form("Pready", one, self.request.value())

    def ready_range(self, first: int, last: int) -> None:
        self.form("Pready_range", first, last, self.request.value())

    def ready_list(self, partitions: list[int]) -> None:
        self.form("Pready_list", len(partitions), (ctypes.c_int * len(partitions))(*partitions), self.request.value())

    def await_arrival(self, partition: int) -> None:
        ways.poll(lambda flag: self.form("Parrived", self.request.value(), partition, flag))

    def check_partition(self, partition: int, payload: np.ndarray) -> None:  # type: ignore[type-arg]
        """Its bytes are there; the others may be."""
        n_bytes = len(payload) // self.n
        packed = slice(partition * n_bytes, (partition + 1) * n_bytes)
        at = self.side.message.byte_offsets()[packed] + self.side.origin
        equal.check(self.side.buffer.read()[at], payload[packed])

    def complete(self, completion: str) -> None:
        ways.complete(self.form, completion, self.request)

    def free(self) -> None:
        ways.free(self.form, self.request)


def _make_ready(message: Message, how: str, draw: random.Random) -> None:
    partitions = draw.sample(range(message.n), message.n)
    cut = draw.randint(0, message.n - 1)
    if how == "Pready":
        message.ready(*partitions)
    elif how == "Pready_range":
        message.ready_range(cut, message.n - 1)
        if cut > 0:
            message.ready_range(0, cut - 1)
    else:
        message.ready_list(partitions[cut:])
        message.ready_list(partitions[:cut])


def exchange(case: Case) -> None:
    """The request is started three times; the datatype is freed after it is made."""
    is_asked = case.n_sent == case.n_received or not arrivals_are_inexact()
    me, draw = MPI.COMM_WORLD.Get_rank(), random.Random(case.seed)
    builder = Builder()
    with builder:
        end = case.sent if me == 0 else case.received
        side = Side(end, builder)
        message = Message(case.form, side, case.n_sent if me == 0 else case.n_received)
        payloads = [Image(case.sent.later(turn), builder).payload() for turn in range(3)]
    for turn, payload in enumerate(payloads):
        if me == 0:
            side.refill(case.sent.later(turn).seed)
            message.start()
            _make_ready(message, case.ready, draw)
            message.complete(case.completion)
            side.check_untouched()
        else:
            side.refill(case.received.later(turn).seed)
            message.start()
            for partition in draw.sample(range(message.n), draw.randint(0, message.n)):
                if is_asked:
                    message.await_arrival(partition)
                    message.check_partition(partition, payload)
                elif case.received.kind not in HOST_KINDS:
                    message.await_arrival(partition)  # which may be too early
            message.complete(case.completion)
            side.check_received(payload)
            if is_asked:
                for partition in range(message.n):  # of an inactive request: at once
                    message.await_arrival(partition)
                side.check_received(payload)
    message.free()
    MPI.COMM_WORLD.Barrier()


def partitions_arrive_one_by_one(kind: str) -> None:
    """A partition is in the buffer when MPI_Parrived says so, while others are not ready, if the library can."""
    me, n = MPI.COMM_WORLD.Get_rank(), 4
    end = End(kind, INT, N_LEAVES) if kind in HOST_KINDS else End(kind, c.Vector(2, 1, 3, INT), N_LEAVES // 2)
    with Builder() as builder:
        side = Side(end if me == 0 else end.later(1), builder)
        payload = Image(end, builder).payload()
        message = Message(PLAIN, side, n)
        message.start()
        if me == 0 and partitions_travel_together():
            message.ready(*range(n))
        for partition in (2, 0, 3, 1):
            if me == 0:
                if not partitions_travel_together():
                    message.ready(partition)
            else:
                message.await_arrival(partition)
                message.check_partition(partition, payload)
            MPI.COMM_WORLD.Barrier()
        message.complete("Wait")
        if me == 1:
            side.check_received(payload)
        message.free()


def threads(kind: str, rounds: int) -> None:
    """Threads make partitions ready, and ask for their arrival; another one waits for the request meanwhile."""
    me, n = MPI.COMM_WORLD.Get_rank(), 8
    end = End(kind, c.Vector(3, 1, 2, INT), N_LEAVES // 3)
    with Builder() as builder:
        side = Side(end if me == 0 else end.later(1), builder)
        payload = Image(end, builder).payload()
        message = Message(PLAIN, side, n)
        for _ in range(rounds):
            side.refill((end if me == 0 else end.later(1)).seed)
            message.start()
            act = message.ready if me == 0 else message.await_arrival
            if loses_partitions_of_threads():
                _with_threads(n, act, lambda: None)
                message.complete("Wait")
            else:
                _with_threads(n, act, lambda: message.complete("Wait"))
            if me == 1:
                side.check_received(payload)
        message.free()
        MPI.COMM_WORLD.Barrier()


def _with_threads(n: int, act: Callable[[int], None], meanwhile: Callable[[], None]) -> None:
    """Two threads act on half of the partitions each."""
    failures: list[BaseException] = []

    def run(partitions: Iterable[int]) -> None:
        try:
            for one in partitions:
                act(one)
        except BaseException as failure:  # told by the thread that joins
            failures.append(failure)

    workers = [threading.Thread(target=run, args=(range(first, n, 2),)) for first in (0, 1)]
    for worker in workers:
        worker.start()
    meanwhile()
    for worker in workers:
        worker.join()
    if failures:
        raise failures[0]
