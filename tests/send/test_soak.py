"""Random schedules of direct messages for TESTS_SOAK_SECONDS: right to the end, and without growth.

An hour may be had in pieces: each prints its seed, and starts anew.
"""

import os
import time

import schedules_worker
import soak_worker
from schedule_plan import LANDING, MIXED, PLAINLY
from test_direct import DIRECT

from support import effort, needs

SECONDS = float(os.environ.get("TESTS_SOAK_SECONDS", effort.scaled(20, least=4)))
AT_ONCE = 10  # schedules of one call
MOST_GROWTH = {"resident": 16 << 20, "files": 4, "threads": 0, "gpu": 64 << 20}


@needs.no_sanitizer("sanitizers keep freed memory")
def test_random_messages_without_growth(ranks, drawn):
    """Growth is from a third of the time on: until then pools fill, and libraries make their own."""
    job, begin = ranks(2, **DIRECT), time.monotonic()
    n_direct, first = 0, None
    while (elapsed := time.monotonic() - begin) < SECONDS or first is None:
        for flavour in (PLAINLY, MIXED, LANDING):
            seed = drawn.getrandbits(40)
            for written, landed, _ in job.call(schedules_worker.run, range(seed, seed + AT_ONCE), flavour, timeout=120):
                n_direct += written + landed
        if first is None and elapsed > SECONDS / 3:
            first = job.call(soak_worker.in_use)
    print(f"{n_direct} direct messages in {time.monotonic() - begin:.0f} s")
    assert n_direct > 0
    for before, after in zip(first, job.call(soak_worker.in_use), strict=True):
        grown = {name: after[name] - before[name] for name in before}
        assert all(grown[name] <= MOST_GROWTH[name] for name in grown), grown
