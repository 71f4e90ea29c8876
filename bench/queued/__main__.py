"""The time to pack and unpack the halos of 3-D arrays in GPU memory, queued in a stream (tempi.h).

    python -m bench.queued --lib build/libtempi.so

By default, 78 calls of MPI_Pack and 78 of MPI_Unpack handle 26 boxes of 3 arrays of 100^3 doubles. Three ways
are timed: one synchronise at the end, one after each call, and the same calls without a stream.
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from bench.common.building import compile_mpi
from bench.common.commands import CONSOLE, RESULTS, launch_command, preloaded, rows_printed
from bench.common.tables import machine_facts, write_csv

ALLOWED_US = 500.0  # on an H200, with one synchronise


@click.command(help=__doc__)
@click.option("--lib", type=click.Path(exists=True, path_type=Path), required=True, help="libtempi.so")
@click.option(
    "--cells", default=100, show_default=True, help="of an array in each dimension, without ghost cells"
)
@click.option("--width", default=1, show_default=True, help="of the halo")
@click.option("--variables", default=3, show_default=True, help="number of arrays")
@click.option("--repeats", default=200, show_default=True)
@click.option("--mpirun", default="mpirun", show_default=True)
@click.option("--mpicc", default="mpicc", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="folder for the CSV file")
def main(
    lib: Path, cells: int, width: int, variables: int, repeats: int, mpirun: str, mpicc: str, out: Path
) -> None:
    driver = compile_mpi("queued/driver.cpp", (out / "build" / "queued_driver").resolve(), mpicc)
    arguments = [str(number) for number in (cells, width, variables, repeats)]
    printed = rows_printed([*launch_command(mpirun, 1), *preloaded(lib), str(driver), *arguments])
    names = ("way", "median_us", "min_us", "right")
    rows: list[dict[str, object]] = [
        dict(zip(names, line.split(","), strict=True)) for line in printed.splitlines()
    ]
    table = Table(*names, title=f"{26 * variables} MPI_Pack and as many MPI_Unpack calls, us")
    for row in rows:
        table.add_row(*map(str, row.values()))
    CONSOLE.print(table)
    write_csv(out / "queued.csv", rows, machine_facts(mpirun, lib))
    last = float(str(rows[-1]["median_us"]))
    CONSOLE.print(f"one synchronise: {last:.0f} us; allowed on an H200: {ALLOWED_US:.0f} us")
    if not all(row["right"] == "1" for row in rows):
        raise click.ClickException("wrong cells")


if __name__ == "__main__":
    main()
