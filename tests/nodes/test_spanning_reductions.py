"""TEMPI_REDUCE_NODES: reductions of GPU memory among hosts are kernels on each host, of even and uneven sizes."""

import cluster
import pytest
import spanning_reductions_worker as worker
from node_reductions_worker import COMBINATIONS, OPTIONS, Case
from spanning_reductions_worker import LEAST_BYTES, SPANNING

from support import effort, needs

PER_TEST = 300
WRAPS = {"OMPI_MCA_op": "^avx"}  # whose sums of 8- and 16-bit integers saturate
NODES = {**OPTIONS, **WRAPS, "TEMPI_REDUCE_NODES": "1"}
UNFORCED = {"TEMPI_DEVICE": "fake", "TEMPI_STRATEGY": "auto", "TEMPI_NO_DIRECT": "0", "TEMPI_REDUCE_NODES": "1"}
TWO_HOSTS = {"block": ((2, 2), False), "cyclic": ((2, 2), True), "uneven": ((3, 1), False), "many": ((3, 2), False)}


@pytest.fixture(scope="module", params=TWO_HOSTS)
def on_two(request, two_hosts):
    per_host, cyclic = TWO_HOSTS[request.param]
    with cluster.uneven_job(two_hosts, per_host, NODES, cyclic) as job:
        yield job


@pytest.fixture(scope="module", params=[(2, 1, 3), (2, 2, 2)], ids=["uneven", "even"])
def on_three(request, three_hosts):
    with cluster.uneven_job(three_hosts, request.param, NODES) as job:
        yield job


@pytest.fixture(scope="module")
def pairs(two_hosts):
    with cluster.job(two_hosts, 2, NODES) as job:
        yield job


def seeds_of(drawn):
    return [drawn.getrandbits(30) for _ in range(effort.scaled(PER_TEST, least=40))]


@pytest.mark.sample(2)
def test_random_reductions_on_two_hosts(on_two, drawn):
    seeds = seeds_of(drawn)
    assert on_two.call(worker.check_seeds, seeds, timeout=180) == [len(seeds)] * on_two.size


@pytest.mark.sample(1)
def test_random_reductions_on_three_hosts(on_three, drawn):
    seeds = seeds_of(drawn)
    assert on_three.call(worker.check_seeds, seeds, timeout=180) == [len(seeds)] * on_three.size


def test_all_datatypes_and_operations(pairs, drawn):
    cases = [
        Case(drawn.choice(SPANNING), *each, drawn.choice((3, 17, 1001)), drawn.random() < 0.5, drawn.randrange(4),
             seed=drawn.getrandbits(30))
        for each in COMBINATIONS
    ]  # fmt: skip
    cases = [case for case in cases if not worker.is_unsigned_in_library(case)]
    assert pairs.call(worker.check_all, cases, timeout=120) == [[True] * len(cases)] * 4


@pytest.mark.sample(5)
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("operation", SPANNING)
def test_every_root_and_counts_that_parts_do_not_divide(on_two, operation, in_place):
    roots = range(on_two.size if operation == "Reduce" else 1)
    counts = (1, 2, 511, 513, 40_003)
    cases = [Case(operation, "DOUBLE", "SUM", count, in_place, root, seed=7) for count in counts for root in roots]
    assert on_two.call(worker.check_all, cases, timeout=60) == [[True] * len(cases)] * on_two.size


def test_nonblocking_reductions_and_scans_are_the_librarys(pairs):
    found = pairs.call(worker.other_forms, timeout=60)
    assert found == [[10.0, sum(range(1, rank + 2))] for rank in range(4)]


def test_communicators_come_and_go(pairs):
    assert pairs.call(worker.many_communicators, 12, timeout=60) == [[True] * 12] * 4


@pytest.mark.parametrize("kind", ["host", "managed", "pinned"])
def test_a_rank_whose_memory_others_cannot_reach(two_hosts, kind):
    cases = [Case(operation, "INT", "SUM", 100, seed=3) for operation in SPANNING]
    with cluster.job(two_hosts, 2, NODES) as job:
        assert job.call(worker.check_all, cases, {1: kind}, timeout=60) == [[False] * len(cases)] * 4


@pytest.mark.parametrize("option", [{}, {"TEMPI_DEVICE": "none"}, {"TEMPI_NO_DIRECT": "1"}], ids=str)
def test_a_rank_that_uses_no_gpu_votes_too(two_hosts, option):
    with cluster.uneven_job(two_hosts, (2, 2), NODES, special={0: option} if option else None) as job:
        assert job.call(worker.sums_of_rank_0_in_host_memory, 6, timeout=60) == [[10.0] * 6] * 4


def test_small_reductions_are_the_librarys(two_hosts):
    with cluster.job(two_hosts, 2, UNFORCED) as job:
        found = [job.call(worker.agree, n_bytes, timeout=60) for n_bytes in (LEAST_BYTES, LEAST_BYTES - 8, 8)]
    assert found == [[True] * 4, [False] * 4, [False] * 4]


def test_one_rank_on_each_host_gains_nothing(two_hosts):
    with cluster.job(two_hosts, 1, NODES) as job:
        assert job.call(worker.agree, timeout=60) == [False] * 2


def test_without_the_option_the_library_reduces(two_hosts):
    with cluster.job(two_hosts, 2, OPTIONS) as job:
        assert job.call(worker.agree, timeout=60) == [False] * 4


@pytest.mark.sample(3)
@needs.fake_device("failures of the fake device")
@pytest.mark.parametrize("failure", ["map:1", "share:1", "launch:1", "launch:2", "finish:1", "finish:2"])
def test_a_failing_gpu(two_hosts, failure):
    """The library does the call on all ranks, and kernels do later ones."""
    cases = [Case(operation, "INT", "SUM", 2000, seed=5) for operation in SPANNING]
    with cluster.uneven_job(two_hosts, (2, 2), NODES, special={0: {"TEMPI_FAKE_FAIL": failure}}) as job:
        assert job.call(worker.agree, timeout=60) == [False] * 4
        by_rank = job.call(worker.check_all, cases, timeout=60)
        assert by_rank == [by_rank[0]] * 4
        assert any(by_rank[0])


@pytest.mark.sample(2)
@needs.fake_device("failures of the fake device")
@pytest.mark.parametrize("failure", ["launch:1", "launch:2", "finish:2"])
def test_a_failing_gpu_in_place_is_an_error_on_all_ranks(two_hosts, failure):
    with cluster.uneven_job(two_hosts, (2, 2), NODES, special={0: {"TEMPI_FAKE_FAIL": failure}}) as job:
        by_rank = job.call(worker.error_in_place, 4, timeout=60)
        assert by_rank == [by_rank[0]] * 4
        assert sum(by_rank[0]) == 1
