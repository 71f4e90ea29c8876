"""The figure of a simulation: times by the number of ranks, and the speed-up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tempi.figures import COLOURS, HIGHER, LOWER, check_drawable, describe, save
from tempi.simulate.report import Row


def draw(rows: Sequence[Row], title: str, path: Path) -> None:
    """Write the figure, PNG or SVG by the file's suffix; RuntimeError if that fails."""
    pyplot = check_drawable(path)
    has_library = any(row.library_us is not None for row in rows)
    figure, axes = pyplot.subplots(
        1, 1 + has_library, figsize=(6 * (1 + has_library), 4.6), squeeze=False, layout="constrained"
    )
    ranks = [row.ranks for row in rows]
    times = axes[0][0]
    times.plot(ranks, [row.tempi_us for row in rows], "o-", color=COLOURS["tempi"], label="with TEMPI")
    if has_library:
        alone = [(row.ranks, row.library_us, row.speedup) for row in rows if row.library_us is not None]
        times.plot(
            [n for n, _, _ in alone], [us for _, us, _ in alone], "s-", color=COLOURS["library"],
            label="MPI library alone",
        )  # fmt: skip
        axes[0][1].plot(
            [n for n, _, _ in alone], [speedup for _, _, speedup in alone], "o-", color=COLOURS["tempi"]
        )
        by_ranks(axes[0][1], "time without TEMPI / time with TEMPI", HIGHER)
    by_ranks(times, "time of an exchange (µs)", LOWER)
    figure.legend(loc="outside lower center", ncols=2)
    describe(figure, title, "", "simulated by tempi simulate, not measured")
    save(figure, path)


def by_ranks(axis: Any, label: str, better: str) -> None:
    """Both scales logarithmic, ranks as plain numbers; the title says what is better."""
    axis.set_xscale("log", base=2)
    axis.set(yscale="log", xlabel="ranks", ylabel=label, title=better)
    axis.xaxis.set_major_formatter("{x:.0f}")
    axis.grid(alpha=0.3, which="both")
