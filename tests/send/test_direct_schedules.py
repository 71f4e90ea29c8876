"""Random schedules of direct messages between ranks: every byte, status and order, and how many went direct."""

import pytest
import schedules_worker as worker
from schedules_worker import MIXED, PLAINLY
from test_direct import DIRECT

from support.effort import scaled

AT_ONCE = 25  # schedules of one call


def check(job, drawn, n, flavour, least_share):
    """Runs `n` schedules, scaled by the effort."""
    n_direct = n_possible = 0
    for _ in range(scaled(n, least=AT_ONCE) // AT_ONCE):
        first = drawn.getrandbits(40)
        for direct, possible in job.call(worker.run, range(first, first + AT_ONCE), flavour, timeout=60):
            n_direct, n_possible = n_direct + direct, n_possible + possible
    print(n_direct, n_possible)
    assert n_direct >= least_share * n_possible > 0


JOBS = {
    "default": {},
    "short patience": {"TEMPI_PATIENCE": "1", "TEMPI_FAKE_SEED": "11"},
    "long patience": {"TEMPI_PATIENCE": "100000", "TEMPI_FAKE_SEED": "12"},
    "thread": {"TEMPI_PROGRESS": "thread", "TEMPI_FAKE_SEED": "13"},
    "calls": {"TEMPI_PROGRESS": "calls", "TESTS_THREAD_LEVEL": "0", "TEMPI_FAKE_SEED": "14"},
}


@pytest.mark.parametrize("options", JOBS)
@pytest.mark.parametrize("n_ranks", [2, 3, 4])
def test_schedules(ranks, drawn, n_ranks, options):
    check(ranks(n_ranks, **DIRECT, **JOBS[options]), drawn, 1000, PLAINLY, 0.3)


@pytest.mark.parametrize("options", JOBS)
@pytest.mark.parametrize("n_ranks", [2, 3, 4])
def test_schedules_with_wildcards_probes_and_cancels(ranks, drawn, n_ranks, options):
    check(ranks(n_ranks, **DIRECT, **JOBS[options]), drawn, 1000, MIXED, 0.05)
