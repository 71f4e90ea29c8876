"""Messages between two ranks do not overtake one another, handled by shim or library, blocking or not, of any size."""

import random
from dataclasses import dataclass

import calls_worker
import pytest
import ways
from mpi4py import MPI

from support import effort, outcomes
from support.building import Builder
from support.messages import KINDS, Carried, Image, Side, check_status, make_end
from support.p2p import FORMS

OPTIONS = {
    "": {},
    "small pools": {"TEMPI_POOL_LIMIT": "4096"},
    # Host memory is packed at once, while a GPU packs earlier messages; those start in the program's next call.
    "packed at once": {"TEMPI_STRATEGY": "host", "TESTS_THREAD_LEVEL": "0"},
}
PROGRAMS = effort.scaled(12, least=4)


@dataclass
class Step(Carried):
    """The k-th message: all are received in this order, whatever their tags."""

    tag: int
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
        steps.append(Step(sent, received, send, recv, drawn.choice(FORMS), tag, *flags))
    return steps


def run(steps: list[Step], sender: int) -> int:
    """This rank's part; returns the number of messages that it has received and checked."""
    comm = calls_worker.comms()["world"]
    me = comm.Get_rank()
    checked = 0
    with Builder() as builder, outcomes.claimed(*_calls(steps, me == sender, builder)):
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
                checked += _settle(opened, me == sender, builder)
        return checked + _settle(opened, me == sender, builder)


def _calls(steps: list[Step], sending: bool, builder: Builder) -> list[outcomes.Claim | None]:
    if sending:
        return [outcomes.claim(step.send, Image(step.sent, builder)) for step in steps]
    return [outcomes.claim(step.recv.split()[0], Image(step.received, builder), is_filled=False) for step in steps]


def _settle(opened: list, sending: bool, builder: Builder) -> int:
    """Completes open requests, and returns the number of checked messages."""
    for k, (step, side, request, status) in enumerate(opened):
        if request:
            [status] = ways.complete(step.form, "Wait" if k % 2 else "Test", request)
            ways.free(step.form, request)
        if not sending:
            payload = Image(step.sent, builder).payload()
            check_status(status, calls_worker.peer_in("world"), step.tag, len(payload), side, "INT")
            side.check_received(payload)
    n_checked = 0 if sending else len(opened)
    opened.clear()
    return n_checked


@pytest.mark.sample(3)
@pytest.mark.parametrize("one_tag", [True, False], ids=["one tag", "three tags"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_nothing_overtakes(ranks, drawn, one_tag, options):
    """With several tags a receive with its own tag could match a later message, so there all have to be in order.

    A receive by tag t takes the oldest message with tag t. It is the k-th message only if all older ones are matched;
    they are, because receives are posted in the order of the sends.
    """
    job = ranks(2, TEMPI_DEVICE="fake", **options)
    for number in range(PROGRAMS):
        steps, sender = draw_steps(drawn, drawn.randint(4, 24), one_tag), number % 2
        checked = job.call(run, steps, sender)
        assert checked[1 - sender] == len(steps)
