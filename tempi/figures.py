"""Figures of commands and documents: colours, titles, sources; errors before minutes of work."""

from __future__ import annotations

import os
from math import floor, inf, log10
from pathlib import Path
from typing import Any

SUFFIXES = (".png", ".svg")
DPI = 110
# The colour of each way that is compared, in every figure: reds are TEMPI, blues are code by hand.
COLOURS = {
    "library": "#8c8c8c",
    "library, second way": "#c4c4c4",
    "tempi": "#c00000",
    "tempi, second way": "#e8853a",
    "tempi, third way": "#f2b46d",
    "tempi, fourth way": "#7f3f00",
    "tempi, fifth way": "#f7d3a6",
    "tempi, sixth way": "#f08080",
    "hand": "#5b9bd5",
    "nccl": "#1f4e79",
    "limit": "#000000",
}
STEPS = (1, 2, 5)  # of a decade
MOST_TICKS = 9
ROOM = 0.04  # of the axis, for markers at its ends
LOWER, HIGHER = "lower is better", "higher is better"


def check_drawable(path: Path) -> Any:
    """matplotlib's pyplot; RuntimeError where it is missing or `path` cannot be a plot."""
    if path.suffix not in SUFFIXES:
        raise RuntimeError(f"{path}: a plot is a .png or .svg file")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK) or path.is_dir():
        raise RuntimeError(f"{path} cannot be written")
    try:
        import matplotlib
    except ImportError as error:
        raise RuntimeError("plots need matplotlib: pip install 'tempi-mpi[measure]'") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def describe(figure: Any, title: str, better: str, source: str) -> None:
    """The title: what is shown, what is better, and the data file or machine."""
    figure.suptitle("\n".join((title, "; ".join(filter(None, (better, source))))), fontsize=10)


def by_bytes(axis: Any, label: str) -> None:
    """A logarithmic axis of sizes in bytes, with ticks such as 64 Ki."""
    axis.set_xscale("log", base=2)
    axis.xaxis.get_major_locator().set_params(numticks=7)
    axis.xaxis.set_major_formatter(lambda size, _: size_text(size))
    axis.set_xlabel(f"{label} (bytes)")
    axis.grid(alpha=0.3)


def ticks_between(low: float, high: float) -> list[float]:
    """The numbers 1, 2, 5, 10, ... that enclose `low` and `high`; if they are many, powers of 10 only."""
    decades = range(floor(log10(low)) - 1, floor(log10(high)) + 2)
    for steps in (STEPS, STEPS[:1]):
        numbers = [step * 10.0**decade for decade in decades for step in steps]
        below = max(number for number in numbers if number <= low)
        above = min(number for number in numbers if number > high)
        found = [number for number in numbers if below <= number <= above]
        if len(found) <= MOST_TICKS:
            break
    return found


def plain_logarithmic(axis: Any, limits: tuple[float, float] | None = None) -> None:
    """A logarithmic vertical axis with plain numbers as ticks, at least two.

    Parameters
    ----------
    limits : tuple of float, optional
        The lowest and the highest value. By default those of the data that the figure has; if it has none,
        the axis gets no ticks of its own.
    """
    axis.set_yscale("log")
    low, high = limits or axis.dataLim.intervaly
    if not 0 < low <= high < inf:
        return
    ticks = ticks_between(low, high)
    room = (ticks[-1] / ticks[0]) ** ROOM
    axis.set_ylim(ticks[0] / room, ticks[-1] * room)
    axis.set_yticks(ticks, [f"{tick:,.10g}" for tick in ticks])
    axis.minorticks_off()


def size_text(size: float) -> str:
    """Bytes with a binary prefix: 64 Ki."""
    for prefix, unit in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if size >= unit:
            return f"{size / unit:.4g} {prefix}"
    return f"{size:.4g}"


def save(figure: Any, path: Path) -> None:
    """Write a figure, PNG or SVG by the file's suffix, and close it; RuntimeError if it cannot be written."""
    from matplotlib import pyplot

    try:
        figure.savefig(path, dpi=DPI)
    except OSError as error:
        raise RuntimeError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        pyplot.close(figure)
