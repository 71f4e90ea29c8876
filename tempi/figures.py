"""Figures of commands and documents: colours, titles, sources; errors before minutes of work."""

from __future__ import annotations

import os
from collections.abc import Sequence
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
MOST_TICKS_BELOW = 6  # a horizontal axis has less room for long numbers
LEAST_TICKS_INSIDE = 3  # without others outside the data
BARS_APART = 30  # longest bar / shortest bar; above, a linear axis does not show the shortest bar
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


def ticks_between(low: float, high: float, most: int = MOST_TICKS) -> list[float]:
    """The numbers 1, 2, 5, 10, ... that enclose `low` and `high`; if there are many, powers of 10 or 100."""
    for steps, stride in ((STEPS, 1), (STEPS[:1], 1), (STEPS[:1], 2)):
        decades = range(floor(log10(low) / stride) - 1, floor(log10(high) / stride) + 2)
        numbers = [step * 10.0 ** (stride * decade) for decade in decades for step in steps]
        below = max(number for number in numbers if number <= low)
        above = min(number for number in numbers if number > high)
        found = [number for number in numbers if below <= number <= above]
        if len(found) <= most:
            break
    return found


def plain(number: float, _place: int | None = None) -> str:
    """The text of a tick: 0.05, 500, 10,000; as matplotlib calls it."""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.10g}"


def plain_logarithmic(
    axis: Any, limits: tuple[float, float] | None = None, *, horizontal: bool = False
) -> None:
    """A logarithmic vertical axis with plain numbers as ticks, at least two.

    Parameters
    ----------
    limits : tuple of float, optional
        The lowest and the highest value. By default those of the data that the figure has; if it has none,
        the axis gets no ticks of its own.
    horizontal : bool
        The horizontal axis instead.
    """
    axis.set(**{f"{'x' if horizontal else 'y'}scale": "log"})
    low, high = limits or (axis.dataLim.intervalx if horizontal else axis.dataLim.intervaly)
    if not 0 < low <= high < inf:
        return
    ticks = ticks_between(low, high, MOST_TICKS_BELOW if horizontal else MOST_TICKS)
    if len(ticks) > LEAST_TICKS_INSIDE + 2:  # without the two that enclose the data, enough are left
        ticks = [tick for tick in ticks if low <= tick <= high]
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    room = (high / low) ** ROOM
    (axis.set_xlim if horizontal else axis.set_ylim)(low / room, high * room)
    (axis.set_xticks if horizontal else axis.set_yticks)(ticks, list(map(plain, ticks)))
    axis.minorticks_off()


def for_bars(axis: Any, lengths: Sequence[float], room: float) -> bool:
    """The horizontal axis of bars: logarithmic if a linear one does not show the shortest bar.

    Parameters
    ----------
    lengths : sequence of float
        Of the bars; 0 if there is no bar.
    room : float
        Room for the texts behind the bars, as a part of the axis.

    Returns
    -------
    bool
        True if the axis is logarithmic.
    """
    known = [length for length in lengths if length > 0]
    is_logarithmic = bool(known) and max(known) > BARS_APART * min(known)
    if is_logarithmic:
        low = min(known) / STEPS[-1]
        plain_logarithmic(axis, (low, max(known)), horizontal=True)
        axis.set_xlim(low, max(known) * (max(known) / low) ** room)
    else:
        axis.margins(x=room)
        axis.xaxis.set_major_formatter(plain)
    return is_logarithmic


def size_text(size: float) -> str:
    """Bytes with a binary prefix: 64 Ki."""
    for prefix, unit in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if size >= unit:
            units = size / unit
            return f"{units:,.0f} {prefix}" if units >= 10_000 else f"{units:.4g} {prefix}"
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
