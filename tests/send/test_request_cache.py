"""Recurring calls: what one takes over from an earlier call is of its own arguments, and of nothing older."""

import itertools
import re
from pathlib import Path

import pytest
import request_cache_worker as worker
from hypothesis import given
from hypothesis import strategies as st
from request_cache_worker import Life, Round
from test_direct import DIRECT

from support import constructors as c
from support import memory, needs, shim
from support.effort import IS_QUICK, examples
from support.messages import KINDS
from support.programs import compiled, mpicc, succeed
from support.typemap import Named

HERE = Path(__file__).parent
INT = Named("INT")
SPECS = (
    c.Vector(6, 4, 7, INT),
    c.Vector(24, 1, 3, INT),
    c.Vector(3, 8, 9, INT),
    c.Resized(0, 400, c.Vector(6, 4, 7, INT)),
    c.Indexed((5, 7, 12), (0, 9, 20), INT),
    c.Contiguous(24, INT),
)
WAYS = {
    "direct": DIRECT,
    "packed": {"TEMPI_DEVICE": "fake"},
}
if not memory.on_real_gpu():  # whose library need not be CUDA-aware
    WAYS["packed in device memory"] = {"TEMPI_DEVICE": "fake", "TEMPI_STRATEGY": "device", "TEMPI_CUDA_AWARE": "1"}
N_DATATYPES = 3  # of a life: few, so that calls come again


def rounds():
    which = st.integers(0, N_DATATYPES - 1)
    kinds = st.sampled_from(("exchange",) * 6 + ("twice", "cancelled", "freed", "truncated", "renewed"))
    completions = st.sampled_from(("Waitall", "Testall", "Waitsome", "Waitany", "Wait", "Request_get_status, Wait"))
    sends = st.sampled_from(("Isend", "Isend", "Isend", "Issend"))
    shifts, counts = st.sampled_from((0, 0, 64)), st.sampled_from((1, 1, 2))
    return st.builds(Round, kinds, which, which, shifts, counts, st.integers(0, 1), sends, completions)


def lives():
    specs = st.permutations(SPECS).map(lambda all_: tuple(all_[:N_DATATYPES]))
    kinds = st.sampled_from([kind for kind in ("device", "device", "managed", "device 1", "host") if kind in KINDS])
    some = st.lists(rounds(), min_size=4, max_size=20).map(tuple)
    return st.builds(Life, specs, st.tuples(kinds, kinds), some)


@pytest.mark.sample(2)
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("way", WAYS)
@examples(60, shrinks=False)
@given(played=st.lists(lives(), min_size=1, max_size=4).map(tuple))
def test_calls_that_come_again(ranks, n, way, played):
    """Whatever was freed, cancelled or refused between them."""
    n_rounds = sum(len(life.rounds) for life in played)
    assert ranks(n, **WAYS[way]).call(worker.run, played) == [n_rounds] * n


def test_more_calls_than_are_kept(ranks):
    tags = (*range(300), *range(300), *range(200), *range(200))
    played = tuple(Round("exchange", 0, 1, 0, 1, tag, "Isend", "Waitall") for tag in tags)
    assert ranks(1, **DIRECT).call(worker.run, (Life(SPECS[:2], ("device", "device"), played),)) == [len(tags)]


LARGE = [*itertools.product([1, 2], ["8388608", "100000000"])]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("n", "limit"), [(1, "8388608"), (2, "100000000")] if IS_QUICK else LARGE)
@pytest.mark.parametrize("way", WAYS)
def test_large_messages(ranks, n, way, limit):
    """More of them than may hold memory between their calls, which is a quarter of the limit, and all of them."""
    kib = (100, 255, 256, 257, 1000, 1800, 2047, 2048, 2049, 3000)
    specs = tuple(c.Vector(k << 8, 1, 2, INT) for k in kib)
    job = ranks(n, **WAYS[way], TEMPI_POOL_LIMIT=limit)
    assert job.call(worker.large, specs, 5, timeout=60) == [5] * n


@pytest.mark.parametrize(
    ("strategy", "limit_mib", "n_kept"),
    [("oneshot", 80, 10), ("oneshot", 79, 9), ("oneshot", 64, 8), ("staged", 64, 4), ("staged", 1024, 10)],
)
@needs.fake_device("a C program in its memory")
def test_messages_that_hold_much_hold_a_quarter_of_the_limit(sends_made, strategy, limit_mib, n_kept):
    """A send and its receive hold 1 MiB each, staged ones twice that. The other sends make a request each time."""
    n_small = 1
    assert sends_made(strategy, limit_mib, 5, 0) == n_small + 10 + 4 * (10 - n_kept)


@needs.fake_device("a C program in its memory")
def test_without_memory_nothing_is_kept(sends_made):
    assert sends_made("oneshot", 0, 5, 0) == 5 * 11


@needs.fake_device("a C program in its memory")
def test_calls_that_have_no_share_get_it_from_those_that_come_no_more(sends_made):
    """Eight of the first ten have all. 256 messages of the next ten, of 13 times, are refused before those end.

    Then half a pair may have a share, and three of ten sends have none. The small messages come again all the while.
    """
    n_first, n_refused, n_later, n_small = 10 + 2, 13 * 10, 10 + 26 * 3, 2
    assert sends_made("oneshot", 64, 2, 40) <= n_first + n_refused + n_later + n_small


@pytest.mark.parametrize(
    ("call", "mib", "n_made"),
    [
        ("persistent", 56, 1 + 10 + 1 + 5 * 10),  # there is room: the first ten keep 20 of 80 MiB, which is all shares
        ("persistent", 62, 1 + 10 + 1 + 1 + 10),
        ("collective", 24, 1 + 10 + 5 * 10),
        ("collective", 62, 1 + 10 + 10),  # the small message was under way when all ended
    ],
)
@needs.fake_device("a C program in its memory")
def test_all_end_when_a_call_has_no_room(sends_made, call, mib, n_made):
    assert sends_made("oneshot", 80, 1, 5, call, mib) == n_made


@pytest.fixture(scope="module")
def sends_made(tmp_path_factory):
    """The number of calls of MPI_Send_init that the library sees of tests/send/large_sends.c."""
    folder = tmp_path_factory.mktemp("large_sends")
    program = compiled(mpicc(), HERE / "large_sends.c", folder, "-ldl")
    counter = compiled(mpicc(), HERE / "counting_tool.c", folder, "-shared", "-fPIC")

    def count(strategy, limit_mib, first, later, call="persistent", mib=0):
        environment = shim.preloaded(
            TEMPI_DEVICE="fake", TEMPI_STRATEGY=strategy, TEMPI_POOL_LIMIT=str(limit_mib << 20)
        )
        environment["LD_PRELOAD"] += f" {counter}"
        done = succeed([str(program), str(first), str(later), call, str(mib)], environment)
        assert done.out.strip() == "ok"
        return int(re.search(r"^made (\d+),", done.err, re.MULTILINE)[1])

    return count
