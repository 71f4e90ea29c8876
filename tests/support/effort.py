"""How hard the random tests try."""

from __future__ import annotations

import os

from hypothesis import settings

VARIABLE = "TESTS_EFFORT"
PROFILE = os.environ.get(VARIABLE, "ci")
_FACTOR = {"quick": 0.1, "ci": 1.0, "full": 20.0}[PROFILE]


def examples(count: int) -> settings:
    """A decorator: `count` examples in CI, a tenth of them in the quick profile, 20 times as many in the full one."""
    return settings(max_examples=max(1, int(count * _FACTOR)))
