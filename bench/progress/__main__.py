"""The delay of sends of GPU memory, the cost of their progress, and the time of a kernel during an exchange.

Two ranks run with each thread level and each value of TEMPI_PROGRESS. The benchmark needs a GPU and CuPy.

python -m bench.progress
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from rich.table import Table

from bench.common.commands import BENCH, CONSOLE, RESULTS, launch_command, need_cupy, rows_printed
from bench.common.tables import machine_facts, write_csv
from tempi.run.shims import any_shim

SETTINGS = [("single", "auto"), ("single", "thread"), ("multiple", "auto"), ("multiple", "calls")]


def rows_of(mpirun: str, shim: Path, level: str, progress: str) -> list[dict[str, object]]:
    """The rows that bench.progress.rank prints under one setting."""
    settings = [f"LD_PRELOAD={shim}", f"TEMPI_PROGRESS={progress}"]
    program = [sys.executable, "-m", "bench.progress.rank", level]
    printed = rows_printed([*launch_command(mpirun, 2), "env", *settings, *program])
    lines = [line.split(",") for line in printed.splitlines() if line.count(",") == 2]
    return [
        {"level": level, "progress": progress, "case": case, "quantity": quantity, "us": float(us)}
        for case, quantity, us in lines
    ]


@click.command(help=__doc__)
@click.option("--mpirun", default="mpirun", help="the launcher of this Python's MPI")
@click.option("--shim", type=Path, default=None, help="libtempi.so to preload [this installation's]")
@click.option("--out", type=Path, default=RESULTS / "latest", help="folder for progress.csv")
def main(mpirun: str, shim: Path | None, out: Path) -> None:
    need_cupy()
    lib = shim or any_shim()
    os.chdir(BENCH.parent)
    rows = [row for level, progress in SETTINGS for row in rows_of(mpirun, lib, level, progress)]
    write_csv(out / "progress.csv", rows, machine_facts(mpirun, lib))
    table = Table("thread level", "TEMPI_PROGRESS", "case", "quantity", "us")
    for row in rows:
        table.add_row(*(f"{v:.1f}" if isinstance(v, float) else str(v) for v in row.values()))
    CONSOLE.print(table)


if __name__ == "__main__":
    main(prog_name="python -m bench.progress")
