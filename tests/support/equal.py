"""Arrays that must be equal. Each rank of a job would load numpy.testing, which takes longer than most comparisons: it
is asked only where something differs, for its words.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def check(found: Any, expected: Any, told: str = "") -> None:
    """As numpy.testing.assert_array_equal does: NaNs are equal, and a scalar is compared with each element."""
    if np.shape(found) != np.shape(expected) or not np.array_equal(found, expected):
        np.testing.assert_array_equal(found, expected, told)
