"""Starting the ranks of ``bench.halo3d``: ways with and without the shim in turns, and none spoils another.

A launch goes several ways at several sizes. When it crashes or takes too long, the way that had begun is to
blame: that is noted, and the others get a launch without it.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from time import monotonic
from typing import Any

from bench.halo3d.grid import Size
from tempi.run.environment import tempi_variables
from tempi.run.launchers import Launch, launch
from tempi.run.records import records_of
from tempi.run.with_shim import with_shim

WITHOUT_SHIM = ("library", "library-persistent", "hand", "hand-nccl")
WITH_SHIM = ("halo", "shim-isend", "shim-pack", "shim-neighbor", "shim-c-isend", "shim-c-persistent")
WAYS = WITHOUT_SHIM + WITH_SHIM
# The ways that share a launch. On GPUs the library alone may crash or take minutes, and NCCL may refuse.
GROUPS = {
    "host": (("library", "library-persistent", "hand"), WITH_SHIM),
    "gpu": (("hand",), ("hand-nccl",), WITH_SHIM, ("library",)),
}


@dataclass(frozen=True)
class Setup:
    """The numbers of ranks and of the GPUs that they share (0: data in host memory)."""

    ranks: int
    gpus: int = 0

    def __str__(self) -> str:
        return f"{self.ranks} rank{'s'[: self.ranks > 1]}" + (f", {self.gpus} GPU" if self.gpus else "")


@dataclass(frozen=True)
class Task:
    """One way at one size."""

    way: str
    size: Size

    def __str__(self) -> str:
        return f"{self.way} at {self.size}"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a task.

    Attributes
    ----------
    samples : sequence of float
        Seconds of the slowest rank, an exchange each. Exactly one: too slow to be repeated.
    wrong : int
        Cells whose value differs from their owners'.
    failure : str
        The reason for missing samples: "crashed", "not waited for", or the machine's lack.
    how : str
        The class that went this way.
    mpi : str
        Name and version of the library.
    """

    samples: Sequence[float] = ()
    wrong: int = 0
    failure: str = ""
    how: str = ""
    mpi: str = ""

    def __str__(self) -> str:
        return self.failure or f"{1e6 * median(self.samples):,.0f} µs"

    def joined(self, later: Outcome) -> Outcome:
        """The outcome merged with a later round's."""
        if later.failure:
            return replace(self, failure=self.failure or later.failure)
        return replace(self, samples=[*self.samples, *later.samples], wrong=self.wrong + later.wrong)

    @property
    def is_final(self) -> bool:
        """True if another round would not help."""
        return bool(self.failure) or len(self.samples) == 1


Outcomes = dict[tuple[Setup, Task], Outcome]


@dataclass(frozen=True)
class Plan:
    """The settings that all launches share."""

    mpirun: str
    launcher_args: str
    memory: str
    seconds: float
    limit_s: float
    thread_level: str = "multiple"
    failures: list[str] = field(default_factory=list)  # the last output of crashed launches

    def command(self, setup: Setup, tasks: Sequence[Task]) -> Launch:
        """The command that starts ranks, with the shim for the ways that need it."""
        start = [self.mpirun, *shlex.split(self.launcher_args), "-n", str(setup.ranks)]
        wanted = json.dumps([{"way": task.way, "size": str(task.size)} for task in tasks])
        options = {
            "ranks": setup.ranks,
            "memory": self.memory,
            "gpus": setup.gpus,
            "seconds": self.seconds,
            "thread-level": self.thread_level,
        }
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        rank = [sys.executable, "-m", "bench.halo3d.rank", *words, "--tasks", wanted]
        if tasks[0].way in WITH_SHIM:
            return with_shim([*start, *rank])
        return launch([*start, *rank], tempi_variables() | {"TEMPI_DISABLE": "1"}, {})

    def outcomes(self, setup: Setup, tasks: Sequence[Task]) -> Iterator[tuple[Task, Outcome]]:
        """The outcome of each task; as many launches as crashes make necessary."""
        left = list(tasks)
        while left:
            begun, mpi, start, limit_s = left[0], "", monotonic(), self.limit_s * (len(left) + 1)
            try:
                for record in records_of(self.command(setup, left), limit_s):
                    mpi = record.get("mpi", mpi)
                    if "begun" in record:
                        begun = _task(record["begun"])
                    elif "task" in record:
                        left.remove(begun)
                        yield begun, _outcome(record, mpi)
            except RuntimeError as error:
                self.failures.append(str(error))
            for task in [begun, *left] if not mpi else [begun]:  # no rank reported: none will
                if task in left:
                    left.remove(task)
                    late = monotonic() - start >= limit_s
                    yield task, Outcome(failure="not waited for" if late else "crashed", mpi=mpi)


def _task(record: dict[str, str]) -> Task:
    return Task(record["way"], Size.parse(record["size"]))


def _outcome(record: Mapping[str, Any], mpi: str) -> Outcome:
    if "why" in record:
        return Outcome(failure=record["why"], mpi=mpi)
    return Outcome(record["samples"], record["wrong"], how=record["how"], mpi=mpi)


def measure(
    plan: Plan,
    setups: Sequence[Setup],
    sizes: Sequence[Size],
    ways: Sequence[str],
    rounds: int,
    tell: Callable[[str], None],
) -> Outcomes:
    """Every way at every size in every setup, `rounds` times in turns; `tell` hears of every launch."""
    outcomes: Outcomes = {}
    groups = [[way for way in group if way in ways] for group in GROUPS[plan.memory]]
    steps = [(s, number, group) for s in setups for number in range(rounds) for group in groups if group]
    for done, (setup, number, group) in enumerate(steps, 1):
        begin = monotonic()
        wanted = [Task(way, size) for size in sizes for way in group]
        left = [task for task in wanted if not outcomes.get((setup, task), Outcome()).is_final]
        found = dict(plan.outcomes(setup, left))
        for task, outcome in found.items():
            known = outcomes.get((setup, task))
            outcomes[setup, task] = known.joined(outcome) if known else outcome
        words = "; ".join(f"{task} {outcome}" for task, outcome in found.items()) or "no more"
        tell(f"{done}/{len(steps)} {setup}, round {number + 1}: {words} ({monotonic() - begin:.0f} s)")
    return outcomes
