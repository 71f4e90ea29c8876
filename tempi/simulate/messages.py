"""Messages of an exchange, as columns: an entry for each message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tempi.model.features import PAGE_BYTES

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Messages:
    """Messages between ranks.

    Attributes
    ----------
    source, target : integers
        Ranks.
    bytes, blocks, touched, pages : integers
        Features of the datatype, alike at both ends; see `tempi.model.features`.
    contiguous, indexed : booleans
        The datatype is one dense block; its offsets come from a table.
    """

    source: Integers
    target: Integers
    bytes: Integers
    blocks: Integers
    touched: Integers
    pages: Integers
    contiguous: NDArray[np.bool_]
    indexed: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.source)

    def select(self, chosen: Any) -> Messages:
        """The messages at an index array or mask."""
        return Messages(**{each.name: getattr(self, each.name)[chosen] for each in fields(self)})

    def packed(self) -> Messages:
        """The same payloads as contiguous bytes."""
        ones = np.ones_like(self.blocks)
        return replace(
            self,
            blocks=ones,
            touched=self.bytes,
            pages=-(-self.bytes // PAGE_BYTES),
            contiguous=ones == 1,
            indexed=ones == 0,
        )

    def joined(self) -> Messages:
        """One message for all that go from one rank to another, in the order of their first ones."""
        n_ranks = int(max(self.source.max(), self.target.max())) + 1 if len(self) else 1
        pairs, first, place = np.unique(
            self.source * n_ranks + self.target, return_index=True, return_inverse=True
        )
        number = np.bincount(place, minlength=len(pairs))

        def total(column: Integers) -> Integers:
            sums = np.zeros(len(pairs), np.int64)
            np.add.at(sums, place, column)
            return sums

        contiguous = (total(self.contiguous.astype(np.int64)) == 1) & (number == 1)
        indexed = total(self.indexed.astype(np.int64)) > 0
        found = Messages(
            source=pairs // n_ranks,
            target=pairs % n_ranks,
            bytes=total(self.bytes),
            blocks=total(self.blocks),
            touched=total(self.touched),
            pages=total(self.pages),
            contiguous=contiguous,
            indexed=indexed,
        )
        return found.select(np.argsort(first))

    def by_target(self) -> Messages:
        """Those of each rank in the order of their targets, ranks in order."""
        return self.select(np.lexsort((self.target, self.source)))


def contiguous(source: Integers, target: Integers, n_bytes: Integers) -> Messages:
    """Messages of one dense block each."""
    ones = np.ones_like(n_bytes)
    return Messages(source, target, n_bytes, ones, n_bytes, ones, ones == 0, ones == 0).packed()


def together(rounds: Sequence[Messages]) -> Messages:
    """The messages of all rounds, of which there is at least one."""
    each = {f.name: np.concatenate([getattr(one, f.name) for one in rounds]) for f in fields(Messages)}
    return Messages(**each)


def order_within(groups: Integers) -> Integers:
    """The number of earlier entries of the same group, for each entry."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]] if len(ordered) else np.zeros(0, bool)
    begins = np.flatnonzero(first)
    place = np.empty(len(groups), np.int64)
    place[order] = np.arange(len(groups)) - np.repeat(begins, np.diff(np.r_[begins, len(groups)]))
    return place
