"""The messages of a program's timelines (TEMPI_TRACE): a file for the job, for each node, or for each rank.

Glossary
    round   the messages of a rank between two of its waits; the rounds of all ranks with the same number are
            simulated as one exchange, one round after the other

The time between messages, in which the program computed, is left out; messages of a round are taken not to
wait for each other. A persistent request counts once, when it was made. Messages that were the library's at
first sight are not recorded.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tempi._words import counted
from tempi.simulate.errors import SimulationError
from tempi.simulate.messages import Messages
from tempi.simulate.partners import RECEIVE, Event, Pairs, sources, without_partner

SEND, START = "send", "start send"
MESSAGES = frozenset({SEND, RECEIVE})
WAITS = frozenset({"library wait", "wait for batch"})
COLUMNS = ("bytes", "blocks", "touched", "pages", "indexed")
MOST_RANKS = 1 << 20
MOST_NUMBER = 1 << 50  # of bytes, blocks and pages of a message
Row = tuple[int, ...]  # source, target, and the columns


@dataclass(frozen=True)
class Recorded:
    """The messages that were sent.

    Attributes
    ----------
    rounds : list of Messages
    n_ranks : int
    memory : "gpu" or "host"
        The memory of the program's data that these messages are of.
    n_left_out : int
        Messages of the other memory.
    without_timeline : list of int
        The ranks whose timelines are missing. Their sends are not known.
    has_waits : bool
        False: no rank waits between its messages, or the MPI library alone carries out all waits.
    n_of_library : int
        Recorded sends that the MPI library carried out. Most later ones of the same datatype are not in the
        timelines.
    n_without_receive, n_without_send : int
        Recorded sends without a recorded receive, which are simulated; and the opposite, which are not. Ranks
        whose timelines are missing do not count.
    """

    rounds: list[Messages]
    n_ranks: int
    memory: str
    n_left_out: int = 0
    without_timeline: Sequence[int] = ()
    has_waits: bool = True
    n_of_library: int = 0
    n_without_receive: int = 0
    n_without_send: int = 0


def read_timelines(paths: Sequence[Path], memory: str | None = None) -> Recorded:
    """The messages in the files of a job.

    Parameters
    ----------
    memory : "gpu" or "host", optional
        Take all messages to be of this memory. By default those of GPU memory are read if there are any, else
        those of host memory.

    Raises
    ------
    SimulationError
        With one line, if a file is no timeline, or there are no messages in them.
    """
    rows: dict[str, dict[int, list[Row]]] = {"gpu": defaultdict(list), "host": defaultdict(list)}
    ranks, n_started, n_waits, n_of_library = set[int](), 0, 0, 0
    sends, receives = Pairs(), Pairs()
    for path in paths:
        for rank, events in _timelines(path).items():
            if rank in ranks:
                raise SimulationError(
                    f"{path} is another timeline of rank {rank}: name each timeline once, and only "
                    "timelines of one job"
                )
            ranks.add(rank)
            n_started += sum(event.get("name") == START for event in events)
            n_waits += sum(event.get("name") in WAITS for event in events)
            for number, event in _numbered(events):
                where = memory or ("host" if event.get("memory") == "host" else "gpu")
                rows[where][number].append(_row(path, rank, event))
                sends[rank, int(event["peer"])] += 1
                n_of_library += event.get("strategy") == "library"
            receives.update((source, rank) for source in sources(path, events))
    if not any(rows.values()):
        raise SimulationError(_why_none(n_started))
    chosen = "gpu" if rows["gpu"] else "host"
    found = rows.pop(chosen)
    n_ranks = 1 + max(*ranks, *(max(row[:2]) for of_round in found.values() for row in of_round))
    if n_ranks > MOST_RANKS:
        raise SimulationError(
            f"the timelines name rank {n_ranks - 1:,}: at most {MOST_RANKS:,} ranks are possible"
        )
    n_left_out = sum(len(of_round) for others in rows.values() for of_round in others.values())
    rounds = [_messages(found[number]) for number in sorted(found)]
    missing = [rank for rank in range(n_ranks) if rank not in ranks]
    partners = without_partner(sends, receives, ranks)
    return Recorded(rounds, n_ranks, chosen, n_left_out, missing, n_waits > 0, n_of_library, *partners)


def _why_none(n_started: int) -> str:
    seen = f" (the MPI library sent {counted(n_started, 'message')})" if n_started else ""
    return (
        f"the timelines have no messages that TEMPI sent{seen}. The MPI library sends contiguous messages. "
        "It also sends the other messages of host memory, unless a profile of this machine (tempi measure) "
        "says that packing is faster. With TEMPI_STRATEGY=host, TEMPI sends all derived datatypes in host "
        "memory: record the job again"
    )


def _timelines(path: Path) -> dict[int, list[Event]]:
    """The spans of each rank of a file, in order of time."""
    try:
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
        named = [event for event in events if event.get("name") == "process_name"]
        ranks = {event["pid"]: int(event["args"]["rank"]) for event in named}
        if twice := [rank for rank, n in Counter(ranks.values()).items() if n > 1]:
            raise SimulationError(f"{path} has two processes of rank {twice[0]}: it must be of one job")
        found: dict[int, list[Event]] = {rank: [] for rank in ranks.values()}
        for event in events:
            if event.get("ph") == "X":
                found[ranks[event["pid"]]].append(event)
        for spans in found.values():
            spans.sort(key=lambda event: float(event["ts"]))
    except OSError as error:
        raise SimulationError(f"{path} cannot be read: {error.strerror}") from error
    except json.JSONDecodeError as error:
        why = f"it is not JSON, line {error.lineno}. A job that is killed leaves an incomplete file"
        raise SimulationError(_no_timeline(path, why)) from error
    except UnicodeDecodeError as error:
        raise SimulationError(_no_timeline(path, "it is not a text file")) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SimulationError(_no_timeline(path, "it has no events of TEMPI")) from error
    if not found:
        raise SimulationError(_no_timeline(path, "it has no events of TEMPI"))
    if min(found) < 0:
        raise SimulationError(f"{path} is the timeline of a process without a rank")
    return found


def _no_timeline(path: Path, why: str) -> str:
    return (
        f"{path} is not a timeline of TEMPI: {why}. To record one: tempi run -o trace=run.json -- "
        "mpirun -n 4 ./program"
    )


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
        peer, *numbers = (int(arguments[name]) for name in ("peer", *COLUMNS))
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        wanted = ", ".join(("peer", *COLUMNS))
        raise SimulationError(f"{path} is damaged: a message lacks one of the numbers {wanted}") from error
    for name, number in zip(COLUMNS, numbers, strict=True):
        least = 1 if name == "blocks" and numbers[0] > 0 else 0
        if not least <= number <= MOST_NUMBER:
            raise SimulationError(
                f"{path} is damaged: the {name} of a message are {number}, not {least} to {MOST_NUMBER:,}"
            )
    return rank, peer, *numbers


def _messages(rows: Sequence[Row]) -> Messages:
    source, target, n_bytes, blocks, touched, pages, indexed = np.array(rows, np.int64).T
    return Messages(source, target, n_bytes, blocks, touched, pages, blocks <= 1, indexed == 1)
