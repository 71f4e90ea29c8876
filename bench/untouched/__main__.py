"""The time that TEMPI adds to a message that it passes to the library: Isend, Recv and Wait of one rank.

    python -m bench.untouched --lib "$(tempi lib)"
    python -m bench.untouched --lib "$(tempi lib)" --device gpu     # in a process that uses a GPU

The library's own functions are called in turn with the shim's, in one process; processes differ (address
layout, the core they land on and its speed), so there are several, and their median counts. What direct
messages add is the difference between processes with and without them, whose times are scaled to the speed
of the fastest; the library's own functions tell it.
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
MOST_DIRECT_NS = 40.0  # more than without direct messages, in a process with one


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


def at_one_speed(runs: Sequence[Timings], case: str, library_ns: float) -> float:
    """The median of what the shim adds, in processes of which the library's own functions take so many ns."""

    def scaled(each: Timings) -> float:
        return float(each[case, "send"].note) * library_ns / (each[f"{case}@library", "send"].median_us * 1e3)

    return statistics.median(scaled(each) for each in runs)


def fastest(turns: Sequence[tuple[Timings, Timings]], case: str) -> float:
    """The library's own time in the fastest process, in ns."""
    return min(each[f"{case}@library", "send"].median_us for both in turns for each in both) * 1e3


def direct_ns(turns: Sequence[tuple[Timings, Timings]], case: str) -> float:
    """The time that direct messages add to a case: the difference between processes with and without them."""
    reference = fastest(turns, case)
    direct, without = (at_one_speed([turn[k] for turn in turns], case, reference) for k in range(2))
    return direct - without


def show(rows: Sequence[dict[str, object]]) -> None:
    """The table, and its comparison with the bar."""
    table = Table(title="a message of a rank to itself, ns")
    for name in rows[0]:
        table.add_column(name, justify="left" if name == "case" else "right")
    for row in rows:
        table.add_row(*(value if isinstance(value, str) else f"{value:.1f}" for value in row.values()))
    CONSOLE.print(table)


def judge(row: dict[str, object], name: str, most_ns: float) -> None:
    """A line that compares a case with its bar."""
    value = float(str(row[name]))
    verdict = "PASS" if value <= most_ns else "FAIL"
    CONSOLE.print(f"{verdict}: {row['case']}: {name} {value:.1f} (<= {most_ns:.0f})", highlight=False)


@click.command(help=(__doc__ or "").split("\n\n")[0])
@click.option("--lib", type=click.Path(exists=True, path_type=Path), required=True, help="libtempi.so")
@click.option(
    "--device",
    type=click.Choice(["none", "gpu", "fake"]),
    default="none",
    show_default=True,
    help="Device that the ranks use. With gpu or fake, half of the processes run without direct messages.",
)
@click.option("--processes", default=9, show_default=True)
@click.option("--mpirun", default="mpirun", show_default=True)
@click.option("--mpicc", default="mpicc", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, show_default=True)
def main(lib: Path, device: str, processes: int, mpirun: str, mpicc: str, out: Path) -> None:
    """Measure, show, write a CSV."""
    build = (out / "build").resolve()
    build.mkdir(parents=True, exist_ok=True)
    driver = compile_mpi("untouched/driver.cpp", build / "untouched_driver", mpicc)
    program = [str(driver), *(["--gpu"] if device == "gpu" else [])]
    start = [*launch_command(mpirun, 1), *preloaded(lib)]
    settings = ["TEMPI_DEVICE=fake"] if device == "fake" else []

    def run(*further: str) -> Timings:
        return read_rows(rows_printed([*start, *settings, *further, *program]))

    if device == "none":
        rows = rows_of([run() for _ in range(processes)])
    else:
        turns = [(run("TEMPI_NO_DIRECT=0"), run("TEMPI_NO_DIRECT=1")) for _ in range(processes)]
        rows = rows_of([direct for direct, _ in turns])
        for row in rows:
            case = str(row["case"])
            row |= {"direct_ns": direct_ns(turns, case), "where_library_ns": fastest(turns, case)}
    show(rows)
    path = out / f"untouched-{device}.csv"
    write_csv(path, rows, machine_facts(mpirun, lib))
    CONSOLE.print(f"written: {path}", highlight=False)
    if device == "none":
        judge(rows[0], "added_ns", MOST_NS)
    else:
        judge(rows[0], "direct_ns", MOST_DIRECT_NS)


if __name__ == "__main__":
    main(prog_name="python -m bench.untouched")
