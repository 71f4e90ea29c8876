"""Tests that are run with a sample of their parameters at quick effort: `pytest.mark.sample(4)`.

It is for tests whose cases are the product of several lists. A run draws the cases from its seed, so that many runs
make all of them; `make test-full` makes all of them in each run. The case of a failure that was found stands in a test
of its own, without this mark.
"""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from support import effort


def left_out(items: list[pytest.Item], seed: int) -> set[pytest.Item]:
    """The tests that this run does not make."""
    cases: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("sample")
        if mark is not None and effort.IS_QUICK:
            cases[item.nodeid.partition("[")[0], mark.args[0]].append(item)
    out: set[pytest.Item] = set()
    for (name, n_run), group in cases.items():
        out.update(random.Random(f"{seed} {name}").sample(group, max(0, len(group) - n_run)))
    return out
