"""Nonblocking and persistent collective calls between GPUs are direct messages, as blocking ones are."""

from pathlib import Path

import pytest
import unfinished_corners_worker as corners
import unfinished_worker as worker
from by_messages_worker import PATIENT, check_launches
from mpi4py import MPI
from unfinished_worker import BY_MESSAGES

from support import effort, needs, shim
from support.programs import compiled, cxx, succeed
from support.ranks import Ranks

HERE = Path(__file__).parent
has_persistent = needs.function("Alltoallw_init")


@pytest.fixture
def job(ranks):
    return lambda size: ranks(size, **PATIENT)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_nonblocking_calls_are_direct_and_share_launches(job, size):
    check_launches(job(size).call(worker.nonblocking, 5), n_calls=5, rounds=5)


@has_persistent
@pytest.mark.parametrize("size", [1, 2, 3])
def test_persistent_calls_are_direct_and_share_launches(job, size):
    check_launches(job(size).call(worker.persistent, 5), n_calls=1, rounds=5)


@pytest.mark.parametrize("size", [1, 3])
def test_the_members_agree_when_a_topology_is_made(job, size):
    by_rank = job(size).call(worker.around_rings, 20)
    for of_one_ring in zip(*by_rank, strict=True):
        assert set(of_one_ring) in ({(3, 3 * min(2, size))}, {(0, 0)})
    assert any(n_calls for n_calls, _ in by_rank[0])


@pytest.mark.parametrize("size", [2, 3, 4])
def test_calls_under_way_together(job, drawn, size):
    """Not of one process: MPICH 5.0.2 hangs there, of itself, with a message to oneself beside a call of its own."""
    seed, rounds = drawn.getrandbits(30), effort.scaled(40, least=10)
    assert job(size).call(worker.under_way_together, seed, rounds, timeout=120) == [rounds] * size


@has_persistent
@pytest.mark.parametrize("size", [2, 3])
def test_persistent_calls_start_in_any_order(job, drawn, size):
    seed, rounds = drawn.getrandbits(30), effort.scaled(40, least=10)
    assert job(size).call(worker.started_in_any_order, seed, rounds, timeout=120) == [rounds] * size


@pytest.mark.parametrize("size", [2, 3])
def test_memory_changes_from_call_to_call(job, drawn, size):
    seed, rounds = drawn.getrandbits(30), effort.scaled(60, least=20)
    for by_outcome in job(size).call(worker.memory_changes, seed, rounds, timeout=120):
        assert by_outcome.get(BY_MESSAGES, 0) > 0


def test_some_ranks_in_host_memory(job):
    found = job(3).call(worker.nonblocking, 4, {1: "host"})
    assert [by_outcome.get(BY_MESSAGES) for by_outcome, _ in found] in ([4, None, 4], [3, None, 3])


@has_persistent
def test_a_persistent_call_with_host_memory_is_the_library_s(job):
    found = job(3).call(worker.persistent, 4, {1: "host"})
    assert all(BY_MESSAGES not in by_outcome for by_outcome, _ in found)


def test_host_calls_come_to_be_the_library_s_and_gpu_calls_messages(job):
    for of_host, of_gpu in job(2).call(worker.host_calls_come_to_be_the_library_s, 4):
        assert BY_MESSAGES not in of_host
        assert of_gpu == {BY_MESSAGES: 1}


def test_the_communicator_is_freed_meanwhile(job):
    assert job(2).call(corners.the_communicator_is_freed_meanwhile) == [True] * 2


@has_persistent
def test_errors_are_told():
    with Ranks(2, PATIENT) as job:
        found = job.call(corners.errors_are_told)
        assert [refused for refused, _, _ in found] == [MPI.ERR_TYPE] * 2
        assert found[1][1:] == (MPI.ERR_TRUNCATE,) * 2


@has_persistent
def test_one_rank_is_refused_first():
    with Ranks(2, PATIENT) as job:
        assert job.call(corners.one_rank_is_refused_first, timeout=60) == [0, 1]


@has_persistent
def test_many_persistent_calls(job):
    """There are 32 tags: one call after the other may have them again, and who finds none is the library's."""
    for after_each_other, at_once in job(2).call(corners.many_persistent_calls, 100, 40, timeout=60):
        assert after_each_other == 100
        assert at_once == 32


def test_another_thread_waits(job):
    needs.thread_multiple()
    assert job(2).call(corners.another_thread_waits, 200, timeout=60) == [200] * 2


@has_persistent
@pytest.mark.parametrize("size", [1, 2])
def test_nobody_to_talk_to(job, size):
    assert job(size).call(corners.nobody_to_talk_to) == [size] * size


@needs.fake_device("failures of the fake device")
@pytest.mark.parametrize("failure", ["map:1", "share:1", "share:3"])
def test_memory_out_of_reach(failure):
    with Ranks(2, PATIENT, {0: {"TEMPI_FAKE_FAIL": failure}}) as job:
        job.call(worker.nonblocking, 8, timeout=60)
        job.call(worker.memory_changes, 1, 10, timeout=60)


@pytest.mark.parametrize("without", [{"TEMPI_DISABLE": "1"}, {"TEMPI_NO_DIRECT": "1"}])
def test_a_rank_that_does_not_take_part(without):
    kinds = {1: "host"} if "TEMPI_NO_DIRECT" not in without else {}
    with Ranks(3, PATIENT, {1: without}) as job:
        found = job.call(worker.nonblocking, 5, kinds, timeout=60)
        assert all(BY_MESSAGES not in by_outcome for by_outcome, _ in found)


@pytest.mark.parametrize(("members", "calls"), [(2, 4), (3, 3)])
def test_all_orders_of_the_members_find_one_way(tmp_path, members, calls):
    """Every interleaving of their steps, for every wish of each member in each call."""
    program = compiled(cxx(), HERE / "path_records.cpp", tmp_path, "-std=c++20", "-O2")
    found = succeed([str(program), str(members), str(calls)], shim.clean_environment()).out.split()
    assert found[0] == "well"
    assert int(found[1]) > 1000
