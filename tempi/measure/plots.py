"""The curves of a profile with their fits: a panel for each term, a few layouts with names at the curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log10
from pathlib import Path
from typing import Any

from tempi.figures import LOWER, by_bytes, check_drawable, describe, plain_logarithmic, save
from tempi.measure.curves import BY_PARTS, Curve, abscissa_of, curves_of, groups_of, spread
from tempi.model.measurement import Measurement, by_term
from tempi.model.profile import Profile
from tempi.model.terms import Term

COLUMNS = 3
PANEL_INCHES, TITLE_INCHES = (4.2, 2.7), 0.45  # of a panel, and above those of a group
MOST_SIZES = 5  # that are ticks
LABEL_DISTANCE = 0.085  # of the height of a panel
GREY = "#b0b0b0"


def draw_others(axis: Any, rows: Sequence[Measurement]) -> None:
    """Grey dots: all measurements."""
    sizes = [getattr(row, abscissa_of(rows)) for row in rows]
    axis.plot(sizes, [1e6 * row.median_s for row in rows], "o", color=GREY, markersize=2, zorder=1)


def draw_curve(axis: Any, curve: Curve, term: Term) -> None:
    """Dots for measurements, hollow if flagged; a line for the fit."""
    rows, style = curve.rows, {"markersize": 4, "color": curve.colour, "zorder": 3}
    sizes = [getattr(row, abscissa_of(rows)) for row in rows]
    fitted = [1e6 * term.seconds(row.features) for row in rows]
    axis.plot(sizes, fitted, linewidth=1.2, color=curve.colour, zorder=2)
    for is_flagged, face in ((False, curve.colour), (True, "white")):
        dots = [(size, 1e6 * row.median_s) for size, row in zip(sizes, rows, strict=True)
                if bool(row.flags) == is_flagged]  # fmt: skip
        axis.plot([x for x, _ in dots], [y for _, y in dots], "o", markerfacecolor=face, **style)


def label_curves(axis: Any, curves: Sequence[Curve]) -> None:
    """The name of each curve to the right of its end; names keep a distance."""
    low, high = map(log10, axis.get_ylim())
    ends = [(log10(1e6 * curve.rows[-1].median_s) - low) / (high - low) for curve in curves]
    for curve, height in zip(curves, spread(ends, LABEL_DISTANCE), strict=True):
        axis.text(
            1.02, height, curve.name, color=curve.colour, fontsize=8, va="center", transform=axis.transAxes
        )  # fmt: skip


def draw_term(axis: Any, rows: Sequence[Measurement], term: Term, limits: tuple[float, float]) -> None:
    """One panel."""
    curves = curves_of(rows)
    draw_others(axis, rows)
    for curve in curves:
        draw_curve(axis, curve, term)
    if rows[0].term == BY_PARTS:
        axis.set_xlabel("number of chunks")
    else:
        by_bytes(axis, "payload")
        axis.xaxis.get_major_locator().set_params(numticks=MOST_SIZES)
    plain_logarithmic(axis, limits)
    label_curves(axis, curves)
    axis.set_title(rows[0].term, fontsize=10)
    axis.grid(alpha=0.3)


def limits_of(tables: Sequence[Sequence[Measurement]]) -> tuple[float, float]:
    """The shortest and the longest time of terms, in microseconds."""
    times = [1e6 * row.median_s for rows in tables for row in rows]
    return min(times), max(times)


def lines_of(n_panels: int) -> list[list[int]]:
    """The panels of each line: at most three. Four are two lines of two, such as pack and unpack."""
    in_line = 2 if n_panels == 4 else COLUMNS
    return [list(range(first, min(first + in_line, n_panels))) for first in range(0, n_panels, in_line)]


def draw_group(figure: Any, name: str, tables: Mapping[str, list[Measurement]], profile: Profile) -> None:
    """The panels of a group, with one scale of time: the strategies can be compared."""
    figure.suptitle(name, fontsize=11, fontweight="bold", x=0.01, ha="left")
    panels, lines = list(tables.values()), lines_of(len(tables))
    axes = figure.subplots(len(lines), COLUMNS, squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()  # empty ones keep their room: all panels have one width
    shared = limits_of([rows for rows in panels if rows[0].term != BY_PARTS] or panels)
    for line, numbers in zip(axes, lines, strict=True):
        for axis, number in zip(line, numbers, strict=False):
            rows = panels[number]
            axis.set_axis_on()
            limits = limits_of([rows]) if rows[0].term == BY_PARTS else shared
            draw_term(axis, rows, profile.terms[rows[0].term], limits)
        line[0].set_ylabel("time (µs)")


def single_times(tables: Mapping[str, Sequence[Measurement]]) -> Iterator[str]:
    """The terms that are one number, as text."""
    for name, rows in tables.items():
        if len(rows) == 1:
            yield f"{name}: {1e6 * rows[0].median_s:.3g} µs"


def draw(profile: Profile, path: Path) -> None:
    """Write the plot, PNG or SVG by the file's suffix.

    Raises
    ------
    RuntimeError
        If matplotlib is missing, the suffix is another, or the file cannot be written.
    """
    pyplot = check_drawable(path)
    tables = by_term(profile.tables)
    groups = groups_of({name: rows for name, rows in tables.items() if len(rows) > 1})
    heights = [PANEL_INCHES[1] * len(lines_of(len(group))) + TITLE_INCHES for group in groups.values()]
    size = (PANEL_INCHES[0] * COLUMNS, sum(heights) + TITLE_INCHES)
    figure = pyplot.figure(figsize=size, layout="constrained")
    parts = figure.subfigures(max(1, len(groups)), 1, height_ratios=heights or None, squeeze=False)
    for part, (name, group) in zip(parts.flat, groups.items(), strict=False):
        draw_group(part, name, group, profile)
    title = (
        "Time of each part of a message. Dots are measurements (hollow: uncertain), lines are the fit. "
        "Names such as 8 of 16 B: blocks of 8 bytes, one in each 16 bytes. Grey: other layouts."
    )
    describe(figure, title, LOWER, "; ".join([profile.machine.summary, *single_times(tables)]))
    save(figure, path)
