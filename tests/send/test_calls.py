"""Every point-to-point call, in all of its forms, between every two kinds of memory: bytes, gaps, guards and statuses.

Each strategy has a job of two ranks; a test is one way to send against all ways to receive.
"""

from __future__ import annotations

import random
from typing import NamedTuple

import calls_worker as worker
import corner_cases_worker as corner_cases
import exchanges_worker as exchanges
import pytest
import ways
from calls_worker import Case, check_all
from exchanges_worker import Batch, Exchange

from support import effort, memory, needs
from support.defects import is_mpich_4_0, library_name
from support.messages import ALL_MAKERS, KINDS, LEAVES, MAKERS, End, leaf_bytes, make_end
from support.p2p import FORMS

LARGE_BYTES = 300_000  # over every eager limit
PERSISTENT = ways.PERSISTENT_SENDS + ways.PERSISTENT_RECVS
REPEATS = effort.scaled(1)


class Setup(NamedTuple):
    """A way to run: the library alone on host memory, or the shim with one strategy."""

    name: str
    kinds: tuple[str, ...]
    preload: bool = True
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.name


FAKE = ("TEMPI_DEVICE", "fake")
SETUPS = (
    Setup("library alone", (memory.HOST,), preload=False),
    Setup("auto", KINDS, options=(FAKE,)),
    Setup("oneshot", KINDS, options=(FAKE, ("TEMPI_STRATEGY", "oneshot"))),
    Setup("staged", KINDS, options=(FAKE, ("TEMPI_STRATEGY", "staged"))),
    Setup("device", KINDS, options=(FAKE, ("TEMPI_STRATEGY", "device"), ("TEMPI_CUDA_AWARE", "1"))),
)
if memory.on_real_gpu():  # the MPI library may not accept its addresses
    SETUPS = SETUPS[:-1]


@pytest.fixture(params=SETUPS, ids=str, scope="module")
def setup(request):
    return request.param


@pytest.fixture
def pair(ranks, setup):
    return ranks(2, preload=setup.preload, **dict(setup.options))


