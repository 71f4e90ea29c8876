"""The figure of a simulation: times by the number of ranks, and the speed-up."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from tempi.figures import (
    COLOURS,
    HIGHER,
    LOWER,
    check_drawable,
    describe,
    for_bars,
    plain,
    plain_logarithmic,
    save,
    size_text,
)
from tempi.simulate.reduction_report import ReductionRow
from tempi.simulate.report import Row, RowOfTable, number_text

KIB = 1 << 10
LINES = ("-", "--", ":", "-.")
MARKERS = ("o", "^", "D", "v", "P", "X", "<", ">")
WIDTHS, HEIGHT, HEIGHT_OF_ENTRY = (9.0, 12.0), 4.2, 0.25  # inches, without and with the speed-up
WIDTH_OF_BARS, HEIGHT_OF_BARS = 9.0, 2.8
ROOM_OF_TEXTS = 0.2  # of the axis, behind bars
MOST_RANKS_AS_TICKS = 10
SOURCE = "simulated by tempi simulate, not measured"
# The hollow markers of the library stay visible where a time with TEMPI is the same.
OF_TEMPI = {"color": COLOURS["tempi"]}
OF_LIBRARY = {"color": COLOURS["library"], "fillstyle": "none", "markersize": 10}


def draw(rows: Sequence[Row], title: str, path: Path) -> None:
    """Write the figure of exchanges, PNG or SVG by the file's suffix; RuntimeError if that fails.

    One row is a figure of bars: a line needs several numbers of ranks.
    """
    if len(rows) == 1:
        _draw_bars(rows[0], "time of all messages (µs)", title, path)
    else:
        _draw({"": rows}, "time of an exchange (µs)", title, path)


def draw_reductions(rows: Sequence[ReductionRow], title: str, path: Path) -> None:
    """The same of reductions, with lines for each number of bytes."""
    of_size: dict[int, list[ReductionRow]] = {}
    for row in rows:
        if row.tempi_us > 0:  # the axes are logarithmic
            of_size.setdefault(row.bytes, []).append(row)
    texts = [f", {size_text(size)}{' B' if size < KIB else 'B'}" for size in of_size]
    is_clear = len(set(texts)) == len(texts)
    names = texts if is_clear else [f", {size} B" for size in of_size]
    _draw(dict(zip(names, of_size.values(), strict=True)), "time of a reduction (µs)", title, path)


def _draw_bars(row: RowOfTable, label: str, title: str, path: Path) -> None:
    """A bar for each job, with its time in figures."""
    pyplot = check_drawable(path)
    figure, axis = pyplot.subplots(figsize=(WIDTH_OF_BARS, HEIGHT_OF_BARS), layout="constrained")
    times = {"with TEMPI": row.tempi_us, "MPI library alone": row.library_us}
    shown = {name: time for name, time in times.items() if time is not None}
    colours = [COLOURS["tempi"], COLOURS["library"]][: len(shown)]
    bars = axis.barh(list(shown), list(shown.values()), color=colours)
    axis.bar_label(bars, [f"{number_text(time)} µs" for time in shown.values()], padding=4)
    scale = ", logarithmic scale" if for_bars(axis, list(shown.values()), ROOM_OF_TEXTS) else ""
    axis.invert_yaxis()
    speedup = "" if row.speedup is None else f"; speed-up {number_text(row.speedup)}"
    axis.set(xlabel=f"{label}{scale}", title=f"{LOWER}{speedup}")
    describe(figure, title, "", SOURCE)
    save(figure, path)


def _draw(series: Mapping[str, Sequence[RowOfTable]], label: str, title: str, path: Path) -> None:
    """A figure of the rows of each series; its name follows the names of the lines."""
    pyplot = check_drawable(path)
    has_library = any(row.library_us is not None for rows in series.values() for row in rows)
    figure, axes = pyplot.subplots(
        1,
        1 + has_library,
        figsize=(WIDTHS[has_library], HEIGHT + HEIGHT_OF_ENTRY * len(series)),
        squeeze=False,
        layout="constrained",
    )
    for i, (name, rows) in enumerate(series.items()):
        style = {"linestyle": LINES[i % len(LINES)], "marker": MARKERS[i % len(MARKERS)]}
        _draw_lines(axes[0], rows, name, style)
    by_ranks(axes[0][0], label, LOWER)
    if has_library:
        by_ranks(axes[0][1], "speed-up", HIGHER)
    for axis in axes[0]:
        ticks_at(axis, {row.ranks for rows in series.values() for row in rows})
    figure.legend(loc="outside lower center", ncols=2)
    describe(figure, title, "", SOURCE)
    save(figure, path)


def _draw_lines(axes: Sequence[Any], rows: Sequence[RowOfTable], name: str, style: Mapping[str, str]) -> None:
    """The times into the first axes, and the speed-up into the second."""
    alone = [row for row in rows if row.library_us is not None]
    axes[0].plot(*_curve(rows, "tempi_us"), label=f"with TEMPI{name}", **OF_TEMPI, **style)
    if alone:
        axes[0].plot(*_curve(alone, "library_us"), label=f"MPI library alone{name}", **OF_LIBRARY, **style)
        axes[1].plot(*_curve(alone, "speedup"), **OF_TEMPI, **style)


def _curve(rows: Sequence[RowOfTable], column: str) -> tuple[list[int], list[float]]:
    return [row.ranks for row in rows], [getattr(row, column) for row in rows]


def ticks_at(axis: Any, ranks: Collection[int]) -> None:
    """Ticks of the horizontal axis at these numbers of ranks; no change if they are too many."""
    if 0 < len(ranks) <= MOST_RANKS_AS_TICKS:
        axis.set_xticks(sorted(ranks), [plain(n) for n in sorted(ranks)])
        axis.minorticks_off()


def by_ranks(axis: Any, label: str, better: str) -> None:
    """Both scales logarithmic, with plain numbers; the title says what is better. The curves must exist."""
    axis.set_xscale("log", base=2)
    axis.set(xlabel="ranks", ylabel=label, title=better)
    axis.xaxis.set_major_formatter(plain)
    plain_logarithmic(axis)
    axis.grid(alpha=0.3, which="both")
