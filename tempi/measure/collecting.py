"""The profile that the records of the ranks make, and the notes and doubts about it."""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from tempi._version import __version__
from tempi._words import counted
from tempi.measure.doubts import doubts
from tempi.model.machine import Machine
from tempi.model.measurement import Measurement
from tempi.model.profile import Profile, completed, fitted
from tempi.model.profile_check import record
from tempi.run.records import Record


@dataclass(frozen=True)
class Limit:
    """The time limit of a measurement.

    Attributes
    ----------
    origin : str
        The option that sets it, with its value, for people.
    """

    seconds: float
    origin: str


class Collected:
    """The contents of a measurement's records."""

    def __init__(self) -> None:
        self.machine: Machine | None = None
        self.planned: Counter[str] = Counter()
        self.rows: list[Measurement] = []
        self.left_out: Counter[str] = Counter()
        self.failures: Counter[tuple[str, str]] = Counter()
        self.waited = 0.0  # part of the time of rank 0, without a CPU core

    def add(self, found: Record) -> None:
        """Take in one record."""
        if "machine" in found:
            self.machine = record(Machine, found["machine"], "machine")
            self.planned.update(found["rows"])
        elif "row" in found:
            self.rows.append(record(Measurement, found["row"], "row"))
        elif "failed" in found:
            self.failures[found["failed"], found["why"]] += 1
        self.left_out.update(found.get("left_out", {}))
        self.waited = found.get("waited", self.waited)

    def notes(self, limit: Limit) -> Iterator[str]:
        """The rows that were not measured, with the reason, for people."""
        for (term, why), n in self.failures.items():
            yield f"{term}: {counted(n, 'row')} could not be measured: {why}"
        if not self.left_out:
            return
        yield (
            f"The time limit ({limit.origin}) ended the measurement: "
            f"{self.left_out.total()} of {self.planned.total()} rows were left out. --seconds sets the limit."
        )
        for term, n in self.left_out.items():
            yield f"  {term}: {n} of {counted(self.planned[term], 'row')}"


def collect(found: Iterator[Record], seconds: float, console: Console) -> Collected:
    """Take in all records, showing progress."""
    collected = Collected()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]:.0f} s left at most"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=None, left=seconds)
        for item in found:
            collected.add(item)
            about = item.get("row", {}).get("term", item.get("failed", "measuring"))
            left = {"left": item["left_s"]} if "left_s" in item else {}
            done = len(collected.rows) + collected.failures.total()
            progress.update(task, description=about, total=collected.planned.total(), completed=done, **left)
    return collected


def measured_profile(
    found: Iterator[Record], limit: Limit, target: Path, console: Console
) -> tuple[Profile, list[str]]:
    """The profile that the records make, and the doubts about it.

    The console shows the failures. The profile keeps the other terms and the tuning of an earlier profile in
    `target`; the doubts are about the measured terms only.
    """
    begun = time.monotonic()
    collected = collect(found, limit.seconds, console)
    for note in collected.notes(limit):
        console.print(f"[yellow]{note}[/yellow]", highlight=False, soft_wrap=True)
    if collected.machine is None or not collected.rows:
        raise RuntimeError("nothing was measured")
    facts = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "tempi": __version__,
        "command": shlex.join([Path(sys.executable).name, *sys.orig_argv[1:]]),
        "seconds": round(time.monotonic() - begun, 1),
    }
    profile = fitted(collected.machine, facts, collected.rows, {})
    return completed(profile, target), doubts(profile, collected.planned, collected.waited)
