"""The end of the demo: a 3-D halo exchange by the MPI library alone, by hand and with TEMPI, data checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from rich.console import Console

from bench.halo3d.grid import Size
from bench.halo3d.jobs import Plan, Setup, measure
from examples.demo_table import Ratio, new_table, notes, shown
from tempi.cuda.gpus import gpus
from tempi.run.launchers import find_mpirun

SIZE = Size(64, 3, 8)
# Those that are compared, each with its words for a memory. The first is the program that most people write.
WAYS: dict[str, dict[str, str]] = {
    "host": {
        "library": "MPI library: a datatype for each neighbour, MPI_Isend",
        "library-persistent": "MPI library: the same, persistent requests",
        "hand": "by hand: NumPy packs, one message a rank",
        "halo": "TEMPI: tempi.HaloExchange",
    },
    "gpu": {
        "library": "MPI library: a datatype for each neighbour, MPI_Isend",
        "hand": "by hand: a CUDA kernel packs, one message a rank",
        "shim-isend": "TEMPI: the first program, unchanged",
        "halo": "TEMPI: tempi.HaloExchange",
    },
}
OURS = ("shim-isend", "halo")
RANKS, ROUNDS, SECONDS, LIMIT_S = 2, 5, 0.2, 10.0


@dataclass
class Halo:
    """What was measured.

    Attributes
    ----------
    least : dict
        Seconds: the least sample of each round, by way.
    failures : dict
        By way: why there are none.
    """

    memory: str
    n_gpus: int
    least: dict[str, list[float]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    wrong_cells: int = 0
    said: list[str] = field(default_factory=list)

    @property
    def words(self) -> Mapping[str, str]:
        """By way."""
        return WAYS[self.memory]

    @property
    def is_right(self) -> bool:
        """True if TEMPI's ways worked, and no way left wrong data."""
        return self.wrong_cells == 0 and not any(way in self.failures for way in OURS)

    def ratio(self, way: str) -> Ratio:
        """The library's time and that of a way."""
        return Ratio.of(self.least.get("library", []), self.least.get(way, []))


def measured_halo(console: Console) -> Halo:
    """The ways take turns."""
    n_gpus = min(RANKS, len(gpus())) if find_spec("cupy") else 0
    halo = Halo("gpu" if n_gpus else "host", n_gpus)
    plan = Plan(find_mpirun(), "", halo.memory, SECONDS, LIMIT_S)
    with console.status("3-D halo exchange") as status:
        for number in range(ROUNDS):
            left = [way for way in halo.words if way not in halo.failures and not _is_slow(halo, way)]
            outcomes = measure(plan, [Setup(RANKS, n_gpus)], [SIZE], left, 1, status.update)
            for (_, task), found in outcomes.items():
                way = task.way
                halo.wrong_cells += found.wrong
                if found.samples:
                    halo.least.setdefault(way, []).append(min(found.samples))
                elif number == 0:
                    halo.failures[way] = found.failure
    halo.said = plan.failures
    return halo


def _is_slow(halo: Halo, way: str) -> bool:
    """So that one round of it is enough."""
    return any(seconds > 1 for seconds in halo.least.get(way, ()))


def show_halo(console: Console, halo: Halo) -> None:
    """Print the table."""
    place = f"{halo.n_gpus} GPU" if halo.n_gpus else "host memory"
    title = f"Halo exchange, 8 arrays of 64 x 64 x 64 doubles, {RANKS} ranks, {place}, microseconds"
    table = new_table(title, "way", "time", "times as fast")
    for way, words in halo.words.items():
        ratio = halo.ratio(way)
        if ratio.ours_us is None:
            table.add_row(words, f"[red]{halo.failures.get(way, 'crashes')}[/red]", "–")
        else:
            table.add_row(words, shown(ratio.ours_us), ratio.cells[2])
    console.print(table)
    if halo.wrong_cells:
        console.print(f"[red]{halo.wrong_cells} cells are WRONG[/red]")
    for failure in [] if halo.is_right else halo.said:
        console.print(failure, style="dim", markup=False)
    ratios = [halo.ratio(way) for way in halo.words]
    more = ("3 ghost cells", f"least time of {ROUNDS} runs", "compared with the first line", "cells checked")
    console.print(notes(ratios, *more))
