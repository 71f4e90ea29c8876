"""The time to transpose a distributed cube by MPI_Alltoallw of subarrays, as mpi4py-fft does it.

The ways are TEMPI, the library alone, and packing by hand. On GPUs, there are also contiguous copies by NCCL.

In host memory, one process calls the function of the library and that of TEMPI in turn. In GPU memory,
launches with and without TEMPI take turns. Every cell is checked.

python -m bench.transpose --memory host --ranks 2 --ranks 4 --cells 128 --cells 256 --cells 512
"""

from __future__ import annotations

import os
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click
from rich.table import Table

from bench.common.commands import BENCH, CONSOLE, RESULTS, launch_command, preloaded, rows_printed
from bench.common.figures import save_transposes
from bench.common.tables import machine_facts, number, write_csv
from tempi.run.shims import any_shim

Key = tuple[int, int, int, int]  # ranks, cells, source, target
# The ways of a launch's ranks, and whether it has the shim.
LAUNCHES = {
    "host": ((("library", "shim"), True), (("hand",), False)),
    "gpu": ((("hand",), False), (("shim",), True), (("links",), False)),
}


def times(command: list[str]) -> Iterator[tuple[str, tuple[int, int, int], int, float]]:
    """Way, cells and axes, bytes to other ranks, and the median (us) of each line that a launch prints."""
    for line in rows_printed(command).splitlines():
        words = line.split(",")
        if len(words) == 6:
            cells, source, target, n_bytes = map(int, words[1:5])
            yield words[0], (cells, source, target), n_bytes, float(words[5])


def rows_of(medians: dict[Key, dict[str, list[float]]], n_bytes: dict[Key, int]) -> list[dict[str, object]]:
    """A row a case: the median of each way's launches, and of the shim's ratios, round by round."""
    rows: list[dict[str, object]] = []
    for key, by_way in medians.items():
        ranks, cells, source, target = key
        row: dict[str, object] = {
            "ranks": ranks,
            "cells": cells,
            "cut": f"{source} to {target}",
            "bytes": n_bytes[key],
        }
        row |= {f"{way}_us": statistics.median(taken) for way, taken in by_way.items()}
        for way in (each for each in by_way if each != "shim"):
            pairs = zip(by_way[way], by_way.get("shim", ()), strict=False)
            if ratios := [other / shim for other, shim in pairs]:
                row[f"{way}_by_shim"] = statistics.median(ratios)
        rows.append(row)
    return rows


@click.command(help=__doc__)
@click.option(
    "--memory", type=click.Choice(list(LAUNCHES)), default="host", help="memory of the arrays  [host]"
)
@click.option(
    "--ranks", type=int, multiple=True, default=[2], help="number of ranks; can be given several times  [2]"
)
@click.option(
    "--cells",
    type=int,
    multiple=True,
    default=[128],
    help="cells along an edge of the cube; can be given several times  [128]",
)
@click.option("--ways", default=None, help="names of ways, separated by commas  [all for this memory]")
@click.option("--rounds", default=3, help="number of launches of each way  [3]")
@click.option("--seconds", default=0.3, help="time for each case of a launch, in seconds  [0.3]")
@click.option("--mpirun", default="mpirun", help="the launcher of this Python's MPI  [mpirun]")
@click.option("--launcher-args", default="", help="more arguments for the launcher")
@click.option("--shim", type=Path, default=None, help="libtempi.so to preload  [this installation's]")
@click.option("--name", default=None, help="name of the CSV file and the figure  [transpose-MEMORY]")
@click.option("--out", type=Path, default=RESULTS / "latest", help="folder of these files")
def main(
    memory: str,
    ranks: tuple[int, ...],
    cells: tuple[int, ...],
    ways: str | None,
    rounds: int,
    seconds: float,
    mpirun: str,
    launcher_args: str,
    shim: Path | None,
    name: str | None,
    out: Path,
) -> None:
    lib = (shim or any_shim()).absolute()
    out = out.absolute()
    os.chdir(BENCH.parent)
    known = [way for group, _ in LAUNCHES[memory] for way in group]
    wanted = ways.split(",") if ways else known
    if unknown := set(wanted) - set(known):
        raise click.UsageError(f"{', '.join(unknown)}: for {memory} memory there are {', '.join(known)}")
    launches = [([way for way in group if way in wanted], has_shim) for group, has_shim in LAUNCHES[memory]]
    medians: dict[Key, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    n_bytes: dict[Key, int] = {}
    for _ in range(rounds):
        for n_ranks in ranks:
            launcher = launch_command(mpirun, n_ranks, launcher_args.split())
            for group, has_shim in (one for one in launches if one[0]):
                rank = ["-m", "bench.transpose.rank", ",".join(group), memory, str(seconds), *map(str, cells)]
                command = [*launcher, *(preloaded(lib) if has_shim else []), sys.executable, *rank]
                for way, case, case_bytes, us in times(command):
                    key = (n_ranks, *case)
                    medians[key][way].append(us)
                    n_bytes[key] = case_bytes
    rows = rows_of(medians, n_bytes)
    stem = name or f"transpose-{memory}"
    facts = machine_facts(mpirun, lib)
    write_csv(out / f"{stem}.csv", rows, facts)
    source = f"{stem}.csv, {facts['gpu' if memory == 'gpu' else 'cpu']}"
    title = f"Transpose of a distributed array, {facts['mpi']}"
    save_transposes(out / f"{stem}.png", rows, wanted, title, source)
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*(number(value) if isinstance(value, float) else str(value) for value in row.values()))
    CONSOLE.print(table)


if __name__ == "__main__":
    main(prog_name="python -m bench.transpose")
