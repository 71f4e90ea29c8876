"""Pairs of ranks that exchange messages at the same time, and the relation of a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST_FOR_ALL_PAIRS = 16
PLACES = ("same process", "same GPU", "other GPU", "same node", "other node")


@dataclass(frozen=True)
class Place:
    """The node and the GPU of a rank.

    Attributes
    ----------
    node : int
        The lowest rank of its node: names of nodes need not differ.
    host : str
    gpu : str
        Its GPU's address on the node; "" without one.
    """

    node: int
    host: str
    gpu: str


def relation(places: Sequence[Place], one: int, other: int) -> str:
    """One of `PLACES`."""
    mine, theirs = places[one], places[other]
    if one == other:
        return "same process"
    if mine.node != theirs.node:
        return "other node"
    if not mine.gpu or not theirs.gpu:
        return "same node"
    return "same GPU" if mine.gpu == theirs.gpu else "other GPU"


def rounds(size: int) -> list[list[int]]:
    """The partner of each rank, round by round; a rank without one has itself.

    All pairs up to `MOST_FOR_ALL_PAIRS` ranks, by the circle method of tournaments. Of more ranks those whose
    distance is a power of two: each rank meets neighbours and ranks of far nodes.
    """
    alone = [list(range(size))]
    if size <= MOST_FOR_ALL_PAIRS:
        return alone + _tournament(size)
    distances = [1 << k for k in range((size - 1).bit_length())]
    return alone + [_at_distance(size, distance, shift) for distance in distances for shift in (0, distance)]


def _tournament(size: int) -> list[list[int]]:
    even = size + size % 2  # an odd number of ranks gets one that is nobody
    found = []
    for turn in range(even - 1):
        partners = list(range(size))
        circle = [even - 1, *((turn + i) % (even - 1) for i in range(even - 1))]
        matched = [(circle[0], circle[1]), *((circle[1 + i], circle[-i]) for i in range(1, even // 2))]
        for one, other in matched:
            if one < size and other < size:
                partners[one], partners[other] = other, one
        found.append(partners)
    return found


def _at_distance(size: int, distance: int, shift: int) -> list[int]:
    partners = list(range(size))
    for one in range(shift, size - distance):
        if ((one - shift) // distance) % 2 == 0:
            partners[one], partners[one + distance] = one + distance, one
    return partners
