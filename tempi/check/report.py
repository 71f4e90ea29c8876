"""The results of a check: collected from records, judged, shown, and written to a file."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from tempi.check.pairs import PLACES
from tempi.run.records import Record

MOST_SHOWN = 5


@dataclass
class Run:
    """The ranks of one job: one strategy.

    Attributes
    ----------
    strategy : str
        The value of TEMPI_STRATEGY.
    command : str
    ranks : list of dict
        Facts of each rank, found by itself.
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

    def problems(self) -> list[str]:
        """All that is wrong, in words."""
        found = [self.failure] if self.failure else []
        for rank, own in enumerate(self.ranks):
            if not own["is_on"]:
                found.append(f"rank {rank} on {own['host']}: its MPI calls do not reach TEMPI")
            for name, owner in list(own["bypassed"].items())[:MOST_SHOWN]:
                found.append(f"rank {rank} on {own['host']}: calls of {name} reach {owner}, not TEMPI")
            found += own["wrong_neighbours"]
        wrong = [message for message in self.messages if message["wrong"]]
        found += [_in_words(message) for message in wrong[:MOST_SHOWN]]
        if len(wrong) > MOST_SHOWN:
            found.append(f"and {len(wrong) - MOST_SHOWN} more exchanges with wrong bytes")
        if not self.failure and not self.messages and not self.left_out:
            found.append("no message was exchanged")
        return found

    def notes(self) -> list[str]:
        """All that is right, but perhaps not as wanted."""
        found = []
        unknown = sum(own["unknown_neighbours"] for own in self.ranks)
        if unknown:
            found.append(
                f"{unknown} pairs of ranks share a node, but TEMPI does not know it: no direct messages"
            )
        if self.left_out:
            found.append(f"{self.left_out} cases were left out: the time was not enough (--seconds)")
        return found


def _in_words(message: Record) -> str:
    one, other = message["pair"]
    return (
        f"rank {one} received {message['wrong']} wrong bytes from rank {other} ({message['place']}): "
        f"{message['memory']} memory, {message['layout']}, {message['size']}"
    )


def _rows(run: Run) -> list[tuple[str, str, str, list[Record]]]:
    """The messages of a run by place, memory and size, in the order of the tables."""
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for message in run.messages:
        groups.setdefault((message["place"], message["memory"], message["size"]), []).append(message)
    return sorted(((*key, found) for key, found in groups.items()), key=lambda row: PLACES.index(row[0]))


def _outcomes(messages: list[Record]) -> str:
    total: Counter[str] = Counter()
    for message in messages:
        total.update(message["outcomes"])
    return ", ".join(f"{n} {outcome.removeprefix('taken: ')}" for outcome, n in total.most_common(3))


def table(run: Run) -> Table:
    """A row for each place, memory and size: right or wrong, how it went, and how fast."""
    shown = Table(title=f"TEMPI_STRATEGY={run.strategy}", title_justify="left")
    for name in ("between", "memory", "size", "exchanges", "wrong", "median us", "sends by outcome"):
        shown.add_column(
            name, justify="left" if name in ("between", "memory", "sends by outcome") else "right"
        )
    for place, memory, size, messages in _rows(run):
        wrong = sum(message["wrong"] > 0 for message in messages)
        middle = 1e6 * median(message["seconds"] for message in messages)
        cells = (str(len(messages)), str(wrong), f"{middle:.4g}", _outcomes(messages))
        shown.add_row(place, memory, size, *cells, style="red" if wrong else None)
    return shown


def show(run: Run, console: Console) -> None:
    """Print a run."""
    console.print(table(run))
    for note in run.notes():
        console.print(f"[yellow]{note}[/yellow]", highlight=False)
    for problem in run.problems():
        console.print(f"[red]{problem}[/red]", highlight=False)


def write_report(path: Path, facts: dict[str, Any], runs: list[Run]) -> None:
    """Everything, as JSON."""
    found = [vars(run) | {"problems": run.problems(), "notes": run.notes()} for run in runs]
    path.write_text(json.dumps(facts | {"runs": found}, indent=1) + "\n")
