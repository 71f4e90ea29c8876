"""Reductions of GPU memory among the processes of a node are kernels; where they cannot be, the values are right."""

import node_reductions_worker as worker
import pytest
from node_reductions_worker import COMBINATIONS, OPERATIONS, OPTIONS, Case

from support import effort, needs
from support.ranks import Ranks

PER_TEST = 300


@pytest.fixture
def job(ranks):
    return lambda size: ranks(size, **OPTIONS)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_random_reductions_are_kernels(job, drawn, size):
    seeds = [drawn.getrandbits(30) for _ in range(effort.scaled(PER_TEST, least=40))]
    assert job(size).call(worker.check_seeds, seeds, timeout=120) == [len(seeds)] * size


def test_all_datatypes_and_operations(job, drawn):
    cases = [
        Case("Allreduce", *each, drawn.choice((3, 17, 1001)), drawn.random() < 0.5, seed=drawn.getrandbits(30))
        for each in COMBINATIONS
    ]
    assert job(2).call(worker.check_all, cases, timeout=120) == [[True] * len(cases)] * 2


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_large_counts_are_divided_among_the_ranks(job, operation, in_place):
    cases = [Case(operation, "DOUBLE", "SUM", count, in_place, root=1, seed=7) for count in (511, 512, 513, 40_003)]
    assert job(3).call(worker.check_all, cases, timeout=60) == [[True] * len(cases)] * 3


@pytest.mark.parametrize("kind", ["host", "managed", "pinned"])
def test_a_rank_whose_memory_others_cannot_reach(job, kind):
    cases = [Case(operation, "INT", "SUM", 100, seed=3) for operation in OPERATIONS]
    assert job(3).call(worker.check_all, cases, {1: kind}, timeout=60) == [[False] * len(cases)] * 3


def test_kept_and_new_buffers(job):
    """Memory that is mapped in place of freed memory may be refused for a while: the library does those calls."""
    [n_by_kernel] = set(job(3).call(worker.kept_and_new_buffers, 30, timeout=60))
    assert n_by_kernel >= 10


def test_an_operation_of_the_program(job):
    assert job(3).call(worker.by_an_operation_of_the_program) == [[3.0, 3.0]] * 3


@pytest.mark.sample(2)
@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_large_broadcast_goes_in_slices(job, size):
    """Each rank passes its slice on to the others; two ranks have no third one to pass anything to."""
    sizes = [1 << 20, (2 << 20) + 1, (3 << 20) + 12_345]
    cases = [(n_bytes, root) for n_bytes in sizes for root in range(size)]
    expected = [size > 2 and n_bytes >= 2 << 20 for n_bytes, _ in cases]
    assert job(size).call(worker.broadcasts, cases, timeout=60) == [expected] * size


def test_a_broadcast_to_a_rank_in_host_memory(job):
    assert job(3).call(worker.broadcasts, [(3 << 20, 0)] * 3, {1: "host"}, timeout=60) == [[False] * 3] * 3


@pytest.mark.sample(2)
@needs.fake_device("failures of the fake device")
@pytest.mark.parametrize("failure", ["map:1", "launch:1", "launch:2", "finish:1"])
def test_a_broadcast_with_a_failing_gpu(failure):
    with Ranks(3, OPTIONS, {1: {"TEMPI_FAKE_FAIL": failure}}) as job:
        job.call(worker.broadcasts, [(3 << 20, 0), (3 << 20, 1)], timeout=60)


@pytest.mark.sample(2)
@needs.fake_device("failures of the fake device")
@pytest.mark.parametrize(
    "failure", ["map:1", "map:3", "share:1", "share:4", "launch:1", "launch:2", "finish:1", "finish:2"]
)
@pytest.mark.parametrize("rank", [0, 1])
def test_a_failing_gpu(failure, rank):
    """The library does the call on all ranks."""
    cases = [Case(operation, "DOUBLE", "SUM", 2000, seed=5) for operation in OPERATIONS]
    with Ranks(2, OPTIONS, {rank: {"TEMPI_FAKE_FAIL": failure}}) as job:
        one, other = job.call(worker.check_all, cases, timeout=60)
        assert one == other
        assert not all(one)


@needs.fake_device("failures of the fake device")
@pytest.mark.parametrize("failure", ["launch:2", "finish:2"])
def test_a_failing_gpu_in_place_is_an_error_on_all_ranks(failure):
    with Ranks(2, OPTIONS, {1: {"TEMPI_FAKE_FAIL": failure}}) as job:
        assert job.call(worker.error_in_place, timeout=60) == [True] * 2


@pytest.mark.sample(2)
@pytest.mark.parametrize("without", [{"TEMPI_DISABLE": "1"}, {"TEMPI_NO_DIRECT": "1"}, {"TEMPI_NO_SEND": "1"}])
def test_a_rank_that_does_not_take_part(without):
    kinds = {} if "TEMPI_NO_DIRECT" in without else {1: "host"}
    cases = [Case(operation, "INT", "SUM", 100, seed=3) for operation in OPERATIONS]
    with Ranks(3, OPTIONS, {1: without}) as job:
        assert job.call(worker.check_all, cases, kinds, timeout=60) == [[False] * len(cases)] * 3
