"""Nonblocking and persistent reductions of GPU memory are the kernels of blocking ones, and wait for nobody."""

import later_reductions_worker as worker
import pytest
from later_reductions_worker import NONBLOCKING, PERSISTENT
from node_reductions_worker import COMBINATIONS, OPERATIONS, OPTIONS, Case

from support import effort, needs, p2p
from support.ranks import Ranks

PER_TEST = 200
has_persistent = needs.function("Allreduce_init")
forms = pytest.mark.parametrize("form", [NONBLOCKING, pytest.param(PERSISTENT, marks=has_persistent)])


ONE_THREAD = {**OPTIONS, "TESTS_THREAD_LEVEL": "1"}  # MPI_THREAD_FUNNELED: our thread calls no function of MPI


@pytest.fixture
def job(ranks):
    return lambda size: ranks(size, **OPTIONS)


@pytest.fixture(params=[OPTIONS, ONE_THREAD], ids=["all threads", "one thread"])
def any_job(request, ranks):
    return lambda size: ranks(size, **request.param)


@forms
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_random_reductions_are_kernels(job, drawn, size, form):
    seeds = [drawn.getrandbits(30) for _ in range(effort.scaled(PER_TEST, least=40))]
    assert job(size).call(worker.check_seeds, seeds, form, timeout=120) == [len(seeds)] * size


@forms
def test_all_datatypes_and_operations(job, drawn, form):
    cases = [
        Case("Allreduce", *each, drawn.choice((3, 17, 1001)), drawn.random() < 0.5, seed=drawn.getrandbits(30))
        for each in COMBINATIONS
    ]
    assert job(2).call(worker.check_all, cases, form, timeout=120) == [[True] * len(cases)] * 2


@forms
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_large_counts_are_divided_among_the_ranks(job, operation, in_place, form):
    cases = [Case(operation, "DOUBLE", "SUM", count, in_place, root=1, seed=7) for count in (511, 512, 513, 40_003)]
    assert job(3).call(worker.check_all, cases, form, timeout=60) == [[True] * len(cases)] * 3


@has_persistent
def test_all_ranks_runs_and_forms_have_the_same_bits(job):
    by_rank = job(4).call(worker.same_bits, 3, timeout=60)
    assert len({bits for found in by_rank for bits in found}) == 1


@pytest.mark.sample(3)
@pytest.mark.parametrize("size", [2, 3, 4])
def test_reductions_under_way_together(any_job, drawn, size):
    seed, rounds = drawn.getrandbits(30), effort.scaled(40, least=10)
    by_rank = any_job(size).call(worker.under_way_together, seed, rounds, p2p.has("Allreduce_init"), timeout=180)
    assert all(sum(found.values()) > 0 for found in by_rank)


@pytest.mark.sample(3)
@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.02])
def test_a_rank_is_late(any_job, seconds):
    assert any_job(3).call(worker.delayed, [(0, seconds), (1, seconds), (2, seconds)], timeout=60) == [True] * 3


@pytest.mark.parametrize("n", [8, 9, 40])
def test_more_calls_than_places(any_job, n):
    assert any_job(3).call(worker.more_than_places, n, timeout=60) == [True] * 3


@forms
@pytest.mark.parametrize("kind", ["host", "managed", "pinned"])
def test_a_rank_whose_memory_others_cannot_reach(job, kind, form):
    """The first nonblocking call may find it when it is under way; later ones are the library's from the start."""
    cases = [Case(operation, "INT", "SUM", 100, in_place, seed=3) for operation in OPERATIONS for in_place in (0, 1)]
    found = job(3).call(worker.check_all, cases, form, {1: kind}, timeout=60)
    assert found == [[False] * len(cases)] * 3


@pytest.mark.parametrize("size", [2, 3])
def test_memory_changes_from_call_to_call(any_job, drawn, size):
    seed, rounds = drawn.getrandbits(30), effort.scaled(60, least=20)
    [n] = set(any_job(size).call(worker.kinds_change, seed, rounds, timeout=120))
    assert n > 0


@has_persistent
def test_persistent_calls_on_new_buffers(any_job):
    assert min(any_job(3).call(worker.renewed_buffers, 30, timeout=60)) >= 10


@has_persistent
@pytest.mark.parametrize("n", [32, 40])
def test_many_persistent_calls(job, n):
    assert job(2).call(worker.many_persistent, n, timeout=60) == [32] * 2


@forms
def test_the_communicator_is_freed_meanwhile(job, form):
    assert job(2).call(worker.the_communicator_is_freed, form, timeout=60) == [True] * 2


def test_another_thread_waits(job):
    needs.thread_multiple()
    assert job(2).call(worker.another_thread_waits, 100, timeout=60) == [100] * 2


def test_one_waits_for_a_message_meanwhile(any_job):
    assert any_job(2).call(worker.one_waits_for_a_message_meanwhile, 5, timeout=30) == [True] * 2


@pytest.mark.sample(1)
@has_persistent
def test_it_goes_on_while_a_rank_computes(any_job):
    """In the progress thread: the others do not wait for the end of the computation."""
    for seconds in any_job(3).call(worker.while_a_rank_computes, 4.0, timeout=60)[1:]:
        assert max(seconds) < 2


@pytest.mark.sample(2)
@needs.fake_device("failures of the fake device")
@forms
@pytest.mark.parametrize(
    "failure", ["map:1", "map:3", "share:1", "share:4", "launch:1", "launch:2", "copy:2", "query:9"]
)
@pytest.mark.parametrize("rank", [0, 1])
def test_a_failing_gpu(failure, rank, form):
    """The library does the call on all ranks."""
    cases = [Case(operation, "DOUBLE", "SUM", 2000, seed=5) for operation in OPERATIONS]
    with Ranks(2, OPTIONS, {rank: {"TEMPI_FAKE_FAIL": failure}}) as job:
        one, other = job.call(worker.check_all, cases, form, timeout=60)
        assert one == other


@needs.fake_device("failures of the fake device")
@forms
@pytest.mark.parametrize("failure", ["launch:2", "query:9"])
def test_a_failing_gpu_in_place_is_an_error_on_all_ranks(failure, form):
    with Ranks(2, OPTIONS, {1: {"TEMPI_FAKE_FAIL": failure}}) as job:
        one, other = job.call(worker.errors_in_place, form, timeout=60)
        assert one == other
        assert sum(one) == 1


@pytest.mark.sample(3)
@forms
@pytest.mark.parametrize("without", [{"TEMPI_DISABLE": "1"}, {"TEMPI_NO_DIRECT": "1"}, {"TEMPI_NO_SEND": "1"}])
def test_a_rank_that_does_not_take_part(without, form):
    kinds = {} if "TEMPI_NO_DIRECT" in without else {1: "host"}
    cases = [Case(operation, "INT", "SUM", 100, seed=3) for operation in OPERATIONS]
    with Ranks(3, OPTIONS, {1: without}) as job:
        assert job.call(worker.check_all, cases, form, kinds, timeout=60) == [[False] * len(cases)] * 3
