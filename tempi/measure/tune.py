"""``tempi measure --tune``: from the records of `tempi.measure.tune_rank` to tables and the profile."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import groupby
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from tempi._legend import legend
from tempi.cuda.gpus import use_gpu
from tempi.measure.tune_rank import records
from tempi.measure.tune_search import Comparison
from tempi.model.machine import Machine
from tempi.model.profile import Profile, path_of, read
from tempi.model.profile_check import record
from tempi.model.tuning import KNOBS, checked_changes
from tempi.run.environment import local_rank
from tempi.run.records import Record

MEANINGS_OF_KNOBS = {
    "name": "the launch parameter",
    "default": "its value without tuning",
    "best other": "the fastest of its other values",
    "time": "time with this value / time with the value that it would replace, on average",
    "noise": "half the width of the 95% confidence interval of this ratio",
    "chosen": "the fastest value, if it is faster by more than the noise; else the default",
    "meaning": "what the launch parameter sets",
}
MEANINGS_OF_CLASSES = {
    "class": "the kind of transfer",
    "cases": "number of transfers",
    "default µs": "time with the defaults in microseconds, on average",
    "chosen µs": "time with the chosen values in microseconds, on average",
    "time": "chosen µs / default µs",
}


@dataclass
class Found:
    """The contents of a search's records."""

    candidates: dict[str, dict[int, Comparison]] = field(default_factory=dict)
    rejected: list[str] = field(default_factory=list)
    left_out: int = 0
    cases: list[Record] = field(default_factory=list)
    outcome: Record = field(default_factory=dict)

    def add(self, item: Record) -> None:
        """Take in one record."""
        if "ratio" in item and "knob" in item:
            made = Comparison(item["ratio"], item["noise"])
            self.candidates.setdefault(item["knob"], {})[item["value"]] = made
        elif "rejected" in item:
            self.rejected.append(f"{item['knob']} {item['value']} is REJECTED: {item['rejected']}")
        elif "case" in item:
            self.cases.append(item)
        elif "tuning" in item:
            self.outcome = item
        self.left_out += "left_out" in item

    @property
    def tuning(self) -> dict[str, int]:
        """The winners."""
        return checked_changes(self.outcome["tuning"], "tuning")


def collect(found: Iterable[Record], console: Console) -> Found:
    """Take in all records, showing progress; rejected candidates are shown at once."""
    result = Found()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=None)
        for item in found:
            result.add(item)
            if "candidates" in item:
                progress.update(task, total=item["candidates"])
            elif "knob" in item:
                left = f"{max(0.0, item['left_s']):.0f} s left at most"
                progress.update(task, description=f"{item['knob']} {item['value']}, {left}", advance=1)
            if "rejected" in item:
                console.print(f"[red]{result.rejected[-1]}[/red]", highlight=False)
    return result


def knob_table(found: Found) -> Table:
    """A line for each launch parameter: its best candidate against the default."""
    table = Table(title="launch parameters", title_justify="left")
    for name in MEANINGS_OF_KNOBS:
        table.add_column(name, justify="left" if name in ("name", "meaning") else "right")
    tried = found.outcome.get("tried", {})
    for knob in KNOBS:
        tested = found.candidates.get(knob.name)
        if not tested:
            continue
        value, best = min(tested.items(), key=lambda item: item[1].ratio)
        chosen = str(tried.get(knob.name, knob.default))
        times = (f"x {best.ratio:.3f}", f"{100 * best.noise:.1f}%")
        table.add_row(knob.name, str(knob.default), str(value), *times, chosen, knob.meaning)
    return table


def class_table(cases: Iterable[Record]) -> Table:
    """A line for each kind of transfer: geometric means of its times."""
    table = Table(title="default against chosen, packing and unpacking", title_justify="left")
    for name in MEANINGS_OF_CLASSES:
        table.add_column(name, justify="left" if name == "class" else "right")
    for (form, word), group in groupby(sorted(cases, key=_class_of), key=_class_of):
        rows = list(group)
        before, after = (geometric_mean(row[key] for row in rows) for key in ("default_s", "tuned_s"))
        name = f"{form}, words of {word} B"
        times = (f"{1e6 * before:.2f}", f"{1e6 * after:.2f}", f"x {after / before:.3f}")
        table.add_row(name, str(len(rows)), *times)
    return table


def _class_of(case: Record) -> tuple[str, int]:
    return case["form"], case["word"]


def print_found(found: Found, console: Console) -> None:
    """The tables, and the outcome in words."""
    console.print(knob_table(found))
    console.print(legend(MEANINGS_OF_KNOBS), highlight=False)
    if found.cases:
        console.print(class_table(found.cases))
        console.print(legend(MEANINGS_OF_CLASSES), highlight=False)
    if found.left_out:
        console.print(
            f"{found.left_out} candidates were left out: the time was up (--seconds)", highlight=False
        )
    chosen = ", ".join(f"{name} {value}" for name, value in found.tuning.items())
    console.print(
        f"chosen: {chosen or 'the defaults; nothing is faster by more than the noise'}", highlight=False
    )


def present_profile(first: Mapping[str, Any], directory: Path) -> Profile:
    """The profile that the tuning is to be added to.

    Raises
    ------
    RuntimeError
        If there is no GPU, or no profile of this machine yet.
    ProfileError
        If the profile is damaged.
    """
    machine = record(Machine, first.get("machine"), "machine")
    if not machine.has_gpu:
        raise RuntimeError("there is no GPU to tune for")
    path = path_of(machine, directory)
    if not path.exists():
        raise RuntimeError(
            f"there is no profile of this machine in {directory} that the tuning could be added to: "
            "measure first, without --tune"
        )
    return read(path)


def tuned_profile(found: Generator[Record, None, None], directory: Path, console: Console) -> Profile:
    """This machine's profile with the launch parameters that were found.

    Raises
    ------
    RuntimeError
        If the search found nothing; see also `present_profile`.
    """
    with closing(found):  # also ends the rank where the profile is refused
        profile = present_profile(next(found, {}), directory)
        result = collect(found, console)
    if not result.outcome:
        raise RuntimeError("the search for launch parameters did not end")
    print_found(result, console)
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return replace(profile, tuning=result.tuning, measured=dict(profile.measured) | {"tuned": date})


def tuned_here(quick: bool, seconds: float, directory: Path, console: Console) -> Profile | None:
    """The same by rank 0 of the job that this process is one of; the others get nothing."""
    use_gpu(local_rank())
    from mpi4py import MPI

    if MPI.COMM_WORLD.rank != 0:
        return None
    return tuned_profile(records(quick, seconds), directory, console)
