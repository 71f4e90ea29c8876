"""Windows over GPU memory among the processes of a node."""

import pytest
import window_allocation_worker as allocation
import window_errors_worker as errors
import window_programs_worker as programs
import windows_worker as worker

from support import effort, needs

OPTIONS = {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": "0"}
PER_TEST = 60


@pytest.fixture
def job(ranks):
    return lambda size, **more: ranks(size, **OPTIONS, **more)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_random_programs(job, drawn, size):
    seeds = [drawn.getrandbits(30) for _ in range(effort.scaled(PER_TEST, least=6))]
    n = job(size).call(programs.run_programs, seeds, ("device",), ("device", "host", "managed", "pinned"), timeout=120)
    assert min(n) > 0


@pytest.mark.parametrize("size", [2, 3])
def test_random_programs_of_mixed_windows(job, drawn, size):
    """GPU memory on some ranks, host memory on others."""
    seeds = [drawn.getrandbits(30) for _ in range(effort.scaled(PER_TEST, least=6))]
    job(size).call(programs.run_programs, seeds, ("device", "host", "managed"), ("device", "host"), timeout=120)


@pytest.mark.parametrize("kind", ["device", "host", "managed"])
def test_attributes_are_those_of_the_program(job, kind):
    job(2).call(worker.attributes, kind)


def test_libraries_without_windows_over_memory_of_other_processes(job):
    """Open MPI 4.1 has windows over given memory only where processes may read each other's memory."""
    without = job(3, OMPI_MCA_btl_vader_single_copy_mechanism="none")
    without.call(worker.attributes, "device")
    without.call(worker.sums_of_all, "device", "host", 10, "lock all")
    without.call(allocation.allocates, ("device",) * 3, 2)


@pytest.mark.parametrize("sync", ["fence", "lock all"])
@pytest.mark.parametrize("origin", ["device", "host"])
def test_concurrent_accumulates_are_all_counted(job, origin, sync):
    job(4).call(worker.sums_of_all, "device", origin, 40, sync)


def test_fetch_and_op_and_compare_and_swap_are_atomic(job):
    job(3).call(worker.tickets, "device", 15)


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("origin", ["device", "host"])
def test_every_element_and_operation(job, origin, strided):
    job(2).call(worker.elements, origin, strided, timeout=60)


def test_passive_target(job):
    job(2).call(worker.is_put_while_the_target_computes, "device")


def test_exclusive_and_shared_locks(job):
    job(4).call(worker.exclusive_updates, "device", 20, timeout=60)


def test_a_put_that_ends_within_an_element_writes_nothing_else(job):
    job(3).call(worker.shorter_than_an_element, 60, timeout=60)


@needs.fake_device("streams of the fake device")
@pytest.mark.parametrize("sync", worker.SYNCS)
def test_accesses_come_behind_the_streams_of_the_program(job, sync):
    job(2).call(worker.behind_a_stream, sync, timeout=60)


def test_windows_are_freed_and_made_again(job):
    job(3).call(worker.again, "device", 12)


@pytest.mark.parametrize("by", ["split", "group", "merge"])
def test_windows_of_several_communicators(job, by):
    """The communicators of MPI_Comm_create_group and MPI_Intercomm_merge are made by their members alone."""
    job(4, TESTS_THREAD_LEVEL="2").call(worker.several_windows, "device", by)


ERRORS = {
    "no epoch": "RMA_SYNC",
    "beyond": "RMA_RANGE",
    "far beyond": "RMA_RANGE",
    "beyond 64 bits": "RMA_RANGE",
    "before": "RMA_RANGE",
    "get beyond": "RMA_RANGE",
    "accumulate beyond": "RMA_RANGE",
    "no such rank": "RANK",
    "uncommitted": "TYPE",
    "too short": "TRUNCATE",
    "own operation": "OP",
    "wrong operation": "OP",
    "wrong for the library": "OP",
    "mixed": "TYPE",
    "other element": "TYPE",
    "fetch beyond": "RMA_RANGE",
}


@pytest.mark.parametrize("kind", ["device", "host"])
def test_errors_reach_the_error_handler_of_the_window_and_nothing_is_written(job, kind):
    for found in job(2).call(errors.errors, kind):
        assert found.pop("nobody") == []
        assert found == {case: errors.told(name) for case, name in ERRORS.items()}


@pytest.mark.parametrize("kinds", [("device",) * 3, ("device", "host", "device"), ("host", "device", "host")])
def test_allocated_windows(job, kinds):
    job(3).call(allocation.allocates, kinds, 4)


def test_allocated_windows_without_the_info_key_are_the_librarys(job):
    job(2).call(allocation.allocates_without_the_key)
