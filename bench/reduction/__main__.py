"""The time of MPI_Reduce_local in GPU memory, of an addition by CuPy, and of a reduction in host memory.

The rate counts three times the bytes of a buffer: two buffers are read, one is written. The benchmark needs
a GPU and CuPy.

python -m bench.reduction
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

MOVED = 3  # times the bytes of a buffer


def rows_of(mpirun: str, shim: Path) -> list[dict[str, object]]:
    """The rows that bench.reduction.rank prints."""
    program = [sys.executable, "-m", "bench.reduction.rank"]
    printed = rows_printed([*launch_command(mpirun, 1), "env", f"LD_PRELOAD={shim}", *program])
    lines = [line.split(",") for line in printed.splitlines() if line.count(",") == 4]
    return [
        {
            "type": name,
            "bytes": int(n_bytes),
            "way": way,
            "median_us": float(us),
            "gb_per_s": round(MOVED * int(n_bytes) / float(us) / 1e3, 1),
            "right": right,
        }
        for name, n_bytes, way, us, right in lines
    ]


@click.command(help=__doc__)
@click.option("--mpirun", default="mpirun", help="the launcher of this Python's MPI")
@click.option("--shim", type=Path, default=None, help="libtempi.so to preload [this installation's]")
@click.option("--out", type=Path, default=RESULTS / "latest", help="folder for reduction.csv")
def main(mpirun: str, shim: Path | None, out: Path) -> None:
    need_cupy()
    lib = shim or any_shim()
    os.chdir(BENCH.parent)
    rows = rows_of(mpirun, lib)
    write_csv(out / "reduction.csv", rows, machine_facts(mpirun, lib))
    table = Table("type", "bytes", "way", "us", "GB/s", "right")
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    CONSOLE.print(table)
    sys.exit(0 if all(row["right"] == "True" for row in rows) else 1)


if __name__ == "__main__":
    main(prog_name="python -m bench.reduction")
