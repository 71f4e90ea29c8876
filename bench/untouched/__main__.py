"""The cost of the shim to a message that it leaves to the library: Isend, Recv and Wait of one rank.

    python -m bench.untouched --lib build/libtempi.so
    python -m bench.untouched --lib build/libtempi.so --gpu     # in a process that uses a GPU

The library's own functions are called in turn with the shim's, in one process; processes differ (address
layout, the core they land on), so there are several, and their median counts.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Table

from bench.common.building import compile_mpi
from bench.common.commands import CONSOLE, RESULTS, launch_command, preloaded, rows_printed
from bench.common.sides import Timings, read_rows
from bench.common.tables import machine_facts, write_csv

MOST_NS = 20.0  # a message, in a process without a GPU


def rows_of(runs: Sequence[Timings]) -> list[dict[str, object]]:
    """Medians over the processes, in ns."""
    cases = [case for case, _ in runs[0] if not case.endswith("@library")]
    rows: list[dict[str, object]] = []
    for case in cases:
        added = [float(each[case, "send"].note) for each in runs]
        librarys = [each[f"{case}@library", "send"].median_us * 1e3 for each in runs]
        rows.append(
            {
                "case": case,
                "library_ns": statistics.median(librarys),
                "added_ns": statistics.median(added),
                "least_added_ns": min(added),
                "most_added_ns": max(added),
            }
        )
    return rows


def show(rows: Sequence[dict[str, object]]) -> None:
    """The table, and its comparison with the bar."""
    table = Table(title="a message of a rank to itself, ns")
    for name in rows[0]:
        table.add_column(name, justify="left" if name == "case" else "right")
    for row in rows:
        table.add_row(*(value if isinstance(value, str) else f"{value:.1f}" for value in row.values()))
    CONSOLE.print(table)


@click.command(help=(__doc__ or "").split("\n\n")[0])
@click.option("--lib", type=click.Path(exists=True, path_type=Path), required=True, help="libtempi.so")
@click.option("--gpu", is_flag=True, help="the process uses a GPU")
@click.option("--processes", default=9, show_default=True)
@click.option("--mpirun", default="mpirun", show_default=True)
@click.option("--mpicc", default="mpicc", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, show_default=True)
def main(lib: Path, gpu: bool, processes: int, mpirun: str, mpicc: str, out: Path) -> None:
    """Measure, show, write a CSV."""
    build = (out / "build").resolve()
    build.mkdir(parents=True, exist_ok=True)
    driver = compile_mpi("untouched/driver.cpp", build / "untouched_driver", mpicc)
    program = [str(driver), *(["--gpu"] if gpu else [])]
    command = [*launch_command(mpirun, 1), *preloaded(lib), *program]
    rows = rows_of([read_rows(rows_printed(command)) for _ in range(processes)])
    facts = machine_facts(mpirun, lib)
    show(rows)
    path = out / f"untouched-{'gpu' if gpu else 'host'}.csv"
    write_csv(path, rows, facts)
    CONSOLE.print(f"written: {path}", highlight=False)
    added = float(str(rows[0]["added_ns"]))
    if not gpu:
        verdict = "PASS" if added <= MOST_NS else "FAIL"
        CONSOLE.print(
            f"{verdict}: {rows[0]['case']}: {added:.1f} ns added (<= {MOST_NS:.0f})", highlight=False
        )


if __name__ == "__main__":
    main(prog_name="python -m bench.untouched")
