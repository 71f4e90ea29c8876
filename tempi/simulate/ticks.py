"""Ticks of logarithmic axes: plain numbers, at least two of them."""

from __future__ import annotations

from collections.abc import Collection
from math import floor, inf, log10
from typing import Any

STEPS = (1, 2, 5)  # of a decade
MOST_TICKS = 9
ROOM = 0.04  # of the axis, for markers at its ends
MOST_RANKS_AS_TICKS = 10


def ticks_between(low: float, high: float) -> list[float]:
    """The numbers 1, 2, 5, 10, ... that enclose `low` and `high`; if they are many, powers of 10 only."""
    decades = range(floor(log10(low)) - 1, floor(log10(high)) + 2)
    for steps in (STEPS, STEPS[:1]):
        numbers = [step * 10.0**decade for decade in decades for step in steps]
        below = max(number for number in numbers if number <= low)
        above = min(number for number in numbers if number > high)
        found = [number for number in numbers if below <= number <= above]
        if len(found) <= MOST_TICKS:
            break
    return found


def plain_logarithmic(axis: Any) -> None:
    """Ticks of the vertical axis for the data that the figure has; no change if it has none."""
    low, high = axis.dataLim.intervaly
    if not 0 < low <= high < inf:
        return
    ticks = ticks_between(low, high)
    room = (ticks[-1] / ticks[0]) ** ROOM
    axis.set_ylim(ticks[0] / room, ticks[-1] * room)
    axis.set_yticks(ticks, [f"{tick:,.10g}" for tick in ticks])
    axis.minorticks_off()


def ticks_at(axis: Any, ranks: Collection[int]) -> None:
    """Ticks of the horizontal axis at these numbers of ranks; no change if they are too many."""
    if 0 < len(ranks) <= MOST_RANKS_AS_TICKS:
        axis.set_xticks(sorted(ranks), [f"{n:,}" for n in sorted(ranks)])
        axis.minorticks_off()
