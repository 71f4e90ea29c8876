"""The pieces of arrays that one rank sends and receives, in the order of its messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tempi.halo.ghosts import Region
from tempi.halo.process_grid import Topology
from tempi.halo.region_types import Strided
from tempi.halo.regions import Regions, exchanged_regions
from tempi.halo.setup import Wish


class Piece(NamedTuple):
    """A region of an array, and its cells in the order in which messages have them."""

    array: int
    region: Region
    cells: Strided


Pieces = dict[int, list[Piece]]  # by the rank at the other end


def pieces_of(grid: Topology, wish: Wish, rank: int, arrays: Sequence[Strided]) -> tuple[Pieces, Pieces]:
    """The pieces with cells that a rank sends to and receives from each rank."""

    def of(by_rank: Regions) -> Pieces:
        found = {}
        for peer, regions in by_rank.items():
            every = [Piece(i, region, arrays[i][region].walked(wish.walks[i])) for i, region in regions]
            if full := [piece for piece in every if piece.cells.n_bytes]:
                found[peer] = full
        return found

    sent, received = exchanged_regions(grid, rank, wish.layouts, wish.own, wish.neighbours)
    return of(sent), of(received)
