"""The tables of ``bench.halo3d``, and its bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median, quantiles
from typing import Any

from rich import box
from rich.table import Table

from bench.common.commands import CONSOLE, VERDICTS
from bench.common.tables import quotient
from bench.halo3d.grid import BYTES_A_VALUE, Size
from bench.halo3d.jobs import Outcome, Outcomes, Setup

Row = dict[str, Any]
BY_HAND = ("hand", "hand-nccl")
CAPTION = "× hand: time over the best by hand; speed-up: over the library alone"
MOST_OVER_HAND, LEAST_OVER_LIBRARY, LEAST_ON_HOST = 1.5, 1000.0, 1.0
PAPER = Size(256, 3, 8)
HOST_RANKS, HOST_EDGES = (1, 2), range(32, 129)


def row_of(setup: Setup, way: str, size: Size, outcome: Outcome) -> Row:
    """The figures of a way by itself; microseconds, bytes."""
    us = [1e6 * second for second in outcome.samples]
    cuts: list[Any] = quantiles(us, n=10) if len(us) > 1 else us or [None]
    payload = BYTES_A_VALUE * size.total_elements
    return {
        "ranks": setup.ranks,
        "gpus": setup.gpus,
        "edge": size.edge,
        "radius": size.radius,
        "quantities": size.quantities,
        "way": way,
        "how": outcome.how,
        "median_us": median(us) if us else None,
        "p10_us": cuts[0],
        "p90_us": cuts[-1],
        "repeats": len(us),
        "bytes_a_rank": payload,
        "gb_per_s": quotient(1e-3 * payload, median(us)) if us else None,
        "wrong_cells": outcome.wrong,
        "failure": outcome.failure,
        "mpi": outcome.mpi,
    }


def rows_of(outcomes: Outcomes) -> list[Row]:
    """A row for each way, with its ratios to the best by hand and to the library alone."""
    rows = [row_of(setup, task.way, task.size, found) for (setup, task), found in outcomes.items()]
    rows.sort(key=_place)
    return [
        row | _ratios(row, here)
        for _, found in groupby(rows, _place)
        for here in [list(found)]
        for row in here
    ]


def _place(row: Row) -> tuple[int, ...]:
    return tuple(row[key] for key in ("ranks", "gpus", "edge", "radius", "quantities"))


def best(rows: Sequence[Row], ways: Sequence[str], figure: str = "median_us") -> float | None:
    """The least figure of some ways; None if none was measured."""
    return min((row[figure] for row in rows if row["way"] in ways and row[figure]), default=None)


def _ratios(row: Row, here: Sequence[Row]) -> Row:
    us = row["median_us"]
    return {
        "over_hand": quotient(us, best(here, BY_HAND)),
        "library_over": quotient(best(here, ["library"]), us),
    }


def show(rows: Sequence[Row]) -> None:
    """A table for each setup and size."""
    for _, found in groupby(rows, _place):
        CONSOLE.print(table_of(list(found)))


def table_of(rows: Sequence[Row]) -> Table:
    """The ways at one size, fastest first."""
    first = rows[0]
    setup = Setup(first["ranks"], first["gpus"])
    size = f"{first['edge']}³ points a rank, {first['quantities']} × 8 bytes, radius {first['radius']}"
    title = f"{size}: {first['bytes_a_rank'] / 2**20:.3g} MiB a rank; {setup}"
    table = Table(
        "way", title=title, caption=CAPTION, box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False
    )
    for heading in ("median µs", "10–90 %", "GB/s", "× hand", "speed-up", "data"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.columns[0].no_wrap = True
    for row in sorted(rows, key=lambda row: row["median_us"] or float("inf")):
        table.add_row(row["way"], *_cells(row))
    return table


def _cells(row: Row) -> list[str]:
    if not row["repeats"]:
        return [f"[red]{row['failure']}[/red]"]
    return [
        _digits(row["median_us"]),
        f"{_digits(row['p10_us'])}–{_digits(row['p90_us'])}" if row["repeats"] > 1 else "one sample",
        _digits(row["gb_per_s"]),
        _digits(row["over_hand"]),
        _digits(row["library_over"]),
        _verdict(row),
    ]


def _verdict(row: Row) -> str:
    """The verdict on the data and on later rounds."""
    if row["wrong_cells"]:
        return f"[red]{row['wrong_cells']} WRONG[/red]"
    return f"[red]then {row['failure']}[/red]" if row["failure"] else "right"


def _digits(value: float | None) -> str:
    """Three of them, or all before the point."""
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


@dataclass(frozen=True)
class Check:
    """The verdict of a bar on one setup and size."""

    bar: str
    where: str
    value: float | None
    kept: bool


def checks_of(rows: Sequence[Row], memory: str) -> list[Check]:
    """All bars that these rows can be held against."""
    found: list[Check] = []
    for _, group in groupby(rows, _place):
        here = list(group)
        halo = next((row for row in here if row["way"] == "halo"), None)
        if halo:
            found += _on_gpu(halo, here) if memory == "gpu" else _on_host(halo, here)
    return found


def _on_gpu(halo: Row, here: Sequence[Row]) -> Iterator[Check]:
    if best(here, BY_HAND):
        kept = _is_within(halo, halo["over_hand"], 0, MOST_OVER_HAND)
        yield Check("HaloExchange ≤ 1.5 x the best by hand", _name(halo), halo["over_hand"], kept)
    if _size(halo) == PAPER and halo["ranks"] == 4 and halo["library_over"]:
        kept = _is_within(halo, halo["library_over"], LEAST_OVER_LIBRARY)
        yield Check("HaloExchange ≥ 1000 x the library", _name(halo), halo["library_over"], kept)


def _on_host(halo: Row, here: Sequence[Row]) -> Iterator[Check]:
    """By the 10th percentile: a shared machine runs at half its speed for seconds, during whole launches."""
    peer = best(here, ["library", "library-persistent", "hand"], "p10_us")
    if peer and halo["ranks"] in HOST_RANKS and halo["edge"] in HOST_EDGES:
        value = quotient(peer, halo["p10_us"])
        kept = _is_within(halo, value, LEAST_ON_HOST)
        yield Check("HaloExchange ≥ 1.0 x the best of library and by hand", _name(halo), value, kept)


def _is_within(halo: Row, value: float | None, least: float, most: float = float("inf")) -> bool:
    """Wrong data keep no bar, nor does a way that failed."""
    return value is not None and least <= value <= most and not halo["wrong_cells"] and not halo["failure"]


def _size(row: Row) -> Size:
    return Size(row["edge"], row["radius"], row["quantities"])


def _name(row: Row) -> str:
    return f"{Setup(row['ranks'], row['gpus'])}, {_size(row)}"


def show_checks(checks: Sequence[Check]) -> None:
    """The bars that were kept."""
    table = Table("bar", "where", title="Bars")
    table.add_column("measured", justify="right")
    table.add_column("")
    for check in checks:
        verdict = "[green]PASS[/green]" if check.kept else "[red]FAIL[/red]"
        table.add_row(check.bar, check.where, _digits(check.value), verdict)
    CONSOLE.print(table)
    CONSOLE.print(VERDICTS, highlight=False)
