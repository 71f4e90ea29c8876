"""GPU memory that is attached to dynamic windows (MPI_Win_attach)."""

import dynamic_windows_worker as worker
import pytest
import window_programs_worker as programs
from mpi4py import MPI

from support import effort

OPTIONS = {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": "0"}
PER_TEST = 60
MOST_RANGES = 1024


@pytest.fixture
def job(ranks):
    return lambda size, **more: ranks(size, **(OPTIONS | more))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_random_programs(job, drawn, size):
    """Each rank attaches two kinds of memory."""
    seeds = [drawn.getrandbits(30) for _ in range(effort.scaled(PER_TEST, least=6))]
    kinds = ("device", "device", "host", "managed")
    assert min(job(size).call(programs.run_dynamic, seeds, kinds, ("device", "host"), timeout=120)) > 0


def test_a_lock_is_for_gpu_and_host_memory(job):
    job(4).call(worker.exclusive_updates, ("device", "host"), 20, timeout=60)


def test_memory_is_attached_and_detached_while_the_window_lives(job):
    job(3).call(worker.attached_again, 20, timeout=60)


def test_a_list_whose_elements_are_attached_one_by_one(job):
    assert job(3).call(worker.linked_list, 10) == [list(range(0, 300, 10))] * 3


def test_errors_reach_the_error_handler_of_the_window_and_nothing_is_written(job):
    def told(name: str) -> list[tuple[str, int]]:
        return [(whose, getattr(MPI, f"ERR_{name}")) for whose in ("window", "code")]

    of_first, of_second = job(2).call(worker.errors)
    assert of_first == {"beyond": told("RMA_RANGE"), "before": told("RMA_RANGE"), "locked": told("RMA_SYNC")}
    assert of_second == {"locked": told("RMA_SYNC")}


def test_more_ranges_than_there_is_room_for(job):
    for told in job(2).call(worker.too_many, MOST_RANGES):
        assert [whose for whose, _ in told] == ["window", "code"]


def test_gpu_memory_is_refused_where_processes_cannot_share_it(job):
    for told in job(2, TEMPI_NO_DIRECT="1").call(worker.attach_is_refused, "device"):
        assert [whose for whose, _ in told] == ["window", "code"]
