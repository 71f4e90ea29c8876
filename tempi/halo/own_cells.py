"""Cells in host memory that a rank sends to itself: copied from place to place, without a message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from tempi import _native
from tempi.arrays.strides import Loop, loops_of
from tempi.halo.region_types import Strided

PIECE_BYTES = 256 << 10  # messages go on between two pieces
Pair = tuple[Strided, Strided]  # sent and received: the same shape and the same strides


def copies_of(sent: Sequence[Strided], received: Sequence[Strided]) -> list[_native.HostCopies]:
    """The copies of all pairs in pieces, array by array: an array stays in the caches meanwhile."""
    pairs = sorted(zip(sent, received, strict=True), key=lambda pair: pair[0].begin)
    return [_copies(piece) for piece in pieces(pairs, PIECE_BYTES)]


def pieces(pairs: Sequence[Pair], most_bytes: int) -> Iterator[list[Pair]]:
    """Groups of consecutive pairs. A group has at most `most_bytes`, or a single pair."""
    piece: list[Pair] = []
    n_bytes = 0
    for pair in pairs:
        if piece and n_bytes + pair[0].n_bytes > most_bytes:
            yield piece
            piece, n_bytes = [], 0
        piece.append(pair)
        n_bytes += pair[0].n_bytes
    if piece:
        yield piece


def _copies(pairs: Sequence[Pair]) -> _native.HostCopies:
    copies = _native.HostCopies()
    for out, back in pairs:
        outer, inner, block_bytes = _loops(out)
        for places in product(*(range(count) for count, _ in outer)):
            offset = sum(place * stride for place, (_, stride) in zip(places, outer, strict=True))
            copies.add(out.address + offset, back.address + offset, block_bytes, inner)
    return copies


def _loops(cells: Strided) -> tuple[list[Loop], list[Loop], int]:
    """The loops over the cells' blocks, those that a copy does not take first; and the bytes of a block."""
    order = sorted(zip(cells.strides, cells.shape, strict=True), key=lambda axis: -abs(axis[0]))
    strides, shape = zip(*order, strict=True)
    loops = loops_of((*shape, cells.cell_bytes), (*strides, 1))
    block_bytes = loops.pop()[0] if loops and loops[-1][1] == 1 else 1
    n_outer = max(0, len(loops) - _native.HostCopies.most_loops)
    return loops[:n_outer], loops[n_outer:], block_bytes
