"""Random schedules of direct messages for TESTS_SOAK_SECONDS: right to the end, and without growth.

An hour may be had in pieces: each prints its seed, and starts anew.
"""

import os
import time

import pytest
import schedules_worker
import soak_worker
from schedule_plan import BOUNCING, MIXED, PLAINLY
from test_direct import DIRECT

from support import effort, needs

SECONDS = float(os.environ.get("TESTS_SOAK_SECONDS", effort.scaled(10, least=3)))
AT_ONCE = 2 if effort.IS_QUICK else 5  # schedules of one call
LEAST_CALLS = 4  # before the first look, and behind it
MIB = 1 << 20
MOST_GROWTH = {"files": 4, "threads": 2, "gpu": 64 * MIB}
FLAVOURS = {
    "plain": (PLAINLY, 32 * MIB),
    "mixed": (MIXED, 32 * MIB),
    "bounced": (BOUNCING, 192 * MIB),  # pools of large blocks fill for long; the fake device's are resident
}


class Load:
    def __init__(self, job, drawn, flavour):
        self._job, self._drawn, self._flavour = job, drawn, flavour
        self.n_direct = 0

    def run(self, seconds):
        begin, n_calls = time.monotonic(), 0
        while n_calls < LEAST_CALLS or time.monotonic() - begin < seconds:
            seed = self._drawn.getrandbits(40)
            seeds = range(seed, seed + AT_ONCE)
            for written, bounced, _ in self._job.call(schedules_worker.run, seeds, self._flavour, timeout=120):
                self.n_direct += written + bounced
            n_calls += 1


@pytest.mark.sample(1)
@needs.no_sanitizer("sanitizers keep freed memory")
@pytest.mark.parametrize("name", ["plain", pytest.param("mixed", marks=needs.open_mpi("MPICH grows")), "bounced"])
def test_random_messages_without_growth(ranks, drawn, name):
    """Growth counts from a third of the time on: until then pools fill, and libraries make their own.

    MPICH 5.0.2 grows by some KiB for each cancelled receive or probed message, whether the shim takes part or not.
    """
    flavour, most_resident = FLAVOURS[name]
    job = ranks(2, **DIRECT, TEMPI_FREED_LIMIT="0")
    load = Load(job, drawn, flavour)
    load.run(SECONDS / 3)
    first = job.call(soak_worker.in_use)
    load.run(SECONDS * 2 / 3)
    assert load.n_direct > 0
    most = MOST_GROWTH | {"resident": most_resident}
    for before, after in zip(first, job.call(soak_worker.in_use), strict=True):
        grown = {what: after[what] - before[what] for what in before}
        assert all(grown[what] <= most[what] for what in grown), grown
