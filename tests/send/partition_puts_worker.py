"""Partitioned messages of rank 0 to rank 1 that are put into the receive buffer, partition by partition."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import ways
from errors_worker import error_class
from mpi4py import MPI
from partitioned_worker import INT, TAG, Message

from support import calls, outcomes
from support import constructors as c
from support.building import Builder
from support.direct_counts import direct_since
from support.messages import End, Image, Side
from support.p2p import PLAIN, Requests

ROUNDS_OF_LIBRARY = 6  # more than both ends take to find each other, on slow machines, too


class Pair(NamedTuple):
    """A message and the partitions of both sides."""

    sent: End
    received: End
    n_sent: int
    n_received: int


class Ends:
    """This rank's side of a pair."""

    def __init__(self, pair: Pair, builder: Builder) -> None:
        self.is_sender = MPI.COMM_WORLD.Get_rank() == 0
        self.pair = pair
        self.end = pair.sent if self.is_sender else pair.received
        self.side = Side(self.end, builder)
        self.builder = builder
        self.message = Message(PLAIN, self.side, pair.n_sent if self.is_sender else pair.n_received)

    def refill(self, turn: int) -> None:
        if turn < ROUNDS_OF_LIBRARY:
            MPI.COMM_WORLD.Barrier()  # a sender that is rounds ahead makes more of them the library's
        self.payload = Image(self.pair.sent.later(turn), self.builder).payload()
        self.side.refill(self.end.later(turn).seed)

    def check(self) -> None:
        if self.is_sender:
            self.side.check_untouched()
        else:
            self.side.check_received(self.payload)


class Words:
    """The words by which kernels make the partitions of a request ready (include/tempi_device.h)."""

    def __init__(self, request: object) -> None:
        self._shim = ctypes.CDLL(None)
        self._at, n = ctypes.POINTER(ctypes.c_uint32)(), ctypes.c_int()
        self.code = self._shim.TEMPI_Prequest_create(request, ctypes.byref(self._at), ctypes.byref(n))
        self.n = n.value

    def set(self, partition: int) -> None:
        self._at[partition] = 1

    def free(self) -> None:
        assert self._shim.TEMPI_Prequest_free(self._at) == 0


def ready_by_words(pair: Pair, rounds: int, seed: int, completion: str, mixed: int) -> int:
    """Another thread, in place of a kernel, sets the words while this one completes the request; MPI_Pready makes
    `mixed` partitions ready. Returns the number of puts."""
    draw, before = random.Random(seed), outcomes.rows()
    with Builder() as builder:
        ends = Ends(pair, builder)
        words = Words(ends.message.request.at(0)) if ends.is_sender else None
        for turn in range(rounds):
            ends.refill(turn)
            ends.message.start()
            if words is None:
                ends.message.complete("Wait")
            else:
                order = draw.sample(range(words.n), words.n)
                ends.message.ready(*order[:mixed])
                kernel = threading.Thread(target=_set_words, args=(words, order[mixed:]))
                kernel.start()
                ends.message.complete(completion)
                kernel.join()
            ends.check()
        if words is not None:
            words.free()
        ends.message.free()
        MPI.COMM_WORLD.Barrier()
    return direct_since(before)


def _set_words(words: Words, partitions: list[int]) -> None:
    for one in partitions:
        time.sleep(0.001)
        words.set(one)


def words_of_others(pair: Pair) -> list[int]:
    """The classes of errors: a receive, an active send, MPI_REQUEST_NULL."""
    MPI.COMM_WORLD.Set_errhandler(MPI.ERRORS_RETURN)
    null = Requests()
    codes = [Words(null.at(0)).code]
    with Builder() as builder:
        ends = Ends(pair, builder)
        ends.refill(0)
        ends.message.start()
        codes.append(Words(ends.message.request.at(0)).code)
        if ends.is_sender:
            ends.message.ready(*range(pair.n_sent))
        ends.message.complete("Wait")
        ends.check()
        ends.message.free()
    MPI.COMM_WORLD.Set_errhandler(MPI.ERRORS_ARE_FATAL)
    return [MPI.Get_error_class(code) for code in codes]


