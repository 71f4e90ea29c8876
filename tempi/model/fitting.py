"""Fits of terms to measurements: lines with the least error, and knots where they pay."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tempi.model.measurement import Measurement, by_term
from tempi.model.terms import Segment, Term

_Array = NDArray[np.float64]

MAX_SEGMENTS = 4
ROWS_PER_PARAMETER = 2  # that a segment needs at least
SMALLEST_ERROR = 3e-3  # relative; a better fit is luck, and no reason for another knot
SMALLEST_RATIO = 1e-3  # of predicted to measured time
ROUNDS = 8


@dataclass(frozen=True)
class Residual:
    """Relative errors of a fit: |predicted - measured| / measured over `n` rows."""

    median: float
    p90: float
    n: int


@dataclass(frozen=True)
class _Line:
    """Latency, seconds per byte, block, touched byte and page, and the sum of the errors that it leaves."""

    coefficients: tuple[float, ...]
    error: float

    @property
    def n_parameters(self) -> int:
        return 1 + sum(value > 0 for value in self.coefficients)  # and the knot


def import_nnls() -> Any:
    """scipy's non-negative least squares; RuntimeError where scipy is missing."""
    try:
        from scipy.optimize import nnls  # type: ignore[import-untyped]
    except ImportError as error:
        raise RuntimeError("fitting needs scipy: pip install 'tempi-mpi[measure]'") from error
    return nnls


def _features(rows: Sequence[Measurement]) -> _Array:
    """One row a measurement: (1, bytes, blocks, touched, pages); shape (n, 5)."""
    return np.array([(1.0, row.bytes, row.blocks, row.touched, row.pages) for row in rows], dtype=np.float64)


def _log_errors(predicted: _Array, times: _Array) -> _Array:
    """|log(predicted / measured)|: a factor too much counts as a factor too little. Shape (n,)."""
    return np.abs(np.log(np.maximum(predicted, SMALLEST_RATIO * times) / times))


def _weighted_fit(features: _Array, times: _Array, weights: _Array) -> _Array:
    """Non-negative least squares; shape (5,)."""
    weighted = features * weights[:, None]
    scale = np.linalg.norm(weighted, axis=0)
    scale[scale == 0] = 1.0  # a feature that is always 0 gets the coefficient 0
    found: _Array = import_nnls()(weighted / scale, times * weights)[0] / scale
    return found


def _fit_line(features: _Array, times: _Array) -> _Line:
    """Least absolute log errors, as least squares with weights that follow them: outliers count little."""
    weights = 1 / times
    best = _Line((0.0,) * features.shape[1], inf)
    for _ in range(ROUNDS):
        found = np.array([float(f"{value:.9g}") for value in _weighted_fit(features, times, weights)])
        predicted = features @ found
        errors = _log_errors(predicted, times)
        if errors.sum() < best.error:
            best = _Line(tuple(found.tolist()), float(errors.sum()))
        spread = np.sqrt(np.maximum(predicted, SMALLEST_RATIO * times) * times)
        weights = 1 / (spread * np.sqrt(np.maximum(errors, SMALLEST_ERROR)))
    return best


class _Cells:
    """Measurements between powers of four of the footprint; lines through runs of cells, each fitted once."""

    def __init__(self, rows: Sequence[Measurement]) -> None:
        sizes = [row.features.footprint for row in rows]  # ascending
        knots = [4**power for power in range(32) if sizes[0] < 4**power <= sizes[-1]]
        self.edges = [0, *knots]
        self._first_rows = [0, *(bisect_left(sizes, knot) for knot in knots), len(rows)]
        self._features = _features(rows)
        self._times = np.array([row.median_s for row in rows])
        self._lines: dict[tuple[int, int], _Line | None] = {}
        varying = np.any(self._features != self._features[0], axis=0).sum()
        self._least_rows = min(len(rows), ROWS_PER_PARAMETER * int(varying + 1))

    def line(self, first: int, last: int) -> _Line | None:
        """The line through the cells from `first` up to `last`; None if there are too few rows."""
        if (first, last) not in self._lines:
            begin, end = self._first_rows[first], self._first_rows[last]
            enough = end - begin >= self._least_rows
            self._lines[first, last] = (
                _fit_line(self._features[begin:end], self._times[begin:end]) if enough else None
            )
        return self._lines[first, last]

    def divisions(self) -> Iterator[tuple[int, ...]]:
        """All ways to divide the cells into at most `MAX_SEGMENTS` runs, fewest first."""
        last = len(self.edges)
        for n_knots in range(MAX_SEGMENTS):
            yield from ((0, *inner, last) for inner in combinations(range(1, last), n_knots))

    def score(self, division: Sequence[int]) -> float:
        """Bayesian information criterion of Laplace errors; infinite if a segment has too few rows."""
        lines = [self.line(*pair) for pair in pairwise(division)]
        if any(line is None for line in lines):
            return inf
        known = [line for line in lines if line is not None]
        n = len(self._times)
        mean_error = sum(line.error for line in known) / n + SMALLEST_ERROR
        return 2 * n * log(mean_error) + log(n) * sum(line.n_parameters for line in known)


def in_order(rows: Iterable[Measurement]) -> list[Measurement]:
    """Sort key: the footprint, then all else that distinguishes rows."""
    return sorted(
        rows, key=lambda row: (row.features.footprint, row.bytes, row.block, row.stride, row.median_s)
    )


def fit_term(rows: Iterable[Measurement]) -> Term:
    """The term that has the least error on the rows, with knots only where they reduce it enough.

    Knots are powers of four; every segment has rows enough for its parameters. The order of the rows does not
    matter.

    Raises
    ------
    ValueError
        If there are no rows.
    RuntimeError
        If scipy is missing.
    """
    ordered = in_order(rows)
    if not ordered:
        raise ValueError("a term without measurements cannot be fitted")
    cells = _Cells(ordered)
    best = min(cells.divisions(), key=cells.score)
    segments = []
    for first, last in pairwise(best):
        line = cells.line(first, last)
        if line is not None:
            segments.append(Segment(cells.edges[first], *line.coefficients))
    return Term(tuple(segments))


def fit_all(rows: Iterable[Measurement]) -> dict[str, Term]:
    """A term for every name in the rows."""
    return {name: fit_term(table) for name, table in by_term(rows).items()}


def errors_of(term: Term, rows: Sequence[Measurement]) -> list[float]:
    """Relative errors, row by row."""
    return [abs(term.seconds(row.features) - row.median_s) / row.median_s for row in rows]


def residual(term: Term, rows: Sequence[Measurement]) -> Residual:
    """The relative errors of a term on rows, in short."""
    errors = errors_of(term, rows)
    return Residual(float(np.median(errors)), float(np.quantile(errors, 0.9)), len(errors))


def half_grid_error(rows: Iterable[Measurement]) -> float | None:
    """Median relative error on each half of the grid of the fit to the other; None for fewer than 8 rows.

    Neighbours in (footprint, bytes, block, stride) are in different halves.
    """
    ordered = in_order(rows)
    if len(ordered) < 8:
        return None
    halves = ordered[::2], ordered[1::2]
    errors = [
        error for fitted, other in (halves, halves[::-1]) for error in errors_of(fit_term(fitted), other)
    ]
    return float(np.median(errors))
