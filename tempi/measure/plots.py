"""The curves of a profile with their fits: a panel a term, time by payload, a line a layout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tempi.figures import check_drawable, save
from tempi.model.measurement import Measurement, by_term
from tempi.model.profile import Profile
from tempi.model.terms import Term

COLUMNS = 3
BY_PARTS = "chunks"  # drawn over the number of parts, not the payload


def label_of(row: Measurement) -> str:
    """The layout's text in the legend."""
    if row.term == BY_PARTS:
        return f"{row.bytes >> 20} MiB"
    if row.block == row.stride:
        return "dense"
    solid = f", {row.planes} planes, {row.boxes} boxes" if row.planes * row.boxes > 1 else ""
    return f"{row.block} of {row.stride} B{solid}"


def draw_term(axis: Any, rows: Sequence[Measurement], term: Term) -> None:
    """Dots with intervals for measurements, hollow if flagged; lines for the fit."""
    abscissa = "blocks" if rows[0].term == BY_PARTS else "bytes"
    curves: dict[str, list[Measurement]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row.block != row.stride, row.block, row.stride, row.bytes)):
        curves[label_of(row)].append(row)
    for label, curve in curves.items():
        sizes = [getattr(row, abscissa) for row in curve]
        (line,) = axis.plot(sizes, [1e6 * term.seconds(row.features) for row in curve], linewidth=1)
        color = line.get_color()
        axis.vlines(
            sizes, [1e6 * row.low_s for row in curve], [1e6 * row.high_s for row in curve], color, linewidth=1
        )
        axis.plot(sizes, [1e6 * row.median_s for row in curve], "o", color=color, markersize=3, label=label)
        flagged = [row for row in curve if row.flags]
        axis.plot(
            [getattr(row, abscissa) for row in flagged], [1e6 * row.median_s for row in flagged], "o",
            markersize=3, color=color, markerfacecolor="white",
        )  # fmt: skip
    if max(row.bytes for row in rows) > 0:
        axis.set_xscale("log", base=2)
    axis.set(yscale="log", xlabel="parts" if abscissa == "blocks" else "payload (bytes)", ylabel="us")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=5, ncols=2)


def draw(profile: Profile, path: Path) -> None:
    """Write the plot, PNG or SVG by the file's suffix.

    Raises
    ------
    RuntimeError
        If matplotlib is missing, the suffix is another, or the file cannot be written.
    """
    pyplot = check_drawable(path)
    tables = by_term(profile.tables)
    lines = -(-len(tables) // COLUMNS)
    figure, axes = pyplot.subplots(lines, COLUMNS, figsize=(6 * COLUMNS, 4.5 * lines), squeeze=False)
    for axis in axes.flat[len(tables) :]:
        axis.remove()
    for axis, (name, rows) in zip(axes.flat, tables.items(), strict=False):
        draw_term(axis, rows, profile.terms[name])
        axis.set_title(name)
    figure.suptitle(f"{profile.machine.summary}; dots: measured (hollow: flagged), lines: fit")
    figure.tight_layout(rect=(0, 0, 1, 0.98))
    save(figure, path)
