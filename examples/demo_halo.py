"""The end of the demo: a 3-D halo exchange by the MPI library alone, by hand and with TEMPI, data checked."""

from __future__ import annotations

from importlib.util import find_spec

from rich.console import Console

from bench.halo3d.grid import Size
from bench.halo3d.jobs import Outcomes, Plan, Setup, measure
from bench.halo3d.report import rows_of, table_of
from tempi.cuda.gpus import gpus
from tempi.run.launchers import find_mpirun

SIZE = Size(64, 3, 8)
WAYS = ("library", "hand", "shim-isend", "halo")
RANKS, ROUNDS, SECONDS, LIMIT_S = 2, 5, 0.2, 20.0


def plan_here(console: Console) -> tuple[Plan, Setup]:
    """True if CuPy can make arrays on GPUs."""
    n_gpus = min(RANKS, len(gpus()))
    if n_gpus and not find_spec("cupy"):
        console.print(
            "CuPy is missing, so the halo exchange is shown in host memory: pip install cupy-cuda13x"
        )
        n_gpus = 0
    memory = "gpu" if n_gpus else "host"
    return Plan(find_mpirun(), "", memory, SECONDS, LIMIT_S), Setup(RANKS, n_gpus)


def is_right(outcomes: Outcomes) -> bool:
    """True if TEMPI's ways worked, and no way left wrong data."""
    ours = [found for (_, task), found in outcomes.items() if task.way in ("shim-isend", "halo")]
    return all(found.samples for found in ours) and not any(found.wrong for found in outcomes.values())


def show_halo(console: Console) -> bool:
    """Run it and print the table; True if all data were right."""
    plan, setup = plan_here(console)
    with console.status("3-D halo exchange") as status:
        outcomes = measure(plan, [setup], [SIZE], WAYS, ROUNDS, status.update)
    console.print(table_of(rows_of(outcomes)))
    right = is_right(outcomes)
    for failure in [] if right else plan.failures:
        console.print(failure, style="dim", markup=False, highlight=False)
    return right