def _make_ready_by_threads(message: Message, draw: random.Random, n_threads: int) -> None:
    order = draw.sample(range(message.n), message.n)
    failures: list[BaseException] = []

    def run(first: int) -> None:
        try:
            message.ready(*order[first::n_threads])
        except BaseException as failure:  # told by the thread that joins
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(first,)) for first in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def several_pairs(pairs: list[Pair], rounds: int, seed: int, n_threads: int) -> int:
    """All pairs have one tag; they are started in another order on each side. Returns the number of puts."""
    draw = random.Random(seed + MPI.COMM_WORLD.Get_rank())
    before = outcomes.rows()
    with Builder() as builder:
        all_ends = [Ends(pair, builder) for pair in pairs]
        for turn in range(rounds):
            for ends in draw.sample(all_ends, len(all_ends)):
                ends.refill(turn)
                ends.message.start()
                if ends.is_sender:
                    _make_ready_by_threads(ends.message, draw, n_threads)
                else:
                    for partition in draw.sample(range(ends.message.n), draw.randint(0, ends.message.n)):
                        _ask(ends, partition, turn)
            for ends in all_ends:
                ends.message.complete("Wait")
                ends.check()
        for ends in all_ends:
            ends.message.free()
        MPI.COMM_WORLD.Barrier()
    return direct_since(before)


def _ask(ends: Ends, partition: int, turn: int) -> None:
    """Whether a partition has arrived.

    Open MPI 5.0.11 alone, in host memory: where several pairs have one tag, MPI_Parrived says yes too early, and then
    MPI_Wait returns before the bytes have arrived. So its own rounds are not asked.
    """
    is_put = ends.end.kind == "device" and os.environ["TEMPI_NO_DIRECT"] == "0" and turn >= ROUNDS_OF_LIBRARY
    if not is_put and MPI.get_vendor()[0] == "Open MPI":
        return
    flag = ctypes.c_int()
    PLAIN("Parrived", ends.message.request.value(), partition, ctypes.byref(flag))
    if flag.value and is_put:
        ends.message.check_partition(partition, ends.payload)


def partitions_arrive_alone(pair: Pair) -> None:
    """Each partition that is received arrives when the partitions of the sender that it overlaps are ready."""
    with Builder() as builder:
        ends = Ends(pair, builder)
        for turn in range(ROUNDS_OF_LIBRARY + 2):
            ends.refill(turn)
            ends.message.start()
            is_put = turn >= ROUNDS_OF_LIBRARY
            ready = [0] * pair.n_sent
            for partition in random.Random(turn).sample(range(pair.n_sent), pair.n_sent):
                if ends.is_sender:
                    ends.message.ready(partition)
                ready[partition] = 1
                if is_put and not ends.is_sender:
                    _check_arrivals(ends, ready)
                if is_put:
                    MPI.COMM_WORLD.Barrier()
            ends.message.complete("Wait")
            ends.check()
        ends.message.free()


