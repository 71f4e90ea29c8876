"""Recurring calls: what one takes over from an earlier call is of its own arguments, and of nothing older."""

import pytest
import recurring_worker as worker
from hypothesis import given
from hypothesis import strategies as st
from recurring_worker import Life, Round
from test_direct import DIRECT

from support import constructors as c
from support import memory
from support.effort import examples
from support.messages import KINDS
from support.typemap import Named

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


@pytest.mark.parametrize("limit", ["8388608", "100000000"])
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("way", WAYS)
def test_large_messages(ranks, n, way, limit):
    """More than their lot holds, a quarter of the limit; with the larger one all are taken over."""
    kib = (100, 255, 256, 257, 1000, 1800, 2047, 2048, 2049, 3000)
    specs = tuple(c.Vector(k << 8, 1, 2, INT) for k in kib)
    job = ranks(n, **WAYS[way], TEMPI_POOL_LIMIT=limit)
    assert job.call(worker.large, specs, 5, timeout=60) == [5] * n
