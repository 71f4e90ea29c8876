"""A message in partitions (MPI_Psend_init, MPI_Pready, MPI_Parrived) between two GPUs, beside one message.

\b
    python -m bench.partitioned
    python -m bench.partitioned --received 16 --block-bytes 4096   # uneven; rows with gaps
    python -m bench.partitioned --memory host                      # a trial without a GPU

Each time begins with the first MPI_Pready of the sender (one message: with MPI_Start). The time of the whole
message ends when MPI_Wait of the receiver returns. The time of the first partition ends when MPI_Parrived of
the receiver is true; in the meantime, the sender computes and makes no MPI call. All bytes are checked.

In host memory, Open MPI 5.0 itself moves rows with gaps wrongly, and may hang.
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

MOST_RATIO, MOST_FIRST_US = 1.15, 15.0  # of 64 partitions of 1 MiB between two GPUs
NAMES = ("way", "median_us", "min_us", "p90_us", "right")


def compiled(out: Path, mpicc: str) -> Path:
    """The driver.

    Raises
    ------
    click.ClickException
        If the MPI library has no partitioned messages.
    """
    try:
        return compile_mpi("partitioned/driver.cpp", (out / "build" / "partitioned_driver").resolve(), mpicc)
    except RuntimeError as error:
        if "MPI_Psend_init" not in str(error):
            raise
        raise click.ClickException(
            f"the MPI library of {mpicc} has no MPI_Psend_init: take a library with MPI 4.0"
        ) from error


@click.command(help=__doc__)
@click.option("--memory", type=click.Choice(["device", "managed", "pinned", "host"]), default="device")
@click.option("--partitions", default=64, show_default=True, help="number of partitions of the sender")
@click.option("--received", default=None, type=int, help="partitions of the receiver  [as many]")
@click.option("--partition-bytes", default=1 << 20, show_default=True, help="of a partition of the sender")
@click.option("--block-bytes", default=0, show_default=True, help="of rows with gaps; 0: without gaps")
@click.option("--repeats", default=200, show_default=True)
@click.option("--mpirun", default=None, help="the launcher  [in the folder of this Python, else in PATH]")
@click.option("--mpicc", default="mpicc", show_default=True)
@click.option("--launcher-args", default="--bind-to core", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS / "latest", help="for the CSV file")
def main(
    memory: str,
    partitions: int,
    received: int | None,
    partition_bytes: int,
    block_bytes: int,
    repeats: int,
    mpirun: str | None,
    mpicc: str,
    launcher_args: str,
    out: Path,
) -> None:
    launcher, shim = mpirun or find_mpirun(), any_shim()
    driver = compiled(out, mpicc)
    numbers = (partitions, received or partitions, partition_bytes, block_bytes, repeats)
    command = [*launch_command(launcher, 2, launcher_args.split()), *preloaded(shim), str(driver), memory]
    printed = rows_printed([*command, *map(str, numbers)])
    setting = {
        "memory": memory,
        "partitions": partitions,
        "received": received or partitions,
        "bytes": partition_bytes,
        "block": block_bytes,
    }
    rows: list[dict[str, object]] = [
        {**setting, **dict(zip(NAMES, line.split(","), strict=True))} for line in printed.splitlines()
    ]
    table = Table(*rows[0], title="a message in partitions, us")
    for row in rows:
        table.add_row(*map(str, row.values()))
    CONSOLE.print(table)
    write_csv(out / "partitioned.csv", rows, machine_facts(launcher, shim))
    whole, parts, first = (float(str(row["median_us"])) for row in rows)
    CONSOLE.print(f"partitions / one message: {parts / whole:.2f}; first partition: {first:.1f} us")
    CONSOLE.print(f"allowed for 64 of 1 MiB between two GPUs: {MOST_RATIO}, {MOST_FIRST_US:.0f} us")
    if not all(row["right"] == "1" for row in rows):
        raise click.ClickException("wrong bytes")


if __name__ == "__main__":
    main(prog_name="python -m bench.partitioned")