def _check_arrivals(ends: Ends, ready: list[int]) -> None:
    n, n_sent = ends.message.n, len(ready)
    for partition in range(n):
        overlapped = ready[partition * n_sent // n : ((partition + 1) * n_sent - 1) // n + 1]
        if all(overlapped):
            ends.message.await_arrival(partition)
            ends.message.check_partition(partition, ends.payload)
        else:
            flag = ctypes.c_int(1)
            PLAIN("Parrived", ends.message.request.value(), partition, ctypes.byref(flag))
            assert not flag.value


def sender_computes() -> None:
    """The receiver starts late; meanwhile the sender is in no call of a request."""
    pair = Pair(End("device", INT, 24), End("device", INT, 24, 1), 4, 4)
    with Builder() as builder:
        ends = Ends(pair, builder)
        for turn in range(ROUNDS_OF_LIBRARY + 2):
            ends.refill(turn)
            if ends.is_sender:
                ends.message.start()
                ends.message.ready(2, 0, 3, 1)
            MPI.COMM_WORLD.Barrier()
            if not ends.is_sender:
                ends.message.start()
                if turn >= ROUNDS_OF_LIBRARY:
                    ends.message.await_arrival(3)
            MPI.COMM_WORLD.Barrier()
            ends.message.complete("Wait")
            ends.check()
        ends.message.free()


def errors(pair: Pair) -> None:
    """Wrong partitions are reported, and change nothing."""
    with Builder() as builder:
        ends = Ends(pair, builder)
        MPI.COMM_WORLD.Set_errhandler(MPI.ERRORS_RETURN)
        for turn in range(ROUNDS_OF_LIBRARY + 1):
            ends.refill(turn)
            ends.message.start()
            is_put = turn >= ROUNDS_OF_LIBRARY
            if ends.is_sender:
                if is_put:
                    _is_refused(lambda: ends.message.ready(ends.message.n))
                    _is_refused(lambda: ends.message.ready(-1))
                    _is_refused(lambda: ends.message.ready_range(2, 1))
                ends.message.ready(1)
                if is_put:
                    _is_refused(lambda: ends.message.ready(1))
                    _is_refused(lambda: ends.message.ready_range(0, 1))
                ends.message.ready(*(i for i in range(ends.message.n) if i != 1))
            ends.message.complete("Wait")
            ends.check()
        ends.message.free()


def _is_refused(act: Callable[[], None]) -> None:
    assert error_class(act) == MPI.ERR_ARG


def statuses(pair: Pair) -> None:
    """A receive tells its source, its tag and its size."""
    with Builder() as builder:
        ends = Ends(pair, builder)
        for turn in range(ROUNDS_OF_LIBRARY + 2):
            ends.refill(turn)
            ends.message.start()
            if ends.is_sender:
                ends.message.ready(*range(ends.message.n))
            [status] = ways.complete(PLAIN, "Wait", ends.message.request)
            if not ends.is_sender and turn >= ROUNDS_OF_LIBRARY:
                assert (status.Get_source(), status.Get_tag()) == (0, TAG)
                assert status.Get_elements(MPI.BYTE) == ends.side.size
        ends.message.free()


def sender_frees_its_request(pair: Pair) -> None:
    """When all partitions are ready, in a round of puts that the receiver starts later."""
    with Builder() as builder:
        ends = Ends(pair, builder)
        for turn in range(ROUNDS_OF_LIBRARY + 1):
            is_last = turn == ROUNDS_OF_LIBRARY
            ends.refill(turn)
            if ends.is_sender:
                ends.message.start()
                ends.message.ready(*range(ends.message.n))
                if is_last:
                    ends.message.free()
            if is_last:
                MPI.COMM_WORLD.Barrier()
            if not ends.is_sender:
                ends.message.start()
            if not (is_last and ends.is_sender):
                ends.message.complete("Wait")
                ends.check()
        MPI.COMM_WORLD.Barrier()
        if not ends.is_sender:
            ends.message.free()


def missing_partitions(pair: Pair) -> None:
    """In the last round, a round of puts, the sender is killed when the first partition is ready."""
    with Builder() as builder:
        ends = Ends(pair, builder)
        for turn in range(ROUNDS_OF_LIBRARY + 1):
            ends.refill(turn)
            ends.message.start()
            if ends.is_sender:
                ends.message.ready(0)
                if turn == ROUNDS_OF_LIBRARY:
                    os.kill(os.getpid(), signal.SIGKILL)
                ends.message.ready(*range(1, ends.message.n))
            ends.message.complete("Wait")


def to_itself(rounds: int) -> int:
    """Both ends are of one process."""
    spec = c.Vector(3, 1, 2, INT)
    comm = MPI.COMM_WORLD
    before = outcomes.rows()
    with Builder() as builder:
        out, into = Side(End("device", spec, 8), builder), Side(End("device", INT, 24, 1), builder)
        requests = []
        for side, n, init in ((out, 8, "Psend_init"), (into, 4, "Precv_init")):
            request = Requests()
            piece = side.piece
            arguments = (ctypes.c_void_p(piece.address), n, ctypes.c_int64(piece.count // n))
            PLAIN(init, *arguments, calls.handle(piece.datatype), comm.Get_rank(), TAG, comm,
                  calls.handle(MPI.INFO_NULL), request.at(0))  # fmt: skip
            requests.append(request)
        for turn in range(rounds):
            out.refill(turn)
            into.refill(turn + 1000)
            payload = Image(End("device", spec, 8, turn), builder).payload()
            for request in requests:
                ways.again(PLAIN, request)
            for partition in np.random.default_rng(turn).permutation(8):
                PLAIN("Pready", int(partition), requests[0].value())
            for request in requests:
                ways.complete(PLAIN, "Wait", request)
            into.check_received(payload)
        for request in requests:
            ways.free(PLAIN, request)
    return direct_since(before)