def elements(drawn: random.Random, leaf: str) -> int:
    """A number of elements: tens of bytes, a few KiB, or over the eager limits."""
    n_bytes = drawn.choice([24, 96, 96, 96, 1024, 4096, 4096, LARGE_BYTES])
    return max(12, n_bytes // leaf_bytes(leaf) // 12 * 12)


def ends(drawn: random.Random, kinds: tuple[str, str], leaf: str) -> tuple[End, End]:
    """Two ends that match. In a quarter of the draws the message is shorter than the receiver's room."""
    n = elements(drawn, leaf)
    short = drawn.random() < 0.25
    flexible = ("indexed", "struct", "contiguous", "named")  # of any number of elements
    maker = drawn.choice(flexible if short else ALL_MAKERS)
    sent = make_end(kinds[0], maker, leaf, n - drawn.randint(1, 11) if short else n, drawn, bottom=drawn.random() < 0.1)
    return sent, make_end(kinds[1], drawn.choice(ALL_MAKERS), leaf, n, drawn, bottom=drawn.random() < 0.1)


def draw_case(drawn: random.Random, kinds: tuple[str, ...], send: str, recv: str) -> Case:
    leaf = drawn.choice(LEAVES)
    sent, received = ends(drawn, (drawn.choice(kinds), drawn.choice(kinds)), leaf)
    waits_for_receiver = send in ways.BLOCKING_SENDS and recv not in ways.POSTED_EARLY
    return Case(
        send, recv, sent, received, leaf,
        sender=drawn.randint(0, 1),
        where=drawn.choice(("world", "world", "inter") + (() if waits_for_receiver else ("self",))),
        tag=drawn.choice((0, 5, 32767)),
        any_source=drawn.random() < 0.3,
        any_tag=drawn.random() < 0.3,
        rounds=drawn.choice((1, 2, 3)) if "_init" in send + recv else 1,
        send_form=drawn.choice(FORMS),
        recv_form=drawn.choice(FORMS),
        send_completion=drawn.choice(list(ways.COMPLETIONS)),
        recv_completion=drawn.choice(list(ways.COMPLETIONS)),
    )  # fmt: skip


def possible(send: str, recv: str) -> bool:
    return recv in ways.POSTED_EARLY or not ways.needs_receiver(send)


@pytest.mark.sample(6)
@pytest.mark.parametrize("send", ways.SENDS)
def test_every_way_to_receive(pair, setup, send, drawn):
    receives = [recv for recv in ways.RECVS if possible(send, recv)]
    cases = [draw_case(drawn, setup.kinds, send, recv) for recv in receives * REPEATS]
    check_all(pair, worker.transfer, cases)


@pytest.mark.sample(3)
@pytest.mark.parametrize("maker", ALL_MAKERS)
def test_every_two_kinds_of_memory(pair, setup, maker, drawn):
    """Each kind of memory against each other one, small and large, blocking and not."""
    cases = []
    for i, sender in enumerate(setup.kinds):
        for j, receiver in enumerate(setup.kinds):
            send, recv = drawn.choice((("Send", "Recv"), ("Isend", "Irecv"), ("Send_init", "Recv_init")))
            for n in (12, LARGE_BYTES // 4 // 12 * 12 if (i + j) % 3 == 0 else 1200):
                sent = make_end(sender, maker, "INT", n, drawn)
                cases.append(
                    Case(send, recv, sent, make_end(receiver, drawn.choice(ALL_MAKERS), "INT", n, drawn), "INT")
                )
    check_all(pair, worker.transfer, cases)


def draw_exchange(drawn: random.Random, setup: Setup, way: str, where: str) -> Exchange:
    leaf = drawn.choice(LEAVES)
    n = elements(drawn, leaf)

    def draw() -> End:
        end = make_end(drawn.choice(setup.kinds), drawn.choice(ALL_MAKERS), leaf, n, drawn)
        return draw() if exchanges.wrong_in_mpich(way, end, dict(setup.options)) else end

    completion = drawn.choice(list(ways.COMPLETIONS))
    sent, received = (draw(), draw()), (draw(), draw())
    return Exchange(way, sent, received, leaf, where, drawn.choice(FORMS), completion, drawn.random() < 0.3)


@pytest.mark.parametrize("way", [*filter(ways.has, ("Sendrecv", "Isendrecv", "Sendrecv_replace", "Isendrecv_replace"))])
def test_exchanges(pair, setup, way, drawn):
    wheres = ("world", "inter", "self") * (4 * REPEATS)
    cases = [draw_exchange(drawn, setup, way, where) for where in wheres]
    check_all(pair, exchanges.exchange, cases)


@pytest.mark.sample(5)
@pytest.mark.parametrize("completion", ways.COMPLETIONS)
def test_arrays_of_requests(pair, setup, completion, drawn):
    """Requests of all kinds of memory, null requests in between, completed together; Startall starts them again."""
    cases = []
    for persistent in (False, True) * REPEATS:
        leaf, rows = drawn.choice(LEAVES), drawn.randint(1, 6)
        sizes = [[elements(drawn, leaf) for _ in range(rows)] for _ in "01"]
        kinds = [drawn.choice(setup.kinds) for _ in range(rows)]

        def draw(sizes, leaf=leaf, kinds=kinds):
            return tuple(
                make_end(k, drawn.choice(ALL_MAKERS), leaf, n, drawn) for k, n in zip(kinds, sizes, strict=True)
            )

        sent, received = (draw(sizes[0]), draw(sizes[1])), (draw(sizes[1]), draw(sizes[0]))
        send = drawn.choice(("Send_init", "Ssend_init") if persistent else ("Isend", "Issend", "Ibsend"))
        recv = "Recv_init" if persistent else "Irecv"
        cases.append(Batch(sent, received, send, recv, completion, leaf, drawn.choice(FORMS), 3 if persistent else 1))
    check_all(pair, exchanges.batch, cases)


def test_messages_without_data(pair, setup, drawn):
    cases = []
    for i, send in enumerate(ways.SENDS * 2):
        recv = drawn.choice([recv for recv in ways.RECVS if possible(send, recv)])
        kinds = [drawn.choice(setup.kinds) for _ in "01"]
        sent = End(kinds[0], make_end("host", drawn.choice(list(MAKERS)), "INT", 12, drawn).spec, 0)
        empty = End(kinds[1], sent.spec, 0)
        received = make_end(kinds[1], "vector", "INT", 12, drawn) if i % 2 else empty
        cases.append(Case(send, recv, sent, received, "INT"))
    check_all(pair, worker.transfer, cases)


def test_proc_null(pair, setup, drawn):
    # MPICH's started persistent requests for nobody count as inactive: empty statuses, MPI_UNDEFINED.
    left_out = ("Isendrecv", "Sendrecv") + (PERSISTENT if library_name() == "mpich" else ())
    if is_mpich_4_0():  # does not say MPI_PROC_NULL in the status of an Irecv from it
        left_out += ("Irecv",)
    recv = [way for way in ways.RECVS if not way.startswith(left_out)]
    send = [way for way in ways.SENDS if not way.startswith(left_out)]
    cases = []
    for i in range(40):
        end = make_end(drawn.choice(setup.kinds), drawn.choice(ALL_MAKERS), "INT", elements(drawn, "INT"), drawn)
        completion = drawn.choice(list(ways.COMPLETIONS))
        cases.append((send[i % len(send)], recv[i % len(recv)], end, drawn.choice(FORMS), completion))
    check_all(pair, corner_cases.nobody, cases)


WITH_DEVICE_MEMORY = [setup for setup in SETUPS if memory.needs_shim(*setup.kinds)]


@needs.function("Isendrecv")
@pytest.mark.parametrize("setup", WITH_DEVICE_MEMORY, ids=str, indirect=True, scope="module")
def test_isendrecv_from_nobody(pair, setup, drawn):
    """On GPU memory; the libraries leave that status unchanged."""
    kinds = [kind for kind in setup.kinds if memory.needs_shim(kind)]
    cases = [(make_end(kind, "vector", "INT", 1200, drawn), way) for kind in kinds for way in ways.COMPLETIONS]
    check_all(pair, corner_cases.receives_from_nobody, cases)


def test_null_requests(pair):
    check_all(pair, corner_cases.nothing_to_complete, FORMS)


def test_requests_freed_while_active(pair, setup, drawn):
    sizes = (12, LARGE_BYTES // 4) * 4
    sent = [make_end(drawn.choice(setup.kinds), drawn.choice(list(MAKERS)), "INT", n, drawn) for n in sizes]
    for form in FORMS:
        pair.call(corner_cases.freed_sends, sent, form)


def test_absolute_addresses_in_two_kinds_of_memory(pair, setup):
    others = [(a, b) for a in setup.kinds for b in setup.kinds]
    for kinds in others:
        for way in ("Send", "Isend"):
            pair.call(corner_cases.bottom_of_mixed_memory, kinds, FORMS[0], way)
