"""MPI_Put and MPI_Get of a window over GPU memory, whose kernels share launches."""

import pytest
import queued_moves_worker as worker
from mpi4py import MPI

from support import effort, needs

OPTIONS = {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": "0"}
SYNCS = ("fence", "start", "lock", "unlock all", "Flush", "Flush_all", "Flush_local", "Flush_local_all")
# After a local flush, the bytes of MPI_Put need not be at the target.
CASES = [("Get", sync) for sync in SYNCS] + [("Put", sync) for sync in SYNCS if "local" not in sync]
MIB = 1 << 20


@pytest.fixture
def job(ranks):
    return lambda size, **more: ranks(size, **OPTIONS, **more)


@pytest.mark.parametrize(("name", "sync"), CASES)
def test_a_repeated_epoch_is_one_launch(job, name, sync):
    for found in job(3).call(worker.launches, name, sync, 4):
        assert found[1:] == [1, 1, 1]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_random_sets_that_are_repeated(job, drawn, size):
    for _ in range(effort.scaled(60, least=3)):
        job(size).call(worker.random_sets, drawn.getrandbits(30), 4)


def test_many_bytes_leave_before_a_call_completes_them(job):
    job = job(2)
    assert job.call(worker.before_the_flush, 4 * MIB, 2) == [2, 2]
    assert job.call(worker.before_the_flush, MIB, 5) == [4, 4]
    assert job.call(worker.before_the_flush, 4096, 5) == [0, 0]


def test_many_accesses_leave_before_a_call_completes_them(job):
    assert job(2).call(worker.before_the_flush, 4, 300) == [256, 256]


def test_requests_complete_at_once(job):
    job(2).call(worker.requests)


def test_threads_that_flush_at_the_same_time(job):
    needs.thread_multiple()
    job(2).call(worker.threads, 3, 60, timeout=60)


ERROR = [("window", MPI.ERR_OTHER), ("code", MPI.ERR_OTHER)]


@needs.fake_device("launches that fail")
@pytest.mark.sample(8)
@pytest.mark.parametrize("sync", ["fence", "start", "lock", "Flush_all"])
@pytest.mark.parametrize("failure", ["launch:1", "launch:3", "launch:27", "finish:1", "finish:2"])
def test_a_failed_kernel_is_told_once_and_no_rank_waits_for_it(job, sync, failure):
    for told, is_there in job(2, TEMPI_FAKE_FAIL=failure, TESTS_CASE=sync).call(worker.failures, sync, timeout=60):
        assert told == ERROR
        assert is_there


@needs.fake_device("allocations that fail")
@pytest.mark.parametrize("failure", ["allocate:1", "allocate:2"])
def test_repeated_epochs_need_no_gpu_memory(job, failure):
    """Without memory for a list of all moves, each move is a launch of its own."""
    for told, is_there in job(2, TEMPI_FAKE_FAIL=failure, TESTS_CASE="memory").call(worker.failures, "fence"):
        assert (told, is_there) == ([], True)


@needs.fake_device("launches that fail")
@pytest.mark.parametrize("sync", ["fence", "unlock all", "Flush_all"])
def test_a_failed_kernel_loses_no_other_access_of_the_call(job, sync):
    for told in job(2, TEMPI_FAKE_FAIL="launch:1", TESTS_CASE=f"gets {sync}").call(worker.gets_of_host_memory, sync):
        assert told == ERROR


@needs.fake_device("launches that fail")
def test_a_failure_is_told_by_the_next_call_that_has_no_other_error(job):
    first = [("window", MPI.ERR_RMA_SYNC), ("code", MPI.ERR_RMA_SYNC)]
    for told in job(2, TEMPI_FAKE_FAIL="launch:1", TESTS_CASE="other error").call(worker.failure_behind_another_error):
        assert told == [*first, *ERROR]
