"""Random schedules of direct messages between ranks: every byte, status and order, and how many went direct."""

import pytest
import schedules_worker as worker
from schedule_plan import BOUNCING, MIXED, PLAINLY
from test_direct import DIRECT

from support.effort import IS_FULL, IS_QUICK, scaled

AT_ONCE = 25  # schedules of one call
SHARES = {PLAINLY: 0.3, MIXED: 0.1, BOUNCING: 0.1}
N_BOUNCING = 300
N_PLAIN, N_MIXED = 1400, 820  # of one job: 10**5 in all 30 of them at full effort, which is 3


def check(job, drawn, n, flavour, options):
    """Runs `n` schedules at full effort, some calls of them else. They must go direct, or the test is void.

    Returns how many messages went through bounce buffers.

    Only patient senders meet a receiver that a machine under load holds up.
    """
    least_share = SHARES[flavour] if options == "long patience" else 0.02
    n_written = n_bounced = n_possible = 0
    at_once = 8 if IS_QUICK and flavour == BOUNCING else AT_ONCE
    n_calls = -(-scaled(n) // at_once) if IS_FULL else 1 if IS_QUICK else 3
    for _ in range(n_calls):
        first = drawn.getrandbits(40)
        for written, bounced, possible in job.call(worker.run, range(first, first + at_once), flavour, timeout=120):
            n_written, n_bounced, n_possible = n_written + written, n_bounced + bounced, n_possible + possible
    assert n_written + n_bounced >= least_share * n_possible > 0
    return n_bounced


JOBS = {
    "default": {},
    "short patience": {"TEMPI_MATCH_TIMEOUT": "1", "TEMPI_FAKE_SEED": "11"},
    "long patience": {"TEMPI_MATCH_TIMEOUT": "100000", "TEMPI_FAKE_SEED": "12"},
    "thread": {"TEMPI_PROGRESS": "thread", "TEMPI_FAKE_SEED": "13"},
    "calls": {"TEMPI_PROGRESS": "calls", "TESTS_THREAD_LEVEL": "0", "TEMPI_FAKE_SEED": "14"},
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("options", JOBS)
@pytest.mark.parametrize("n_ranks", [2, 3, 4])
def test_schedules(ranks, drawn, n_ranks, options):
    check(ranks(n_ranks, **DIRECT, **JOBS[options]), drawn, N_PLAIN, PLAINLY, options)


@pytest.mark.sample(2)
@pytest.mark.parametrize("options", JOBS)
@pytest.mark.parametrize("n_ranks", [2, 3, 4])
def test_schedules_with_wildcards_probes_and_cancels(ranks, drawn, n_ranks, options):
    check(ranks(n_ranks, **DIRECT, **JOBS[options]), drawn, N_MIXED, MIXED, options)


@pytest.mark.sample(1)
@pytest.mark.parametrize("options", JOBS)
@pytest.mark.parametrize("n_ranks", [2, 3])
def test_schedules_with_bounce_buffers(ranks, drawn, n_ranks, options):
    assert check(ranks(n_ranks, **DIRECT, **JOBS[options]), drawn, N_BOUNCING, BOUNCING, options) > 0
