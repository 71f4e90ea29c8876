"""The sends and receives of timelines that belong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from tempi.simulate.errors import SimulationError

RECEIVE = "receive"
FROM_ANY = -1  # source of a receive from MPI_ANY_SOURCE
Event = Mapping[str, Any]
Pairs = Counter[tuple[int, int]]  # messages by source and target


def sources(path: Path, events: Sequence[Event]) -> list[int]:
    """The source of each receive."""
    found = [event.get("args", {}) for event in events if event.get("name") == RECEIVE]
    try:
        return [int(arguments.get("peer", FROM_ANY)) for arguments in found]
    except (ValueError, TypeError) as error:
        raise SimulationError(f"{path} is damaged: the peer of a receive is not a number") from error


def without_partner(sends: Pairs, receives: Pairs, ranks: Collection[int]) -> tuple[int, int]:
    """The sends without a receive, and the receives without a send, among ranks with timelines."""
    from_any = {target: n for (source, target), n in receives.items() if source == FROM_ANY}
    sends_left = Counter[int]()
    for (_, target), n in (sends - receives).items():
        sends_left[target] += n
    no_receive = sum(max(0, n - from_any.get(rank, 0)) for rank, n in sends_left.items() if rank in ranks)
    no_send = sum(n for (source, _), n in (receives - sends).items() if source in ranks)
    return no_receive, no_send
