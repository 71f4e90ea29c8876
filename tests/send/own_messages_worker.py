"""The rank of test_own_messages.py: messages to itself, whose FIN messages go while their kernels run."""

from __future__ import annotations

from threading import Event, Thread
from typing import NamedTuple

import ways
from errors_worker import error_class
from mpi4py import MPI

from support import outcomes
from support.building import Builder
from support.direct_counts import bounced_since, counts_since, direct_since
from support.messages import End, Side
from support.p2p import PLAIN, Requests
from tempi._library import library


class Left(NamedTuple):
    """What a call left to the next one.

    Attributes
    ----------
    unfinished : bool
        Work of the device was queued, and not done.
    direct : int
        Messages that went straight into their receiver.
    """

    unfinished: bool
    direct: int


def started(out: End, into: End, builder: Builder, comm: MPI.Intracomm) -> tuple[Side, Side, Requests]:
    """A receive and its message: both buffers, and the requests in this order."""
    source, target, requests = Side(out, builder), Side(into, builder), Requests(2)
    PLAIN("Irecv", target.piece, 0, 5, comm, requests.at(0))
    PLAIN("Isend", source.piece, 0, 5, comm, requests.at(1))
    return source, target, requests


def left_by_a_send(out: End, into: End, completion: str) -> Left:
    comm = MPI.COMM_SELF.Dup()
    before = outcomes.rows()
    with Builder() as builder:
        source, target, requests = started(out, into, builder, comm)
        unfinished = library().fake_unfinished() > 0
        ways.complete(PLAIN, completion, requests)
        target.check_received(source.payload())
    comm.Free()
    return Left(unfinished, direct_since(before))


def left_by_a_misfit(out: End, into: End, completion: str) -> tuple[int, int, int]:
    """The counts of messages through a bounce buffer, of declined ones, and of those that fell back."""
    comm = MPI.COMM_SELF.Dup()
    before = outcomes.rows()
    with Builder() as builder:
        source, target, requests = started(out, into, builder, comm)
        ways.complete(PLAIN, completion, requests)
        target.check_received(source.payload())
    comm.Free()
    counts = counts_since(before)
    return bounced_since(before), counts.declined, counts.fell_back


def started_several_times(out: End, into: End, n: int) -> tuple[int, int]:
    """Persistent requests. The counts of messages through a bounce buffer, and of declined ones."""
    comm = MPI.COMM_SELF.Dup()
    before = outcomes.rows()
    with Builder() as builder:
        source, target, requests = Side(out, builder), Side(into, builder), Requests(2)
        PLAIN("Recv_init", target.piece, 0, 5, comm, requests.at(0))
        PLAIN("Send_init", source.piece, 0, 5, comm, requests.at(1))
        for k in range(n):
            source.refill(out.later(k).seed)
            target.refill(into.later(k).seed)
            PLAIN("Startall", 2, requests.handles)
            ways.complete(PLAIN, "Waitall", requests)
            target.check_received(source.payload())
        ways.free(PLAIN, requests)
    comm.Free()
    return bounced_since(before), counts_since(before).declined


def cancelled(out: End, into: End) -> int:
    """MPI_Cancel of a send that its receive has met: it is too late. The direct messages."""
    comm = MPI.COMM_SELF.Dup()
    before = outcomes.rows()
    with Builder() as builder:
        source, target, requests = started(out, into, builder, comm)
        PLAIN("Cancel", requests.at(1))
        ways.complete(PLAIN, "Waitall", requests)
        target.check_received(source.payload())
    comm.Free()
    return direct_since(before)


def lost(out: End, into: End) -> list[int]:
    """The classes of the errors that the receive and the send end with, when no kernel and no copy works."""
    comm = MPI.COMM_SELF.Dup()
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    with Builder() as builder:
        source, target = Side(out, builder), Side(into, builder)
        receive, send = Requests(), Requests()
        PLAIN("Irecv", target.piece, 0, 5, comm, receive.at(0))
        PLAIN("Isend", source.piece, 0, 5, comm, send.at(0))
        classes = [error_class(ways.complete, PLAIN, "Wait", requests) for requests in (receive, send)]
        again = Requests(2)
        PLAIN("Irecv", target.piece, 0, 5, comm, again.at(0))
        PLAIN("Isend", source.piece, 0, 5, comm, again.at(1))
        ways.complete(PLAIN, "Waitall", again)
        target.check_received(source.payload())
    comm.Free()
    return classes


def lost_half(out: End, into: End) -> tuple[int, int]:
    """Errors that are told by the end of an Isendrecv whose sent bytes are lost; by the end of their receive."""
    comm = MPI.COMM_SELF.Dup()
    told: list[int] = []
    comm.Set_errhandler(MPI.Comm.Create_errhandler(lambda _, code: told.append(code)))
    with Builder() as builder:
        sources = [Side(out.later(k), builder) for k in range(2)]
        targets = [Side(into.later(100 + k), builder) for k in range(2)]
        receive, both, send = Requests(), Requests(), Requests()
        PLAIN("Irecv", targets[0].piece, 0, 1, comm, receive.at(0))
        half = (sources[0].piece, 0, 1, targets[1].piece, 0, 2)
        PLAIN("Isendrecv", *half, comm, both.at(0))
        PLAIN("Isend", sources[1].piece, 0, 2, comm, send.at(0))
        ways.complete(PLAIN, "Wait", both)
        by_both = len(told)
        error_class(ways.complete, PLAIN, "Wait", receive)
        ways.complete(PLAIN, "Wait", send)
        targets[1].check_received(sources[1].payload())
    comm.Free()
    return by_both, len(told)


def one_waits_for_the_other(out: End, into: End) -> int:
    """A thread waits for a message that another sends behind the end of a receive that the first posted."""
    comm, other = MPI.COMM_SELF.Dup(), MPI.COMM_SELF.Dup()
    before = outcomes.rows()
    with Builder() as builder:
        sides = [(Side(out.later(k), builder), Side(into.later(100 + k), builder)) for k in range(2)]
        posted, failures = Event(), []
        receive, sends, last = Requests(), Requests(2), Requests()

        def second() -> None:
            try:
                posted.wait()
                ways.complete(PLAIN, "Wait", receive)
                sides[0][1].check_received(sides[0][0].payload())
                PLAIN("Isend", sides[1][0].piece, 0, 6, other, last.at(0))
                ways.complete(PLAIN, "Wait", last)
            except BaseException as failure:  # for the first thread
                failures.append(failure)

        thread = Thread(target=second)
        thread.start()
        PLAIN("Irecv", sides[0][1].piece, 0, 5, comm, receive.at(0))
        PLAIN("Irecv", sides[1][1].piece, 0, 6, other, sends.at(0))
        PLAIN("Isend", sides[0][0].piece, 0, 5, comm, sends.at(1))
        posted.set()
        ways.complete(PLAIN, "Waitall", sends)
        thread.join()
        if failures:
            raise failures[0]
        sides[1][1].check_received(sides[1][0].payload())
    other.Free()
    comm.Free()
    return direct_since(before)
