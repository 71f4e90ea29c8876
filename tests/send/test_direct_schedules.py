"""Random schedules of direct messages between ranks: every byte, status and order, and how many went direct."""

import pytest
import schedules_worker as worker
from schedules_worker import MIXED, PLAINLY
from test_direct import DIRECT

from support.effort import IS_QUICK, scaled

AT_ONCE = 25  # schedules of one call
N_PLAIN, N_MIXED = 1400, 820  # of one job: 10**5 in all 30 of them at full effort, which is 3


def check(job, drawn, n, flavour, least_share):
    """Runs `n` schedules, scaled by the effort. Else messages that could be direct are packed: the test is void."""
    n_direct = n_possible = 0
    for _ in range(-(-scaled(n) // AT_ONCE) if not IS_QUICK else 1):
        first = drawn.getrandbits(40)
        for direct, possible in job.call(worker.run, range(first, first + AT_ONCE), flavour, timeout=60):
            n_direct, n_possible = n_direct + direct, n_possible + possible
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
    check(ranks(n_ranks, **DIRECT, **JOBS[options]), drawn, N_PLAIN, PLAINLY, 0.3)


@pytest.mark.parametrize("options", JOBS)
@pytest.mark.parametrize("n_ranks", [2, 3, 4])
def test_schedules_with_wildcards_probes_and_cancels(ranks, drawn, n_ranks, options):
    check(ranks(n_ranks, **DIRECT, **JOBS[options]), drawn, N_MIXED, MIXED, 0.1)
