"""Times of collective operations of doubles in GPU memory: MPI with TEMPI, and NCCL.

The time is that of the slowest rank. The benchmark needs CuPy with NCCL, and a GPU for each rank.

python -m bench.collectives --ranks 4
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


def rows_of(mpirun: str, shim: Path, ranks: int, operations: tuple[str, ...]) -> list[dict[str, object]]:
    """The rows that bench.collectives.rank prints."""
    program = [sys.executable, "-m", "bench.collectives.rank", *operations]
    preloaded = ["env", f"LD_PRELOAD={shim}", "NCCL_NVLS_ENABLE=0"]
    printed = rows_printed([*launch_command(mpirun, ranks), *preloaded, *program])
    rows: list[dict[str, object]] = []
    for line in printed.splitlines():
        if line.count(";") == 4:
            operation, n_bytes, way, us, right = line.split(";")
            row = {"operation": operation, "bytes": int(n_bytes), "way": way, "median_us": float(us)}
            rows.append({"ranks": ranks, **row, "right": right})
    return rows


@click.command(help=__doc__)
@click.option("--ranks", default=2, help="number of ranks; each needs a GPU [2]")
@click.option(
    "--operation", "operations", multiple=True, help="such as Allreduce; can be given several times [all]"
)
@click.option("--mpirun", default="mpirun", help="the launcher of this Python's MPI")
@click.option("--shim", type=Path, default=None, help="libtempi.so to preload [this installation's]")
@click.option("--out", type=Path, default=RESULTS / "latest", help="folder for collectives.csv")
def main(ranks: int, operations: tuple[str, ...], mpirun: str, shim: Path | None, out: Path) -> None:
    need_cupy(ranks)
    lib = shim or any_shim()
    os.chdir(BENCH.parent)
    rows = rows_of(mpirun, lib, ranks, operations)
    write_csv(out / "collectives.csv", rows, machine_facts(mpirun, lib))
    table = Table("ranks", "operation", "bytes", "way", "us", "right")
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    CONSOLE.print(table)
    sys.exit(0 if rows and all(row["right"] == "True" for row in rows) else 1)


if __name__ == "__main__":
    main(prog_name="python -m bench.collectives")
