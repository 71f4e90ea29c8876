"""A solver loop on several ranks, conjugate gradients with a 7-point stencil: TEMPI, the MPI library alone,
code that is written by hand, and NCCL.

An iteration exchanges the ghost cells beside six faces, applies the stencil, computes two dot products with
an MPI_Allreduce of 8 bytes each, and updates three vectors. The ways take turns. Every ghost cell is
checked. All ways must reach the same residual, except for rounding errors.

python -m bench.solver --memory host --ranks 2
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from bench.common.commands import BENCH, CONSOLE, RESULTS, is_open_mpi
from bench.common.figures import save_solvers
from bench.common.tables import machine_facts, number, write_csv
from bench.solver.launches import GROUPS, Key, Outcome, Plan, add_launch, rows_of
from tempi.cuda.gpus import gpus
from tempi.run.launchers import find_mpirun
from tempi.run.shims import any_shim

COLUMNS = (
    "ranks",
    "edge",
    "way",
    "how",
    "median_us",
    "compute_us",
    "communication_share",
    "residual",
    "failure",
)


def groups_of(ways: str | None, memory: str) -> list[list[str]]:
    """The ways of each launch, or a message for the command line."""
    known = [way for group in GROUPS[memory] for way in group]
    wanted = ways.split(",") if ways else known
    if unknown := [way for way in wanted if way not in known]:
        message = f"{', '.join(unknown)}: for {memory} memory there are {', '.join(known)}"
        raise click.BadParameter(message, param_hint="--ways")
    found = [[way for way in group if way in wanted] for group in GROUPS[memory]]
    return [group for group in found if group]


def measure(plan: Plan, ranks: tuple[int, ...], groups: list[list[str]], rounds: int) -> dict[Key, Outcome]:
    """Every launch, `rounds` times in turns; one that has failed is not started again."""
    outcomes: dict[Key, Outcome] = {}
    failed = set()
    for _ in range(rounds):
        for launch in [(n, tuple(group)) for n in ranks for group in groups]:
            if launch not in failed and (reason := add_launch(outcomes, plan, *launch)):
                failed.add(launch)
                CONSOLE.print(reason, style="dim", markup=False, highlight=False)
    return outcomes


def report(rows: list[dict[str, Any]], plan: Plan, out: Path) -> None:
    """Print the table; write the CSV file and the figure."""
    table = Table(*COLUMNS)
    for row in rows:
        cells = (row[column] for column in COLUMNS)
        table.add_row(
            *(number(cell) if isinstance(cell, float) or cell is None else str(cell) for cell in cells)
        )
    CONSOLE.print(table)
    facts = machine_facts(plan.mpirun, any_shim())
    stem = out / f"solver-{plan.memory}-{'openmpi' if is_open_mpi(plan.mpirun) else 'mpich'}"
    write_csv(stem.with_suffix(".csv"), rows, facts)
    source = f"{stem.name}.csv, {facts['gpu' if plan.memory == 'gpu' else 'cpu']}"
    save_solvers(stem.with_suffix(".png"), rows, f"Conjugate gradients, {rows[0]['mpi']}", source)
    CONSOLE.print(f"written: {stem}.csv and .png", highlight=False)


@click.command(help=__doc__)
@click.option("--memory", type=click.Choice(list(GROUPS)), default="gpu", help="memory of the arrays  [gpu]")
@click.option(
    "--ranks", type=int, multiple=True, default=[2], help="number of ranks; can be given several times  [2]"
)
@click.option(
    "--edge",
    "edges",
    type=click.IntRange(1, 1024),
    multiple=True,
    default=[64, 128, 256],
    help="points of a rank along each axis; can be given several times  [64, 128, 256]",
)
@click.option("--ways", default=None, help="names of ways, separated by commas  [all for this memory]")
@click.option("--iterations", default=20, help="number of iterations of one sample  [20]")
@click.option("--rounds", default=3, help="number of launches of each way  [3]")
@click.option("--seconds", default=1.0, help="time for one way at one size in one launch, in seconds  [1]")
@click.option("--limit", "limit_s", default=120.0, help="time limit of one launch, in seconds  [120]")
@click.option("--mpirun", default=None, help="the launcher  [in the folder of this Python, else in PATH]")
@click.option("--launcher-args", default="", help="more arguments for the launcher")
@click.option("--out", type=Path, default=RESULTS / "latest", help="folder for the CSV file and the figure")
def main(
    memory: str,
    ranks: tuple[int, ...],
    edges: tuple[int, ...],
    ways: str | None,
    iterations: int,
    rounds: int,
    seconds: float,
    limit_s: float,
    mpirun: str | None,
    launcher_args: str,
    out: Path,
) -> None:
    groups, n_gpus, out = groups_of(ways, memory), len(gpus()), out.absolute()
    if memory == "gpu" and n_gpus == 0:
        raise click.UsageError("no GPU found: try --memory host")
    os.chdir(BENCH.parent)
    plan = Plan(mpirun or find_mpirun(), launcher_args, memory, n_gpus, edges, iterations, seconds, limit_s)
    with CONSOLE.status("the ranks are at work"):
        rows = rows_of(measure(plan, ranks, groups, rounds))
    if not any(row["repeats"] for row in rows):
        raise click.ClickException("no way could be measured: see above")
    report(rows, plan, out)
    if wrong := [row["way"] for row in rows if row["wrong_cells"] or not row["same_residual"]]:
        raise click.ClickException(f"wrong ghost cells or residuals: {', '.join(wrong)}")


if __name__ == "__main__":
    main(prog_name="python -m bench.solver")
