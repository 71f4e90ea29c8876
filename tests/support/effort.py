"""How hard the random tests try."""

from __future__ import annotations

import os

from hypothesis import Phase, settings

VARIABLE = "TESTS_EFFORT"
PROFILE = os.environ.get(VARIABLE, "ci")
_FACTOR = {"quick": 0.1, "ci": 1.0, "full": 20.0}[PROFILE]


def examples(count: int, *, shrinks: bool = True) -> settings:
    """A decorator: `count` examples in CI, a tenth of them in the quick profile, 20 times as many in the full one.

    Without `shrinks` the first failure is reported as it is: where each failure costs a new start of several ranks.
    """
    phases = tuple(phase for phase in Phase if shrinks or phase in (Phase.explicit, Phase.generate))
    return settings(max_examples=max(1, int(count * _FACTOR)), phases=phases)
