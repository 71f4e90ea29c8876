"""The time that TEMPI needs to predict the time of each strategy, and to choose the fastest one.

python -m bench.predict
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from bench.common.building import compile_binary
from bench.common.commands import BENCH, CONSOLE, RESULTS, VERDICTS
from bench.common.figures import draw_bars
from bench.common.tables import machine_facts, write_csv
from tempi.figures import COLOURS

ROOT = BENCH.parent
SHIPPED = ROOT / "perfmodel" / "machines" / "nvidia-h200-openmpi-5.0.7-cuda.fit"
SOURCES = ("model/fit.cpp", "model/predict.cpp", "model/strategy.cpp", "base/options.cpp", "base/tuning.cpp")
# Nothing is kept from one choice to the next, so the bar for a kept one holds for all.
BARS_NS = {"warm": 30.0, "cold": None}
MEANING = {"warm": "again and again, of other sizes", "cold": "the processor's caches full of other data"}


def measured(driver: Path, profile: Path) -> list[dict[str, Any]]:
    """One row a case."""
    done = subprocess.run([driver, profile], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise click.ClickException(done.stderr.strip())
    rows = []
    for name, median, least, p90 in (line.split(",") for line in done.stdout.splitlines()):
        ns, bar = float(median), BARS_NS[name]
        rows.append(
            {
                "case": f"{name}: {MEANING[name]}",
                "median_ns": ns,
                "min_ns": float(least),
                "p90_ns": float(p90),
                "bar_ns": bar,
                "verdict": "" if bar is None else "PASS" if ns <= bar else "FAIL",
            }
        )
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    """The table."""
    table = Table("case", "", title="a prediction and the choice from it (ns)")
    for title in ("median", "90 %", "bar"):
        table.add_column(title, justify="right")
    for row in rows:
        times = ["" if row[key] is None else f"{row[key]:.0f}" for key in ("median_ns", "p90_ns", "bar_ns")]
        table.add_row(row["case"], row["verdict"], *times, style="red" if row["verdict"] == "FAIL" else "")
    CONSOLE.print(table)
    CONSOLE.print(VERDICTS, highlight=False)


@click.command(help=(__doc__ or "").split("\n\n")[0])
@click.option("--profile", type=click.Path(exists=True, path_type=Path), default=SHIPPED, help="A .fit file.")
@click.option("--cxx", default="g++", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="folder for the CSV")
def main(profile: Path, cxx: str, out: Path) -> None:
    sources = [str(ROOT / "src" / name) for name in SOURCES]
    flags = ["-O3", f"-I{ROOT / 'src'}", *sources]
    driver = compile_binary([cxx], "predict/driver.cpp", (out / "build" / "predict_driver").resolve(), flags)
    rows = measured(driver, profile)
    show(rows)
    write_csv(out / "predict.csv", rows, machine_facts() | {"profile": profile.name})
    drawn = [
        {"case": row["case"], "us": row["median_ns"] / 1000, "bar": row["bar_ns"] and row["bar_ns"] / 1000}
        for row in rows
    ]
    columns = {"us": ("TEMPI, median", COLOURS["tempi"])}
    draw_bars(
        drawn, columns, out / "predict.png", "A prediction, and the choice of a strategy", "predict.csv"
    )
    CONSOLE.print(f"written: {out / 'predict.csv'} and .png", highlight=False)


if __name__ == "__main__":
    main()
