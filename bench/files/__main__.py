"""A checkpoint of GPU memory (MPI_File_write_at, MPI_File_read_at), compared with pinned host memory.

\b
    python -m bench.files
    python -m bench.files --row-bytes 4096     # rows with gaps
    python -m bench.files --memory host --bytes 67108864    # a trial without a GPU

Both buffers have the same bytes, and take turns. All bytes are checked. The file is in memory by default
(/dev/shm), which is the fastest one: nothing hides the time of the GPU behind a slow disk.
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from bench.common.building import compile_mpi
from bench.common.commands import CONSOLE, RESULTS, launch_command, preloaded, rows_printed
from bench.common.tables import machine_facts, write_csv
from tempi.run.launchers import find_mpirun
from tempi.run.shims import any_shim

MOST_RATIO = 1.1  # of 8 GiB
NAMES = ("call", "median_us", "pinned_us", "ratio", "right")


@click.command(help=__doc__)
@click.option("--memory", type=click.Choice(["device", "managed", "host"]), default="device")
@click.option("--bytes", "n_bytes", default=8 << 30, show_default=True)
@click.option(
    "--row-bytes",
    default=0,
    show_default=True,
    help="size of a row; after each row is a gap of the same size. 0: no gaps",
)
@click.option("--file", default="/dev/shm/tempi-bench-files", show_default=True)
@click.option("--repeats", default=5, show_default=True)
@click.option("--mpirun", default=None, help="the launcher  [in the folder of this Python, else in PATH]")
@click.option("--mpicc", default="mpicc", show_default=True)
@click.option("--launcher-args", default="--bind-to core", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS / "latest", help="for the CSV file")
def main(
    memory: str,
    n_bytes: int,
    row_bytes: int,
    file: str,
    repeats: int,
    mpirun: str | None,
    mpicc: str,
    launcher_args: str,
    out: Path,
) -> None:
    launcher, shim = mpirun or find_mpirun(), any_shim()
    driver = compile_mpi("files/driver.cpp", (out / "build" / "files_driver").resolve(), mpicc)
    numbers = (n_bytes, row_bytes, repeats)
    launched = [*launch_command(launcher, 1, launcher_args.split()), *preloaded(shim)]
    printed = rows_printed([*launched, str(driver), memory, file, *map(str, numbers)])
    setting = {"memory": memory, "bytes": n_bytes, "row": row_bytes}
    rows: list[dict[str, object]] = [
        {**setting, **dict(zip(NAMES, line.split(","), strict=True))} for line in printed.splitlines()
    ]
    table = Table(*rows[0], title="checkpoints, us")
    for row in rows:
        table.add_row(*map(str, row.values()))
    CONSOLE.print(table)
    write_csv(out / "files.csv", rows, machine_facts(launcher, shim))
    CONSOLE.print(f"allowed for 8 GiB of GPU memory: {MOST_RATIO} times the time of pinned memory")
    if not all(row["right"] == "1" for row in rows):
        raise click.ClickException("wrong bytes")


if __name__ == "__main__":
    main(prog_name="python -m bench.files")
