"""Times of exchanges of packed pieces between GPUs: messages, as in FFT libraries, and MPI_Alltoall.

A rank calls MPI_Irecv for all pieces, MPI_Send or MPI_Isend for each piece when it is packed, and
MPI_Waitany.

python -m bench.exchange --ranks 2 --cells 256
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from rich.table import Table

from bench.common.commands import BENCH, CONSOLE, RESULTS, launch_command, preloaded, rows_printed
from bench.common.tables import machine_facts, number, write_csv
from tempi.cuda.gpus import gpus
from tempi.run.shims import any_shim

WAYS = ("alltoall", "isend", "send", "isend-waitall")


# Each rank sees the GPUs in another order, its own first, and runs the rest of the arguments.
ROTATED = """
names=(${0//,/ })
first=$((${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-0}} % ${#names[@]}))
order=("${names[@]:first}" "${names[@]:0:first}")
export CUDA_VISIBLE_DEVICES=$(IFS=,; echo "${order[*]}")
exec "$@"
"""


@click.command(help=__doc__)
@click.option(
    "--ranks", type=int, multiple=True, default=[2], help="number of ranks; can be given several times  [2]"
)
@click.option(
    "--cells",
    type=int,
    multiple=True,
    default=[256],
    help="cells along an edge of the cube; can be given several times  [256]",
)
@click.option(
    "--ways", default=",".join(WAYS), help=f"names of ways, separated by commas  [{','.join(WAYS)}]"
)
@click.option("--rounds", default=30, help="number of timed exchanges; ten others run before  [30]")
@click.option("--mpirun", default="mpirun", help="the launcher of this Python's MPI  [mpirun]")
@click.option("--launcher-args", default="", help="more arguments for the launcher")
@click.option("--shim", type=Path, default=None, help="libtempi.so to preload  [this installation's]")
@click.option("--name", default="exchange", help="name of the CSV file  [exchange]")
@click.option("--out", type=Path, default=RESULTS / "latest", help="folder of the CSV file")
def main(
    ranks: tuple[int, ...],
    cells: tuple[int, ...],
    ways: str,
    rounds: int,
    mpirun: str,
    launcher_args: str,
    shim: Path | None,
    name: str,
    out: Path,
) -> None:
    lib, out = (shim or any_shim()).absolute(), out.absolute()
    os.chdir(BENCH.parent)
    names = ",".join(str(i) for i in range(len(gpus())))
    rows: list[dict[str, object]] = []
    for n_ranks in ranks:
        launcher = launch_command(mpirun, n_ranks, launcher_args.split())
        for n in cells:
            rank = [sys.executable, "-m", "bench.exchange.rank", str(n), str(rounds), ways]
            command = [*launcher, "bash", "-c", ROTATED, names, *preloaded(lib), *rank]
            for line in rows_printed(command).splitlines():
                way, first, us = line.split(",")
                rows.append(
                    {"ranks": n_ranks, "cells": n, "way": way, "first_us": float(first), "us": float(us)}
                )
    write_csv(out / f"{name}.csv", rows, machine_facts(mpirun, lib))
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*(number(value) if isinstance(value, float) else str(value) for value in row.values()))
    CONSOLE.print(table)


if __name__ == "__main__":
    main(prog_name="python -m bench.exchange")
