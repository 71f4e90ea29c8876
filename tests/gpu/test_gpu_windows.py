"""The windows of tests/window on real GPU memory."""

import sys
from pathlib import Path

import pytest

from support.ranks import Ranks

WINDOWS = Path(__file__).resolve().parent.parent / "window"
# In many containers, processes may not read each other's memory (CMA). There, Open MPI 4.1 has windows over host memory
# by this mechanism only.
OPTIONS = {"TESTS_MEMORY": "gpu", "TEMPI_NO_DIRECT": "0", "OMPI_MCA_btl_vader_single_copy_mechanism": "emulated"}


@pytest.fixture(scope="module", params=[2, 4])
def job(request):
    sys.path.append(str(WINDOWS))
    with Ranks(request.param, OPTIONS) as ranks:
        yield ranks
    sys.path.remove(str(WINDOWS))


@pytest.mark.parametrize("kinds", [("device",), ("device", "host", "managed")])
def test_random_programs(job, drawn, kinds):
    import window_programs_worker as worker

    seeds = [drawn.getrandbits(30) for _ in range(10)]
    job.call(worker.run_programs, seeds, kinds, ("device", "host", "managed", "pinned"), timeout=120)


@pytest.mark.parametrize("origin", ["device", "host"])
def test_concurrent_accumulates_are_all_counted(job, origin):
    import windows_worker as worker

    job.call(worker.sums_of_all, "device", origin, 100, "lock all", timeout=60)


def test_exclusive_and_shared_locks(job):
    import windows_worker as worker

    job.call(worker.exclusive_updates, "device", 50, timeout=60)


def test_allocated_windows(job):
    import window_allocation_worker as worker

    job.call(worker.allocates, ("device",) * job.size, 4, timeout=60)
