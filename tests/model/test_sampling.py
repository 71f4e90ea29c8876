"""Sampling: when samples are enough, and which series are suspicious."""

import random
from itertools import count

import pytest
from series import steady

from tempi.measure.sampling import MOST_SAMPLES, correlation, flags_of, is_tight, median_interval, sample


@pytest.mark.parametrize("n", [1, 2, 5, 6, 7, 12, 100, 1001])
def test_the_interval_of_a_median_is_made_of_samples_around_it(n):
    samples = steady(n)
    middle, low, high = median_interval(samples)
    assert low <= middle <= high
    assert {low, high} <= set(samples)


def test_the_interval_holds_the_true_median_in_95_percent():
    draw = random.Random(1)
    hits = 0
    for _ in range(1000):
        _, low, high = median_interval([draw.expovariate(1.0) for _ in range(30)])
        hits += low <= 0.6931 <= high
    assert hits >= 940


@pytest.mark.parametrize(
    ("samples", "flags"),
    [
        (steady(50), ()),
        ([1.0] * 50, ()),
        (steady(5), ("loose",)),
        (steady(50, 0.5), ("loose",)),
        (steady(50) + [1.3 * value for value in steady(50)], ("loose", "drift", "dependent")),
        ([1.0 + 0.01 * (i // 10 % 2) for i in range(100)], ("dependent",)),
    ],
)
def test_suspicious_series_are_flagged(samples, flags):
    assert flags_of(samples) == flags


def test_correlation_of_neighbours():
    assert correlation([1.0, 2.0] * 50) < -0.9
    assert correlation([float(i) for i in range(50)]) > 0.9
    assert correlation([1.0] * 10) == 0


def ticking():
    ticks = count()
    return lambda: next(ticks)


def test_sampling_stops_as_soon_as_the_interval_is_tight():
    assert len(sample(lambda n, _: steady(n), 1000, ticking())) == 12


def test_sampling_goes_on_until_the_time_is_up():
    draw = random.Random(2)
    samples = sample(lambda n, _: [draw.uniform(1, 3) for _ in range(n)], 5, ticking())
    assert len(samples) == 48
    assert not is_tight(samples)


def test_sampling_ends_at_some_number():
    assert len(sample(lambda n, _: [1.0, 2.0] * (n // 2), 1e9, ticking())) == MOST_SAMPLES
