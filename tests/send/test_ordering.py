"""Messages between two ranks do not overtake one another, whoever handles them, blocking or not, of whatever size."""

import random
from dataclasses import dataclass

import calls_worker
import pytest
import ways
from mpi4py import MPI

from support import effort
from support.building import Builder
from support.messages import KINDS, End, Image, Side, check_status, make_end
from support.p2p import FORMS, Form

PROGRAMS = {"quick": 3, "ci": 12, "full": 200}[effort.PROFILE]


@dataclass(frozen=True)
class Step:
    """The k-th message: all are received in this order, whatever their tags."""

    tag: int
    sent: End
    received: End
    send: str
    recv: str
    form: Form
    any_tag: bool
    any_source: bool
    settle: bool  # complete all open requests here


def draw_steps(drawn: random.Random, length: int, one_tag: bool) -> list[Step]:
    """Message k is one that its bytes tell apart: the random bytes of its seed.

    A receive with its own tag may not overtake one with a wildcard, so the order is the same with any mixture.
    """
    steps = []
    for _ in range(length):
        n = drawn.choice((12, 12, 24, 120, 1200, 12_000))
        maker = drawn.choice(("vector", "indexed", "named", "struct"))
        sent = make_end(drawn.choice(KINDS), maker, "INT", n, drawn)
        received = make_end(drawn.choice(KINDS), drawn.choice(("vector", "named", "subarray")), "INT", 12_000, drawn)
        send = drawn.choice(("Isend", "Isend", "Send", "Bsend", "Ibsend", "Issend", "Send_init"))
        recv = drawn.choice(("Irecv", "Irecv", "Irecv", "Recv", "Recv_init", "Mrecv", "Recv probed"))
        tag = 1 if one_tag else drawn.randint(1, 3)
        flags = [drawn.random() < p for p in (0.5, 0.3, 0.2)]
        steps.append(Step(tag, sent, received, send, recv, drawn.choice(FORMS), *flags))
    return steps


def run(steps: list[Step], sender: int) -> None:
    comm = calls_worker.comms()["world"]
    me = comm.Get_rank()
    with Builder() as builder:
        opened = []
        for step in steps:
            other = MPI.ANY_SOURCE if step.any_source and me != sender else 1 - me
            at = ways.Place(comm, other, MPI.ANY_TAG if step.any_tag and me != sender else step.tag)
            side, status = Side(step.sent if me == sender else step.received, builder), MPI.Status()
            if me == sender:
                request = ways.send(step.form, step.send, side.piece, at)
            else:
                request = ways.receive(step.form, step.recv, side.piece, at, status)
            opened.append((step, side, request, status))
            if step.settle:
                _settle(opened, me == sender, builder)
        _settle(opened, me == sender, builder)


def _settle(opened: list, sending: bool, builder: Builder) -> None:
    for k, (step, side, request, status) in enumerate(opened):
        if request:
            [status] = ways.complete(step.form, "Wait" if k % 2 else "Test", request)
            ways.free(step.form, request)
        if not sending:
            payload = Image(step.sent, builder).payload()
            check_status(status, calls_worker.peer_in("world"), step.tag, len(payload), side, "INT")
            side.check_received(payload)
    opened.clear()


@pytest.mark.parametrize("one_tag", [True, False], ids=["one tag", "three tags"])
@pytest.mark.parametrize("options", [{}, {"TEMPI_POOL_LIMIT": "4096"}], ids=["", "small pools"])
def test_nothing_overtakes(ranks, drawn, one_tag, options):
    """With several tags a receive with its own tag could match a later message, so there all have to be in order.

    A receive by tag t takes the oldest message with tag t. It is the k-th message only if all older ones are matched;
    they are, because receives are posted in the order of the sends.
    """
    job = ranks(2, TEMPI_DEVICE="fake", **options)
    for number in range(PROGRAMS):
        steps = draw_steps(drawn, drawn.randint(4, 24), one_tag)
        job.call(calls_worker.one_by_one, _both_ways, [(steps, number % 2)])


def _both_ways(case: tuple[list[Step], int]) -> None:
    run(*case)
