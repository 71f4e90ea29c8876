"""A count of the cases of a random test that were checked, and of those that could not be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

LEAST_SHARE = 0.5  # of the cases drawn
FEW = 20  # cases: their share is chance


class Tally:
    """`add` the outcome of a case; at the end of the test, most cases must have been checked."""

    def __init__(self) -> None:
        self.checked = self.drawn = 0

    def add(self, checked: int, drawn: int = 1) -> None:
        self.checked += checked
        self.drawn += drawn

    def close(self, least_share: float = LEAST_SHARE) -> None:
        assert self.drawn > 0, "the test has drawn no case"
        is_enough = self.drawn < FEW or self.checked >= least_share * self.drawn
        assert is_enough, f"only {self.checked} of {self.drawn} cases were checked"


@pytest.fixture
def tally() -> Iterator[Tally]:
    """For one test; fails after it if it has left out too many cases."""
    made = Tally()
    yield made
    made.close()
