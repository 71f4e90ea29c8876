"""Measurements: the rows of a profile's tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tempi.model.features import Features


@dataclass(frozen=True)
class Measurement:
    """One row of a table.

    Attributes
    ----------
    term : str
    bytes, blocks, touched, pages : int
        Features, as in `Features`.
    block, stride : int
        Of the shape, in bytes; see `tempi.measure.shapes`.
    planes, boxes : int
        Of the shape.
    median_s, low_s, high_s : float
        Median of the samples and its 95% confidence interval, in seconds.
    flags : tuple of str
        Names of suspicions about the samples; see `tempi.measure.sampling`.
    """

    term: str
    bytes: int
    blocks: int
    touched: int
    pages: int
    block: int
    stride: int
    median_s: float
    low_s: float
    high_s: float
    samples: int
    flags: tuple[str, ...] = ()
    planes: int = 1
    boxes: int = 1

    @property
    def features(self) -> Features:
        """The features of the transfer."""
        return Features(self.bytes, self.blocks, self.touched, self.pages)


def by_term(rows: Iterable[Measurement]) -> dict[str, list[Measurement]]:
    """The tables of the terms."""
    tables: dict[str, list[Measurement]] = defaultdict(list)
    for row in rows:
        tables[row.term].append(row)
    return dict(tables)
