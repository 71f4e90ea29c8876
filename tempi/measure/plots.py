"""The curves of a profile with their fits: a panel for each term, a line for each layout, one legend."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tempi.figures import LOWER, by_bytes, check_drawable, describe, save
from tempi.model.measurement import Measurement, by_term
from tempi.model.profile import Profile
from tempi.model.terms import Term

COLUMNS, LEGEND_COLUMNS = 3, 5
BY_PARTS = "chunks"  # drawn over the number of parts, not the payload


def label_of(row: Measurement) -> str:
    """The layout's text in the legend."""
    if row.term == BY_PARTS:
        return f"{row.bytes >> 20} MiB"
    if row.block == row.stride:
        return "contiguous"
    solid = f", {row.planes} planes, {row.boxes} boxes" if row.planes * row.boxes > 1 else ""
    return f"{row.block} of {row.stride} B{solid}"


def by_layout(rows: Sequence[Measurement]) -> dict[str, list[Measurement]]:
    """A curve for each layout, contiguous ones first, then by block and stride."""
    curves: dict[str, list[Measurement]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row.block != row.stride, row.block, row.stride, row.bytes)):
        curves[label_of(row)].append(row)
    return curves


def draw_term(axis: Any, rows: Sequence[Measurement], term: Term, colours: Mapping[str, Any]) -> None:
    """Dots with intervals for measurements, hollow if flagged; lines for the fit."""
    abscissa = "blocks" if rows[0].term == BY_PARTS else "bytes"
    for label, curve in by_layout(rows).items():
        sizes, color = [getattr(row, abscissa) for row in curve], colours[label]
        axis.plot(sizes, [1e6 * term.seconds(row.features) for row in curve], linewidth=1, color=color)
        axis.vlines(
            sizes, [1e6 * row.low_s for row in curve], [1e6 * row.high_s for row in curve], color, linewidth=1
        )
        axis.plot(sizes, [1e6 * row.median_s for row in curve], "o", color=color, markersize=3, label=label)
        flagged = [row for row in curve if row.flags]
        axis.plot(
            [getattr(row, abscissa) for row in flagged], [1e6 * row.median_s for row in flagged], "o",
            markersize=3, color=color, markerfacecolor="white",
        )  # fmt: skip
    if abscissa == "bytes" and max(row.bytes for row in rows) > 0:
        by_bytes(axis, "payload")
    else:
        axis.set_xlabel("parts" if abscissa == "blocks" else "payload (bytes)")
    axis.set(yscale="log", ylabel="time (µs)")
    axis.grid(alpha=0.3)


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
    size = (5.5 * COLUMNS, 4 * lines + 2)
    figure, axes = pyplot.subplots(lines, COLUMNS, figsize=size, squeeze=False, layout="constrained")
    layouts = list(by_layout([row for rows in tables.values() for row in rows]))
    shades = pyplot.get_cmap("turbo").resampled(len(layouts))
    colours = {layout: shades(number) for number, layout in enumerate(layouts)}
    for axis in axes.flat[len(tables) :]:
        axis.remove()
    for axis, (name, rows) in zip(axes.flat, tables.items(), strict=False):
        draw_term(axis, rows, profile.terms[name], colours)
        axis.set_title(name)
    labels = {
        label: line
        for axis in axes.flat
        for line, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        [labels[layout] for layout in layouts], layouts, loc="outside lower center", ncols=LEGEND_COLUMNS,
        title="layouts: bytes of a block and of its stride",
    )  # fmt: skip
    title = (
        "Time of each part of a message: dots are measured (hollow: flagged as uncertain), lines are the fit"
    )
    describe(figure, title, LOWER, profile.machine.summary)
    save(figure, path)
