"""Collective calls between GPUs are direct messages, one launch a call; where they cannot be, the bytes are right."""

from pathlib import Path

import by_messages_worker as worker
import large_calls_worker
import movement_worker
import pytest
from by_messages_worker import DIRECT, PATIENT

from support import effort, needs, shim
from support.programs import compiled, mpicc
from support.ranks import Ranks

PER_TEST = 100
BY_MESSAGES = DIRECT[1]


@pytest.fixture
def job(ranks):
    return lambda size: ranks(size, **PATIENT)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_random_calls(job, drawn, size):
    seeds = [drawn.getrandbits(30) for _ in range(effort.scaled(PER_TEST, least=20))]
    assert job(size).call(movement_worker.check_seeds, seeds, timeout=120) == [len(seeds)] * size


@pytest.mark.parametrize("size", [1, 2, 3])
def test_all_messages_are_direct_and_share_launches(job, size):
    worker.check_launches(job(size).call(worker.transposes, 5), n_calls=5, rounds=5)


def test_members_wait_for_receives_that_are_late(tmp_path):
    """After the vote a member may have to import memory first. The others know that its receives will come."""
    tool = compiled(mpicc(), Path(__file__).with_name("late_receives_tool.c"), tmp_path, "-shared", "-fPIC", "-ldl")
    options = {name: value for name, value in PATIENT.items() if name != "TEMPI_MATCH_TIMEOUT"}
    with Ranks(2, options, {1: {"LD_PRELOAD": f"{shim.preload()} {tool}"}}) as job:
        of_ranks = job.call(worker.transposes, 20)
    assert all(n_direct >= 36 for _, (n_direct, _) in of_ranks), "of 40; a rank that does not run for 20 ms is too late"


@pytest.mark.parametrize("size", [2, 3])
def test_the_library_goes_on_during_a_vote(job, size):
    """Messages that the library has queued wait for calls of their sender, which waits in a vote."""
    assert job(size).call(worker.sent_before_a_vote, 300, 8000) == [300] * size


def test_a_periodic_grid_of_two(job):
    """Blocks to the peer in both directions are one message: two messages a call."""
    for n_direct, n_launches in job(2).call(worker.grid_of_two):
        assert n_direct == 3 * 2
        assert 3 <= n_launches <= 3 * 2


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("kinds", [{}, {0: "host"}])
def test_several_edges_between_two_processes(job, size, kinds):
    for by_outcome in job(size).call(worker.edges_between_two, kinds):
        assert sum(by_outcome.values()) == 3


def test_some_ranks_in_host_memory(job):
    found = job(3).call(worker.transposes, 4, {1: "host"})
    assert [by_outcome.get(BY_MESSAGES) for by_outcome, _ in found] == [4, None, 4]


HOST, GPU = "host", "device"


@pytest.mark.parametrize("kinds", [(HOST, HOST, GPU, GPU, GPU), (HOST, GPU)], ids=["in fives", "by turns"])
def test_host_calls_are_the_library_s_and_gpu_calls_come_back(job, kinds):
    """Having found a call to be the library's, the ranks vote less often."""
    for by_outcome in job(2).call(worker.host_calls_between, 200, kinds):
        assert by_outcome.get(BY_MESSAGES, 0) > 0


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("function", ["Bcast", "Scatter", "Gather", "Allgather", "Alltoall"])
def test_large_calls_between_small_host_calls_are_all_by_messages(job, function, size):
    for by_outcome in job(size).call(large_calls_worker.large_calls_between, function, 12):
        assert by_outcome.get(BY_MESSAGES) == 12


def test_arguments_change(job):
    assert job(2).call(worker.changing_arguments) == [30] * 2


def test_errors_are_told(job):
    assert job(2).call(worker.errors_are_told) == [True] * 2


def test_one_rank_errs():
    with Ranks(2, PATIENT) as job:
        assert job.call(worker.one_rank_errs) == [True] * 2


def test_a_late_member_ends_an_attempt_for_all(job):
    for first, second, _ in job(2).call(worker.late_member, 1.5):
        assert BY_MESSAGES not in first
        assert second == {BY_MESSAGES: 1}


@pytest.mark.parametrize("size", [2, 3])
def test_polls_are_used_again(job, size):
    """There are 256."""
    assert job(size).call(worker.many_communicators, 300, timeout=120) == [300] * size


def test_host_memory_after_many_communicators(job):
    """Their match queues are free: a receive into host memory is not published; its sender does not wait."""
    assert job(3).call(worker.host_memory_after_communicators, 300, timeout=120) == [0] * 3


def test_more_communicators_than_polls():
    with Ranks(2, PATIENT) as job:
        one, other = job.call(worker.communicators_at_once, 300, timeout=120)
        assert one == other
        assert 200 < one < 300


@pytest.mark.parametrize("without", [{"TEMPI_DISABLE": "1"}, {"TEMPI_NO_DIRECT": "1"}, {"TEMPI_NO_SEND": "1"}])
def test_a_rank_that_does_not_take_part(without):
    kinds = {1: "host"} if "TEMPI_NO_DIRECT" not in without else {}
    with Ranks(3, PATIENT, {1: without}) as job:
        found = job.call(worker.transposes, 5, kinds, timeout=60)
        assert all(BY_MESSAGES not in by_outcome for by_outcome, _ in found)


@needs.fake_device("failures of the fake device")
@pytest.mark.parametrize("failure", ["map:1", "share:1", "share:3"])
def test_memory_out_of_reach(failure):
    """The bytes follow, packed; after some calls the ranks leave such ones to the library."""
    with Ranks(2, PATIENT, {0: {"TEMPI_FAKE_FAIL": failure}}) as job:
        job.call(worker.transposes, 8, timeout=60)
