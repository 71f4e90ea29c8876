"""The table of the pack benchmark: one row a case and direction, judged by the project's bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from bench.common.cases import IRREGULAR, KIB, MIB, Case
from bench.common.commands import CONSOLE, VERDICTS
from bench.common.sides import Timing, Timings
from bench.common.tables import number, quotient
from bench.pack.hardware import bound_us, limit_that_holds

Row = dict[str, Any]
Figures = dict[tuple[str, str], float]
SMALL = 64 * KIB
DEVICE_BAR, HOST_BAR = 1.10, 1.15
COLUMNS = {
    "limit_us": "limit",
    "bytes_us": "bytes allow",
    "tempi_us": "TEMPI",
    "over_limit": "/limit",
    "over_bytes": "/bytes",
    "over_launch": "/launch",
    "copy_fraction": "of copy",
    "library_us": "library",
    "library_speedup": "x faster",
    "peer_us": "peer",
    "peer_speedup": "x faster",
    "mpich_us": "MPICH",
    "mpich_speedup": "x faster",
}


def median(timing: Timing | None) -> float | None:
    """The median, if there is one."""
    return timing.median_us if timing else None


def library_speedup(tempi: Timing | None, library: Timing | None) -> float | None:
    """The library's time in TEMPI's: the median of turns where they took turns."""
    if library and library.note:
        return float(library.note)
    return quotient(median(library), median(tempi))


def copy_time(limit: Timings, payload: int) -> float | None:
    """Copying as many bytes without gaps: measured, or scaled from the nearest measured payload."""
    copies = [t for (case, _), t in limit.items() if case.startswith("device_copy@")]
    if not copies:
        return None
    nearest = min(copies, key=lambda t: abs(t.payload - payload))
    return nearest.median_us * payload / nearest.payload if nearest.payload > 16 * MIB else nearest.median_us


def join(case: Case, direction: str, results: dict[str, Timings], mpich: Figures) -> Row:
    """Everything known about one case and direction."""
    timings = {name: rows.get((case.id, direction)) for name, rows in results.items()}
    measured = [t for t in timings.values() if t]
    payload = measured[0].payload if measured else case.payload
    us = {name: median(timings.get(name)) for name in ("limit", "tempi", "library", "peer")}
    launch = median(results["limit"].get(("empty_launch", "launch")))
    copy = copy_time(results["limit"], payload)
    holds, bound = "", None
    if copy and launch:  # a GPU's limits: host runs have no launch
        bound = bound_us(case, direction, copy, launch, payload)
        holds = limit_that_holds(case, direction, us["limit"], bound, launch) if us["limit"] else ""
    limit = timings.get("limit")
    return {
        "case": case.id,
        "kind": case.kind,
        "direction": direction,
        "payload": payload,
        "block": case.block,
        "stride": case.stride,
        "limit_us": us["limit"],
        "tempi_us": us["tempi"],
        "over_limit": quotient(us["tempi"], us["limit"]),
        "bytes_us": bound,
        "over_bytes": quotient(us["tempi"], bound),
        "over_launch": quotient(us["tempi"], launch),
        "copy_fraction": quotient(copy, us["tempi"]),
        "limit_copy_fraction": quotient(copy, us["limit"]),
        "library_us": us["library"],
        "library_speedup": library_speedup(timings.get("tempi"), timings.get("library")),
        "peer_us": us["peer"],
        "peer_speedup": quotient(us["peer"], us["tempi"]),
        "mpich_us": mpich.get((case.id, direction)),
        "mpich_speedup": quotient(mpich.get((case.id, direction)), us["tempi"]),
        "holds": holds,
        "best_variant": limit.note if limit else "",
        "predicted": " ".join(name for name, t in timings.items() if t and t.repeats == 0),
        "wrong": " ".join(name for name, t in timings.items() if t and not t.correct),
    }


def bars_of(row: Row, memory: str) -> dict[str, bool]:
    """The bars that apply to this row."""
    bars: dict[str, bool] = {}

    def judge(name: str, value: float | None, low: float = 0.0, high: float = float("inf")) -> None:
        if value is not None:
            bars[name] = low <= value <= high

    if memory == "host":
        judge("host: <= 1.15 x limit", row["over_limit"], high=HOST_BAR)
        judge("host: >= 0.95 x library", row["library_speedup"], low=0.95)
        return bars
    if row["payload"] <= SMALL:
        regular = row["kind"] not in IRREGULAR and row["block"] >= 4
        name, most = ("regular: <= 1.15 x launch", 1.15) if regular else ("other: <= 1.3 x launch", 1.3)
        judge(f"small, {name}", row["over_launch"], high=most)
    if row["payload"] > 60 * MIB:
        judge("large: <= 1.10 x limit", row["over_limit"], high=DEVICE_BAR)
    if row["payload"] > 500 * MIB and row["block"] >= 64:
        judge("512 MiB, block >= 64: >= 93% of device copy", row["copy_fraction"], low=0.93)
    judge("faster than the peer", row["peer_speedup"], low=1.0)
    judge("faster than MPICH's figure", row["mpich_speedup"], low=1.0)
    return bars


def show(rows: Sequence[Row], memory: str) -> None:
    """The table: a row in red misses a bar."""
    table = Table(title=f"MPI_Pack and MPI_Unpack, {memory} memory (median us)")
    used = {key: title for key, title in COLUMNS.items() if any(row[key] is not None for row in rows)}
    for title in ("case", "", *used.values(), "what holds"):
        table.add_column(
            title, no_wrap=True, justify="left" if title in ("case", "", "what holds") else "right"
        )
    for row in rows:
        missed = not all(bars_of(row, memory).values()) or row["wrong"]
        wrong = f" WRONG BYTES: {row['wrong']}" if row["wrong"] else ""
        cells = [number(row[key], 3 if "over" in key or "fraction" in key else 4) for key in used]
        table.add_row(
            row["case"], row["direction"], *cells, row["holds"] + wrong, style="red" if missed else ""
        )
    CONSOLE.print(table)


def show_bars(rows: Sequence[Row], memory: str) -> None:
    """Each bar, how many cases keep it, and the case that misses it most plainly: the first in the table."""
    judged = [(row, name, kept) for row in rows for name, kept in bars_of(row, memory).items()]
    for name in dict.fromkeys(name for _, name, _ in judged):
        results = [(row, kept) for row, bar, kept in judged if bar == name]
        missed = [f"{row['case']} {row['direction']}" for row, kept in results if not kept]
        verdict = "[green]PASS[/green]" if not missed else "[red]FAIL[/red]"
        text = f"{verdict} {name}: {len(results) - len(missed)} of {len(results)}"
        CONSOLE.print(text + (f"; missed by {', '.join(missed[:4])}…" if missed else ""), highlight=False)
    if judged:
        CONSOLE.print(VERDICTS, highlight=False)
    wrong = [f"{row['case']} {row['direction']} ({row['wrong']})" for row in rows if row["wrong"]]
    if wrong:
        CONSOLE.print(f"[red]WRONG BYTES[/red] {', '.join(wrong)}", highlight=False)
