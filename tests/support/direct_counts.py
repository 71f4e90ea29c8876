"""What became of direct messages, by the shim's counters."""

from __future__ import annotations

from typing import NamedTuple

from support import outcomes

DIRECT = ("direct", "taken: direct (written into the receive buffer)")
BOUNCED = ("direct", "taken: direct (packed into a bounce buffer)")
DECLINED = ("direct", "not direct: the buffer cannot be imported, or the layouts do not combine")
TIMED_OUT = ("direct", "not direct: no receive was published within the match timeout")
FELL_BACK = ("direct", "taken: copied through host memory after a GPU failure")


class Counts(NamedTuple):
    """Messages that this rank sent."""

    direct: int
    declined: int
    fell_back: int


def counts_since(before: outcomes.Rows) -> Counts:
    rows = outcomes.rows() - before
    return Counts(rows[DIRECT], rows[DECLINED], rows[FELL_BACK])


def bounced_since(before: outcomes.Rows) -> int:
    """The messages that this rank packed into memory of their receivers."""
    return (outcomes.rows() - before)[BOUNCED]


def direct_since(before: outcomes.Rows) -> int:
    """The messages that this rank wrote straight into their receivers."""
    return counts_since(before).direct
