"""The time that tempi.view adds to an MPI call.

python -m bench.view
"""

from __future__ import annotations

import importlib.util
import statistics
import timeit
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

import tempi
from bench.common.commands import CONSOLE, RESULTS, VERDICTS
from bench.common.figures import draw_bars
from bench.common.tables import machine_facts, write_csv
from tempi.arrays.views import CACHED_LAYOUTS
from tempi.figures import COLOURS
from tempi.run.shims import any_shim

BAR_US = 3.0  # for arrays whose shape, strides and dtype were seen before
NEW = "NumPy, never seen before"
SHAPE = (66, 66, 66)
FACE = np.s_[1:-1, 0, ::2]


class _Interface:
    """A GPU array of a library whose interface costs nothing to ask for; the memory is never touched."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.__cuda_array_interface__ = array.__array_interface__


class _Dlpack:
    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


def arrays() -> Iterator[tuple[str, Any]]:
    """The arrays to view, by name; GPU arrays if their libraries are installed and find a GPU."""
    host = np.zeros(SHAPE)
    yield "NumPy, slice", host[FACE]
    yield "NumPy, contiguous", host
    yield "NumPy, reversed", host[::-1, :, 3]
    yield "NumPy, structure", np.zeros(SHAPE, [("a", "i4"), ("b", "f8")])[FACE]
    yield "NumPy, broadcast", np.broadcast_to(host[FACE], (4, 64, 33))
    yield "__cuda_array_interface__ alone", _Interface(host[FACE])
    yield "DLPack alone", _Dlpack(host[FACE])
    if importlib.util.find_spec("cupy"):
        import cupy

        yield "CuPy, slice", cupy.zeros(SHAPE)[FACE]
    if importlib.util.find_spec("numba"):
        from numba import cuda

        if cuda.is_available():
            yield "Numba, slice", cuda.device_array(SHAPE)[FACE]


def new_layouts() -> Callable[[], object]:
    """Views of which each is another layout than the last ones in the cache."""
    strides = iter(range(2, 1 << 30))
    long = np.zeros(1 << 20)
    return lambda: tempi.view(long[:: next(strides)])


def median_us(call: Callable[[], object], runs: int, calls: int) -> float:
    """Median over runs of the mean time of a call."""
    return statistics.median(timeit.repeat(call, number=calls, repeat=runs)) / calls * 1e6


def measured(runs: int, calls: int) -> list[dict[str, Any]]:
    """One row an array."""
    rows: list[dict[str, Any]] = []
    for name, array in arrays():
        tempi.view(array)
        us = median_us(lambda array=array: tempi.view(array), runs, calls)  # type: ignore[misc]
        rows.append({"case": name, "us": us, "bar_us": BAR_US, "verdict": "PASS" if us <= BAR_US else "FAIL"})
    new = new_layouts()
    for _ in range(CACHED_LAYOUTS):  # from now on each one displaces another
        new()
    return [*rows, {"case": NEW, "us": median_us(new, runs, calls // 10), "bar_us": None, "verdict": ""}]


def show(rows: Sequence[dict[str, Any]]) -> None:
    """The table."""
    table = Table("array", "", title="A call of tempi.view (median, us)")
    for title in ("us", "bar"):
        table.add_column(title, justify="right")
    for row in rows:
        bar = "" if row["bar_us"] is None else f"{row['bar_us']:.0f}"
        style = "red" if row["verdict"] == "FAIL" else ""
        table.add_row(row["case"], row["verdict"], f"{row['us']:.2f}", bar, style=style)
    CONSOLE.print(table)
    CONSOLE.print(VERDICTS, highlight=False)


@click.command(help=(__doc__ or "").split("\n\n")[0])
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="folder for the CSV")
@click.option("--runs", default=15, show_default=True)
@click.option("--calls", default=5000, show_default=True, help="calls in a run")
def main(out: Path, runs: int, calls: int) -> None:
    rows = measured(runs, calls)
    show(rows)
    write_csv(out / "view.csv", rows, machine_facts("mpirun", any_shim()))
    drawn = [{**row, "bar": row["bar_us"]} for row in rows]
    columns = {"us": ("tempi.view", COLOURS["tempi"])}
    draw_bars(drawn, columns, out / "view.png", "A call of tempi.view", "view.csv")
    CONSOLE.print(f"written: {out / 'view.csv'} and .png", highlight=False)


if __name__ == "__main__":
    main()
