"""The results of a check: collected from records, judged, and written to a file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tempi import _native
from tempi._options import write_output
from tempi._words import counted
from tempi.check.exchange import DIRECT, NOT_COUNTED
from tempi.run.records import Record

MOST_SHOWN = 5
WHY_NOT_COUNTED = (
    f"{NOT_COUNTED}: in a process that uses no GPU, TEMPI passes most messages of host memory to the MPI "
    "library immediately, and does not count them"
)
# The outcomes of sends by strategy. The library also carries out sends that TEMPI does not count.
_OUTCOMES = {name: {outcome} for name, _, _, _, outcome, _ in _native.strategy_rows()} | {"direct": DIRECT}


@dataclass
class Run:
    """The ranks of one job: one strategy.

    Attributes
    ----------
    strategy : str
        The value of TEMPI_STRATEGY.
    command : str
    ranks : list of dict
        Facts of each rank, found by itself; empty if the ranks did not start.
    messages : list of dict
        One for each exchange and rank.
    failure : str
        The reason why the job ended early, if it did.
    """

    strategy: str
    command: str
    ranks: list[Record] = field(default_factory=list)
    messages: list[Record] = field(default_factory=list)
    left_out: int = 0
    failure: str = ""

    def add(self, record: Record) -> None:
        """Add one record of `tempi.check.rank`."""
        if "ranks" in record:
            self.ranks = record["ranks"]
        elif "left_out" in record:
            self.left_out += record["left_out"]
        elif "pair" in record:
            self.messages.append(record)

    @property
    def why_not_started(self) -> str:
        """The reason why no rank has reported; empty if the ranks started."""
        if self.ranks:
            return ""
        return self.failure or "the command ended without an error, but no rank reported"

    @property
    def is_unused(self) -> bool:
        """True if no message used the strategy, although there was time for messages of all memories."""
        if self.strategy in ("auto", "library") or not self.messages or not self._is_on:
            return False
        of_all_ranks = set.intersection(*(set(own.get("memories", ())) for own in self.ranks))
        if self.left_out and of_all_ranks - {message["memory"] for message in self.messages}:
            return False
        return all(_OUTCOMES[self.strategy].isdisjoint(message["outcomes"]) for message in self.messages)

    def problems(self) -> list[str]:
        """All that is wrong, in words. A line is about this strategy if it names it, else about the job."""
        if self.why_not_started:
            return [f"the ranks did not start: {self.why_not_started}"]
        found = [line for rank, own in enumerate(self.ranks) for line in _problems_of_rank(rank, own)]
        found += [self.failure] if self.failure else []
        wrong = [message for message in self.messages if message["wrong"]]
        found += [f"{self.strategy}: {_in_words(message)}" for message in wrong[:MOST_SHOWN]]
        if len(wrong) > MOST_SHOWN:
            more = counted(len(wrong) - MOST_SHOWN, "more exchange")
            found.append(f"{self.strategy}: {more} with wrong bytes")
        if not self.failure and not self.messages and not self.left_out:
            found.append(f"{self.strategy}: no message was exchanged")
        return found

    def notes(self) -> list[str]:
        """All that is right, but perhaps not as wanted; lines as in `problems`."""
        found = []
        unknown = sum(own["unknown_neighbours"] for own in self.ranks)
        if unknown:
            pairs = counted(unknown, "pair")
            found.append(
                f"no direct messages between {pairs} of ranks, which share a node: TEMPI does not know it"
            )
        if self._is_on and any(NOT_COUNTED in message["outcomes"] for message in self.messages):
            found.append(WHY_NOT_COUNTED)
        if self.left_out:
            found.append(f"{self.strategy}: no time for {counted(self.left_out, 'case')} (--seconds)")
        if self.is_unused:
            found.append(f"{self.strategy}: no message used this strategy (docs/strategies.md)")
        return found

    @property
    def _is_on(self) -> bool:
        return all(own["is_on"] for own in self.ranks)


def _problems_of_rank(rank: int, own: Record) -> list[str]:
    name = f"rank {rank} on {own['host']}"
    found = [] if own["is_on"] else [f"{name}: its MPI calls do not reach TEMPI"]
    for function, owner in list(own["bypassed"].items())[:MOST_SHOWN]:
        found.append(f"{name}: calls of {function} reach {owner}, not TEMPI")
    return found + list(own["wrong_neighbours"])


def _in_words(message: Record) -> str:
    one, other = message["pair"]
    wrong = counted(message["wrong"], "wrong byte")
    return (
        f"rank {one} received {wrong} from rank {other} ({message['place']}): "
        f"{message['memory']} memory, {message['layout']}, {message['size']}"
    )


def write_report(path: Path, facts: dict[str, Any], runs: list[Run]) -> None:
    """Everything, as JSON."""
    found = [vars(run) | {"problems": run.problems(), "notes": run.notes()} for run in runs]
    write_output(path, json.dumps(facts | {"runs": found}, indent=1) + "\n")
