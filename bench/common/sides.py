"""The sides of a benchmark: commands that go through the cases and print rows."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.common.cases import Case, write_cases
from bench.common.commands import CONSOLE, environment


@dataclass(frozen=True)
class Timing:
    """One row of a benchmark binary: microseconds; ``repeats`` 0 means predicted, not measured."""

    payload: int
    median_us: float
    min_us: float
    p90_us: float
    repeats: int
    correct: bool
    note: str


Timings = dict[tuple[str, str], Timing]


@dataclass(frozen=True)
class Side:
    """One contestant: a command that takes ``--cases FILE`` and prints rows."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


def read_rows(text: str) -> Timings:
    """Rows of a benchmark binary; a last line cut short by a crash is dropped."""
    rows: Timings = {}
    for row in (line.split(",", 8) for line in text.splitlines()):
        if len(row) != 9 or row[0] == "case":
            continue
        median_us, min_us, p90_us = (float(value) for value in row[3:6])
        rows[row[0], row[1]] = Timing(
            int(row[2]), median_us, min_us, p90_us, int(row[6]), row[7] == "1", row[8]
        )
    return rows


def run_cases(
    side: Side, cases: Sequence[Case], folder: Path, timeout_s: float, max_crashes: int = 3
) -> Timings:
    """Run all the cases through one side, going on after a case that crashes it."""
    rows: Timings = {}
    left = list(cases)
    for _ in range(max_crashes + 1):
        found, problem = run_once(side, left, folder / f"{side.name}.cases", timeout_s)
        rows.update(found)
        last = max((i for i, case in enumerate(left) if (case.id, "unpack") in found), default=-1)
        if not problem:
            break
        culprit = left[last + 1].id if last + 1 < len(left) else "the end"
        CONSOLE.print(f"[red]{side.name} stopped at {culprit}: {problem}[/red]", highlight=False)
        left = left[last + 2 :]
        if not left or problem == "time limit":
            break
    return rows


def run_once(side: Side, cases: Sequence[Case], case_file: Path, timeout_s: float) -> tuple[Timings, str]:
    """Rows printed, and the error ('' if none)."""
    command = [*side.command, "--cases", str(write_cases(cases, case_file))]
    log = case_file.with_suffix(".log")
    problem = ""
    errors = log.with_suffix(".err")
    status = CONSOLE.status(f"{side.name}: {len(cases)} cases")
    with status, log.open("w") as out, errors.open("w") as err:
        try:
            done = subprocess.run(
                command, stdout=out, stderr=err, timeout=timeout_s, env=environment(side.environment)
            )
            if done.returncode != 0:
                problem = f"exit status {done.returncode}: {errors.read_text().strip()[-400:]}"
        except subprocess.TimeoutExpired:
            problem = "time limit"
    return read_rows(log.read_text()), problem


def better(old: Timing | None, new: Timing) -> Timing:
    """The faster of two; bytes that were wrong once stay wrong."""
    if old is None:
        return new
    fastest = min(old, new, key=lambda timing: timing.median_us)
    return replace(fastest, correct=old.correct and new.correct)
