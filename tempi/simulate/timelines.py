"""The messages of a program's timelines (TEMPI_TRACE): a file a rank.

Glossary
    round   the messages of a rank between two of its waits; the rounds of all ranks with the same number are
            simulated as one exchange, one round after the other

The time between messages, in which the program computed, is left out; messages of a round are taken not to
wait for each other. A persistent request counts once, when it was made. Messages that were the library's at
first sight are not recorded.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tempi.simulate.errors import SimulationError
from tempi.simulate.messages import Messages

SEND = "send"
MESSAGES = frozenset({SEND, "receive"})
WAITS = frozenset({"library wait", "wait for batch"})
COLUMNS = ("bytes", "blocks", "touched", "pages", "indexed")
Row = tuple[int, ...]  # source, target, and the columns


def read_rounds(paths: Sequence[Path]) -> tuple[list[Messages], int]:
    """The rounds of all messages that were sent, and the number of ranks.

    Raises
    ------
    SimulationError
        With one line, if a file is no timeline, or there are no messages in them.
    """
    rounds: dict[int, list[Row]] = defaultdict(list)
    ranks: set[int] = set()
    for path in paths:
        rank, events = _timeline(path)
        if rank in ranks:
            raise SimulationError(f"{path} is another timeline of rank {rank}: give one file for each rank")
        ranks.add(rank)
        for number, event in _numbered(events):
            rounds[number].append(_row(path, rank, event))
    if not rounds:
        raise SimulationError(
            "the timelines have no messages that TEMPI carries: the program's were the MPI library's, as "
            "those of host memory are without a profile; TEMPI_STRATEGY=host records datatypes in host memory"
        )
    n_ranks = 1 + max(*ranks, *(max(row[:2]) for rows in rounds.values() for row in rows))
    return [_messages(rounds[number]) for number in sorted(rounds)], n_ranks


def _timeline(path: Path) -> tuple[int, list[Mapping[str, Any]]]:
    """The rank of a file, and its spans in order of time."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        rank = int(data["otherData"]["rank"])
        spans = [event for event in data["traceEvents"] if event.get("ph") == "X"]
        spans.sort(key=lambda event: float(event["ts"]))
    except OSError as error:
        raise SimulationError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SimulationError(
            f"{path} is no timeline of TEMPI_TRACE: {type(error).__name__}: {error}"
        ) from error
    if rank < 0:
        raise SimulationError(f"{path} is the timeline of a process without a rank")
    return rank, spans


def _numbered(events: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The sends to known peers, each with the number of its round."""
    number, has_messages, waited = 0, False, False
    for event in events:
        name = event.get("name")
        waited = waited or name in WAITS
        if name not in MESSAGES:
            continue
        number += has_messages and waited
        has_messages, waited = True, False
        if name == SEND and "peer" in event.get("args", {}):
            yield number, event["args"]


def _row(path: Path, rank: int, arguments: Mapping[str, Any]) -> Row:
    try:
        return rank, int(arguments["peer"]), *(int(arguments[name]) for name in COLUMNS)
    except (KeyError, ValueError, TypeError) as error:
        raise SimulationError(f"{path} has a message without its {error}: it is damaged") from error


def _messages(rows: Sequence[Row]) -> Messages:
    source, target, n_bytes, blocks, touched, pages, indexed = np.array(rows, np.int64).T
    return Messages(source, target, n_bytes, blocks, touched, pages, blocks <= 1, indexed == 1)
