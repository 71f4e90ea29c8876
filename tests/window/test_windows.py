"""Windows over GPU memory among the processes of a node."""

import pytest
import windows_worker as worker

from support import effort, memory

OPTIONS = {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": "0"}
PER_TEST = 60


@pytest.fixture
def job(ranks):
    return lambda size, **more: ranks(size, **OPTIONS, **more)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_random_programs(job, drawn, size):
    seeds = [drawn.getrandbits(30) for _ in range(effort.scaled(PER_TEST, least=6))]
    n = job(size).call(worker.run_programs, seeds, ("device",), ("device", "host", "managed", "pinned"), timeout=120)
    assert min(n) > 0


@pytest.mark.parametrize("size", [2, 3])
def test_random_programs_of_mixed_windows(job, drawn, size):
    """GPU memory on some ranks, host memory on others."""
    seeds = [drawn.getrandbits(30) for _ in range(effort.scaled(PER_TEST, least=6))]
    job(size).call(worker.run_programs, seeds, ("device", "host", "managed"), ("device", "host"), timeout=120)
