"""The time of MPI_Type_commit with and without TEMPI, and the time to preload TEMPI into a program.

python -m bench.commit --lib "$(tempi lib)"
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from bench.common.building import compile_mpi
from bench.common.commands import (
    CONSOLE,
    RESULTS,
    VERDICTS,
    environment,
    launch_command,
    preloaded,
    rows_printed,
)
from bench.common.figures import draw_bars
from bench.common.tables import machine_facts, write_csv
from tempi.figures import COLOURS

Row = dict[str, Any]
PRELOADED = "preloaded into /bin/true"
# Bars: the most that the shim may add, in ns.
BARS = {
    "commit of a structure seen before": 1_000.0,
    "commit of a new structure": 5_000.0,
    PRELOADED: 2_000_000.0,
}


def commit_times(command: Sequence[str]) -> dict[str, float]:
    """Median ns by case, out of one run of the driver."""
    lines = [line.split(",") for line in rows_printed(command).splitlines()[1:] if line.count(",") == 3]
    return {name: float(median) for name, median, _, _ in lines}


def median_of_runs(command: Sequence[str], runs: int) -> dict[str, float]:
    """Processes differ (address layout, the core they land on): the median over several."""
    results = [commit_times(command) for _ in range(runs)]
    return {name: statistics.median(result[name] for result in results) for name in results[0]}


def spawn_ns(extra: dict[str, str]) -> float:
    """Start /bin/true and wait for it."""
    start = time.perf_counter_ns()
    process = os.posix_spawn("/bin/true", ["/bin/true"], environment(extra))
    os.waitpid(process, 0)
    return float(time.perf_counter_ns() - start)


def preload_times(lib: Path, spawns: int) -> tuple[float, float]:
    """Median ns without and with the shim, taken in turns so that the machine's moods hit both."""
    extra = {"LD_PRELOAD": str(lib.resolve())}
    pairs = [(spawn_ns({}), spawn_ns(extra)) for _ in range(spawns)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def row(name: str, without: float, with_shim: float | None) -> Row:
    """One line of the table, in ns."""
    added = with_shim - without if with_shim is not None else None
    bar = BARS.get(name)
    verdict = "" if bar is None or added is None else "PASS" if added <= bar else "FAIL"
    return {
        "case": name,
        "without_ns": without,
        "with_ns": with_shim,
        "added_ns": added,
        "bar_ns": bar,
        "verdict": verdict,
    }


def show(rows: Sequence[Row]) -> None:
    """The table, in microseconds."""
    table = Table(title="3-D types and start-up (median us)")
    for title in ("case", "without", "with TEMPI", "added", "bar", ""):
        table.add_column(title, justify="left" if title in ("case", "") else "right")
    for line in rows:
        times = [line[key] for key in ("without_ns", "with_ns", "added_ns", "bar_ns")]
        cells = ["" if t is None else f"{t / 1000:,.3f}" for t in times]
        style = "red" if line["verdict"] == "FAIL" else ""
        table.add_row(line["case"], *cells, line["verdict"], style=style)
    CONSOLE.print(table)
    CONSOLE.print(VERDICTS, highlight=False)


@click.command(help=(__doc__ or "").split("\n\n")[0])
@click.option("--lib", type=click.Path(exists=True, path_type=Path), help="libtempi.so")
@click.option("--mpirun", default="mpirun", show_default=True)
@click.option("--mpicc", default="mpicc", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="folder for the CSV")
@click.option("--repeats", default=5000, show_default=True, help="commits in a run")
@click.option("--runs", default=5, show_default=True, help="runs of the driver")
@click.option("--spawns", default=300, show_default=True, help="starts of /bin/true")
def main(lib: Path | None, mpirun: str, mpicc: str, out: Path, repeats: int, runs: int, spawns: int) -> None:
    driver = compile_mpi("commit/driver.cpp", (out / "build" / "commit_driver").resolve(), mpicc)
    program = [str(driver), "--repeats", str(repeats)]
    start = launch_command(mpirun, 1)
    without = median_of_runs([*start, *program], runs)
    with_shim = median_of_runs([*start, *preloaded(lib), *program], runs) if lib else {}
    rows = [row(name, ns, with_shim.get(name)) for name, ns in without.items()]
    if lib:
        rows.append(row(PRELOADED, *preload_times(lib, spawns)))
    show(rows)
    write_csv(out / "commit.csv", rows, machine_facts(mpirun, lib))
    in_us = [
        {"case": line["case"]} | {key: (line[f"{key}_ns"] or 0) / 1000 for key in ("without", "with")}
        for line in rows
        if line["case"] != PRELOADED
    ]
    columns = {
        "without": ("MPI library alone", COLOURS["library"]),
        "with": ("with TEMPI", COLOURS["tempi"]),
    }
    draw_bars(in_us, columns, out / "commit.png", "MPI_Type_commit", "commit.csv")
    CONSOLE.print(f"written: {out / 'commit.csv'} and .png", highlight=False)


if __name__ == "__main__":
    main(prog_name="python -m bench.commit")
