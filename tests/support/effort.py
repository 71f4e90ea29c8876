"""The effort of random tests."""

from __future__ import annotations

import os

from hypothesis import Phase, settings

VARIABLE = "TESTS_EFFORT"
PROFILE = os.environ.get(VARIABLE, "quick")
_FACTORS = {"quick": 0.06, "full": 3.0}
_FACTOR = _FACTORS.get(PROFILE) or float(PROFILE)
IS_QUICK = _FACTOR < 0.3
IS_FULL = _FACTORS["full"] <= _FACTOR


def scaled(count: int, *, least: int = 1) -> int:
    """`count` times the effort, which is 0.06 in the quick profile, the default, and 3 in the full one."""
    return max(least, int(count * _FACTOR))


def examples(count: int, *, shrinks: bool = True) -> settings:
    """A decorator for `scaled(count)` examples.

    Without `shrinks` the first failure is reported as it is: for tests in which each failure restarts several ranks.
    """
    phases = tuple(phase for phase in Phase if shrinks or phase in (Phase.explicit, Phase.generate))
    return settings(max_examples=scaled(count), phases=phases)
