"""Starting the ranks of ``bench.solver``: launches with and without the shim in turns, and their results."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tempi.run.environment import tempi_variables
from tempi.run.launchers import Launch, launch
from tempi.run.records import records_of
from tempi.run.with_shim import with_shim

WITH_SHIM = ("halo", "types")
# The ways that share a launch. On GPUs the library alone may crash, and NCCL may refuse.
GROUPS = {
    "host": (WITH_SHIM, ("library", "hand")),
    "gpu": (WITH_SHIM, ("nccl",), ("library",)),
}
LEAST_RIGHT = 1e-9  # residuals that differ by less, as a share of them, differ by rounding
Key = tuple[int, int, str]  # ranks, edge, way


@dataclass(frozen=True)
class Plan:
    """The settings that all launches share."""

    mpirun: str
    launcher_args: str
    memory: str
    n_gpus: int
    edges: Sequence[int]
    iterations: int
    seconds: float
    limit_s: float

    def command(self, ranks: int, ways: Sequence[str]) -> Launch:
        """The command that starts ranks, with the shim for the ways that need it."""
        start = [self.mpirun, *shlex.split(self.launcher_args), "-n", str(ranks)]
        options = {
            "ways": ",".join(ways),
            "edges": ",".join(map(str, self.edges)),
            "memory": self.memory,
            "gpus": max(1, min(ranks, self.n_gpus)),
            "iterations": self.iterations,
            "seconds": self.seconds,
        }
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        one_core = ["env", "OMP_NUM_THREADS=1"]  # NumPy's dot product would take all
        command = [*start, *one_core, sys.executable, "-m", "bench.solver.rank", *words]
        if ways[0] in WITH_SHIM:
            return with_shim(command)
        # NCCL's use of NVLink multicast fails on machines that do not allow it.
        return launch(command, tempi_variables() | {"TEMPI_DISABLE": "1", "NCCL_NVLS_ENABLE": "0"}, {})


@dataclass
class Outcome:
    """The measurements of one way at one size.

    Attributes
    ----------
    samples, compute : list of float
        Seconds of an iteration of the slowest rank, and of one without communication.
    residuals : list of float
        The square of the residual's norm after the iterations, of each launch.
    wrong : int
        Cells that differ from their owners' after an exchange.
    failure : str
        The reason for missing samples.
    how, mpi : str
        The class that went this way, and the library.
    """

    samples: list[float] = field(default_factory=list)
    compute: list[float] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)
    wrong: int = 0
    failure: str = ""
    how: str = ""
    mpi: str = ""

    def add(self, record: Mapping[str, Any]) -> None:
        """The result of one more launch."""
        self.mpi = record["mpi"]
        if "why" in record:
            self.failure = record["why"]
            return
        self.samples += record["samples"]
        self.compute += record["compute"]
        self.residuals.append(record["residual"])
        self.wrong += record["wrong"]
        self.how = record["how"]


def add_launch(outcomes: dict[Key, Outcome], plan: Plan, ranks: int, ways: Sequence[str]) -> str:
    """Run one launch and take over its results; the reason if it failed, or ''."""
    try:
        for record in records_of(plan.command(ranks, ways), plan.limit_s):
            if "way" in record:
                outcomes.setdefault((ranks, record["edge"], record["way"]), Outcome()).add(record)
    except RuntimeError as error:
        for edge in plan.edges:
            for way in ways:
                found = outcomes.setdefault((ranks, edge, way), Outcome())
                found.failure = found.failure or ("" if found.samples else "crashed or too slow")
        return str(error)
    return ""


def rows_of(outcomes: Mapping[Key, Outcome]) -> list[dict[str, Any]]:
    """A row for each number of ranks, size and way."""
    rows = []
    for (ranks, edge, way), found in sorted(outcomes.items(), key=lambda item: item[0][:2]):
        row = {"ranks": ranks, "edge": edge, "way": way, "how": found.how, "mpi": found.mpi}
        us, compute = (1e6 * median(some) if some else None for some in (found.samples, found.compute))
        share = 1 - compute / us if us and compute else None
        row |= {"median_us": us, "compute_us": compute, "communication_share": share}
        row |= {"repeats": len(found.samples), "residual": found.residuals[0] if found.residuals else None}
        row |= {"wrong_cells": found.wrong, "same_residual": _agrees(outcomes, (ranks, edge, way))}
        rows.append(row | {"failure": found.failure})
    return rows


def _agrees(outcomes: Mapping[Key, Outcome], key: Key) -> bool:
    """True if the residuals of a way are those of the first way at this size, but for rounding."""
    here = [found for other, found in outcomes.items() if other[:2] == key[:2] and found.residuals]
    return all(
        abs(one - here[0].residuals[0]) <= LEAST_RIGHT * here[0].residuals[0]
        for one in outcomes[key].residuals
    )
