"""Places of packed boxes in a contiguous buffer: those for one rank together, hence one message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, groupby

from bench.halo3d.grid import BYTES_A_VALUE, DIRECTIONS, Direction, Place, Size, opposite


@dataclass(frozen=True)
class Message:
    """A part of the buffer; bytes."""

    peer: int
    start: int
    n_bytes: int


@dataclass(frozen=True)
class Packing:
    """The order of the directions in a buffer, the offset of each one's box (bytes), and the messages."""

    order: list[Direction]
    starts: list[int]
    messages: list[Message]

    @classmethod
    def of(cls, size: Size, peer: Callable[[Direction], int]) -> Packing:
        """The places of boxes to or from the rank `peer`, in the order of the directions for each."""
        order = sorted(DIRECTIONS, key=peer)
        lengths = [BYTES_A_VALUE * size.elements(direction) for direction in order]
        starts = list(accumulate(lengths, initial=0))[:-1]
        boxes = zip(map(peer, order), starts, lengths, strict=True)
        together = ((rank, list(found)) for rank, found in groupby(boxes, key=lambda box: box[0]))
        messages = [Message(rank, found[0][1], sum(n for _, _, n in found)) for rank, found in together]
        return cls(order, starts, messages)


def sent_packing(size: Size, place: Place) -> Packing:
    """The places in a sent buffer."""
    return Packing.of(size, place.neighbour)


def received_packing(size: Size, place: Place) -> Packing:
    """The places in a received buffer: boxes that travel in direction d come from behind, as packed there."""
    return Packing.of(size, lambda direction: place.neighbour(opposite(direction)))
