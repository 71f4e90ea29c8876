"""What became of direct messages, by the shim's counters."""

from __future__ import annotations

from typing import NamedTuple

from support import outcomes

DIRECT = ("direct", "taken: straight into the receiver")
LANDED = ("direct", "taken: packed straight into memory of the receiver's GPU")
DECLINED = ("direct", "declined: memory out of reach, or layouts that do not compose")
TIMED_OUT = ("direct", "timed out: the receive came too late")
FELL_BACK = ("direct", "taken: staged after a GPU failure")


class Counts(NamedTuple):
    """Messages that this rank sent."""

    direct: int
    declined: int
    fell_back: int


def counts_since(before: outcomes.Rows) -> Counts:
    rows = outcomes.rows() - before
    return Counts(rows[DIRECT], rows[DECLINED], rows[FELL_BACK])


def landed_since(before: outcomes.Rows) -> int:
    """The messages that this rank packed into memory of their receivers."""
    return (outcomes.rows() - before)[LANDED]


def direct_since(before: outcomes.Rows) -> int:
    """The messages that this rank wrote straight into their receivers."""
    return counts_since(before).direct
