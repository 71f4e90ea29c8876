"""The pieces of arrays that one rank sends and receives, in the order of its messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tempi.halo.ghosts import Region
from tempi.halo.region_types import Strided, Walk
from tempi.halo.regions import Regions


class Piece(NamedTuple):
    """A region of an array, and its cells in the order in which messages have them."""

    array: int
    region: Region
    cells: Strided


Pieces = dict[int, list[Piece]]  # by the rank at the other end


def pieces_of(by_rank: Regions, walks: Sequence[Walk], arrays: Sequence[Strided]) -> Pieces:
    """The pieces of arrays that have cells."""
    found = {}
    for peer, regions in by_rank.items():
        every = [Piece(i, region, arrays[i][region].walked(walks[i])) for i, region in regions]
        if full := [piece for piece in every if piece.cells.n_bytes]:
            found[peer] = full
    return found
