"""Fits recover the terms of the measurements, and put knots where there are some."""

import random
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import measured, message_table, table

from support.effort import examples
from tempi.measure.shapes import Shape
from tempi.model.features import Features
from tempi.model.fitting import MAX_SEGMENTS, fit_term, half_grid_error, residual
from tempi.model.terms import Segment, Term

LINES = st.builds(
    Segment,
    st.just(0),
    st.floats(1e-6, 1e-4),
    st.floats(1e-12, 1e-9),
    st.floats(1e-11, 1e-9),
    st.floats(1e-12, 1e-10),
    st.floats(1e-10, 1e-8),
)


def noise_of(seed, size):
    draw = random.Random(seed)
    return lambda: exp(draw.gauss(0, size))


def coefficients(segment):
    return segment.latency, segment.per_byte, segment.per_block, segment.per_touched, segment.per_page


@given(LINES)
@examples(20)
def test_exact_measurements_give_their_parameters_back(line):
    (found,) = fit_term(table(Term((line,)))).segments
    assert coefficients(found) == pytest.approx(coefficients(line), rel=1e-4)


@given(LINES, st.integers(0, 2**32))
@examples(20)
def test_noisy_measurements_give_each_parameter_as_well_as_it_matters(line, seed):
    rows = table(Term((line,)), noise_of(seed, 0.03))
    found = fit_term(rows)
    assert residual(found, rows).median < 0.04
    for row in rows:
        assert found.seconds(row.features) == pytest.approx(Term((line,)).seconds(row.features), rel=0.2)


@given(st.floats(1e-7, 1e-5), st.floats(2, 10), st.integers(10, 20), st.integers(0, 2**32))
@examples(20)
def test_a_knee_of_a_message_is_found(latency, slower, power, seed):
    """A step as between an eager and a rendezvous protocol."""
    power -= power % 2
    knee = 1 << power
    low = Segment(0, latency, 1e-11, 0, 0, 0)
    high = Segment(knee, slower * (latency + 1e-11 * knee), 1e-11, 0, 0, 0)
    found = fit_term(message_table(Term((low, high)), noise_of(seed, 0.01))).segments
    assert knee in [segment.from_bytes for segment in found]
    assert found[0].latency == pytest.approx(latency, rel=0.1)


@given(LINES)
@examples(10)
def test_one_line_needs_no_knots(line):
    assert len(fit_term(table(Term((line,)), noise_of(1, 0.02))).segments) <= 2


def test_outliers_count_little():
    line = Segment(0, 7e-6, 2e-11, 1e-10, 5e-12, 2e-9)
    draw = random.Random(3)
    found = fit_term(table(Term((line,)), lambda: 10 if draw.random() < 0.05 else exp(draw.gauss(0, 0.01))))
    assert coefficients(found.segments[0]) == pytest.approx(coefficients(line), rel=0.1)


@given(st.lists(st.tuples(st.integers(0, 2**40), st.floats(1e-9, 1e3)), min_size=1, max_size=60), st.randoms())
@examples(50)
def test_whatever_was_measured_gives_a_valid_term_whatever_the_order(points, shuffler):
    rows = [measured(Features(n_bytes), seconds) for n_bytes, seconds in points]
    term = fit_term(rows)
    knots = [segment.from_bytes for segment in term.segments]
    assert len(knots) <= MAX_SEGMENTS
    assert knots == sorted(set(knots))
    assert knots[0] == 0
    assert all(value >= 0 for segment in term.segments for value in coefficients(segment))
    shuffler.shuffle(rows)
    assert fit_term(rows) == term


def test_nothing_measured_is_refused():
    with pytest.raises(ValueError, match="without measurements"):
        fit_term([])


def test_half_of_the_grid_predicts_the_other_half_of_a_line_and_not_of_chance():
    line = Term((Segment(0, 7e-6, 2e-11, 1e-10, 5e-12, 2e-9),))
    assert half_grid_error(table(line, noise_of(5, 0.05))) < 0.06
    assert half_grid_error(table(line, noise_of(5, 2.0))) > 0.3
    assert half_grid_error(table(line)[:7]) is None


def test_residuals_are_relative():
    rows = [measured(Features(64), seconds) for seconds in (1.0, 2.0, 4.0)]
    found = residual(Term((Segment(0, 2.0, 0, 0, 0, 0),)), rows)
    assert (found.median, found.n) == (0.5, 3)
    assert 0.5 < found.p90 <= 1.0


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (Shape(10, 8, 16), Features(80, 10, 160, 1)),
        (Shape(10, 8, 4096), Features(80, 10, 320, 10)),
        (Shape(10, 100, 4096), Features(1000, 10, 1280, 10)),
        (Shape.dense(80), Features(80, 1, 80, 1)),
        (Shape(10, 8, 4096, planes=3), Features(240, 30, 960, 30)),
        (Shape(10, 8, 1024, planes=3, boxes=2), Features(480, 60, 1920, 18)),
    ],
)
def test_features_of_a_shape(shape, expected):
    assert shape.features == expected
