"""Samples of a time: when they are enough, and flags for suspicious ones.

Medians with intervals from order statistics, as T. Hoefler and R. Belli advise: "Scientific Benchmarking of
Parallel Computing Systems", SC'15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import floor, sqrt
from statistics import fmean, median

Take = Callable[[int, float], Sequence[float]]

TIGHT = 0.03  # of the median, either way
DRIFT = 0.1  # of the median, between the halves of a series
DEPENDENT = 0.5  # correlation of neighbours
NORMAL_95 = 1.96
FIRST_SAMPLES = 12
MOST_SAMPLES = 1000
FLAGS = {
    "loose": "the time was up before the 95% interval of the median was within 3%",
    "drift": "the second half of the samples has another median than the first",
    "dependent": "neighbouring samples are correlated (more than 0.5)",
}


def median_interval(samples: Sequence[float]) -> tuple[float, float, float]:
    """The median and its 95% confidence interval: two of the samples, whatever their distribution."""
    ordered = sorted(samples)
    n = len(ordered)
    rank = max(0, floor((n - NORMAL_95 * sqrt(n)) / 2) - 1)  # counted from 0
    return median(ordered), ordered[rank], ordered[n - 1 - rank]


def is_tight(samples: Sequence[float]) -> bool:
    """True if the interval is within 3% of the median."""
    if len(samples) < 6:  # fewer have no 95% interval
        return False
    middle, low, high = median_interval(samples)
    return max(high - middle, middle - low) <= TIGHT * middle


def drifts(samples: Sequence[float]) -> bool:
    """True if the halves' medians differ by more than the interval, and by more than 10%."""
    half = len(samples) // 2
    if half < 3:
        return False
    middle, low, high = median_interval(samples)
    return abs(median(samples[:half]) - median(samples[half:])) > max(high - low, DRIFT * middle)


def correlation(samples: Sequence[float]) -> float:
    """Correlation of each sample with the next one (lag-1 autocorrelation); 0 for a constant series."""
    mean = fmean(samples)
    off = [value - mean for value in samples]
    variance = sum(value * value for value in off)
    if variance == 0:
        return 0.0
    return sum(a * b for a, b in pairwise(off)) / variance


def flags_of(samples: Sequence[float]) -> tuple[str, ...]:
    """The names in `FLAGS` that hold for a series."""
    holds = {
        "loose": not is_tight(samples),
        "drift": drifts(samples),
        "dependent": len(samples) >= FIRST_SAMPLES and correlation(samples) > DEPENDENT,
    }
    return tuple(name for name, flagged in holds.items() if flagged)


def sample(take: Take, seconds: float, clock: Callable[[], float]) -> list[float]:
    """Samples until they are tight or the time is up, at least one call.

    Parameters
    ----------
    take : callable
        ``take(n, seconds)`` measures up to `n` times in about `seconds`, and returns the times in seconds.
    """
    end = clock() + seconds
    samples = list(take(FIRST_SAMPLES, seconds))
    while samples and not is_tight(samples) and len(samples) < MOST_SAMPLES and clock() < end:
        samples += take(min(len(samples), MOST_SAMPLES - len(samples)), end - clock())
    return samples
