"""Plots of the pack benchmark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from math import log2
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
Series = dict[str, list[tuple[float, float]]]


LARGE = 16 << 20
# In the order of their bars and colours.
HALO_WAYS = ("library", "library-persistent", "shim-isend", "shim-pack", "halo", "hand", "hand-nccl")


def vectors(rows: Sequence[Row], direction: str) -> list[Row]:
    """The vectors to draw: the large ones where there are any, as small ones all cost one launch."""
    found = [row for row in rows if row["kind"] == "vector" and row["direction"] == direction]
    return [row for row in found if row["payload"] >= LARGE] or found


def ratio_series(rows: Sequence[Row], direction: str) -> Series:
    """TEMPI over limit by block, one line a stride and payload, vectors only: the others have a table."""
    series: Series = defaultdict(list)
    for row in vectors(rows, direction):
        if row["over_limit"]:
            gap = "2 x block" if row["stride"] == 2 * row["block"] else f"{row['stride']} B"
            payload = 2 ** round(log2(row["payload"]))  # whole blocks are a little less
            label = (
                f"stride {gap}, {payload >> 20} MiB"
                if payload >= LARGE
                else f"stride {gap}, {payload >> 10} KiB"
            )
            series[label].append((row["block"], row["over_limit"]))
    return series


def throughput_series(rows: Sequence[Row], direction: str) -> Series:
    """Bytes read and written by block, in GB/s, of vectors: of TEMPI and of the best specialised code."""
    sides = {"limit_us": "best specialised", "tempi_us": "TEMPI", "library_us": "library", "peer_us": "peer"}
    series: Series = defaultdict(list)
    for row in vectors(rows, direction):
        for column, label in sides.items():
            if row[column]:
                series[label].append((row["block"], 2e-3 * row["payload"] / row[column]))
    return series


def draw(rows: Sequence[Row], path: Path, title: str, bar: float) -> None:
    """Two rows of panels: ratio to the limit and throughput, by block; pack left, unpack right."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(13, 10), sharey="row")
    for column, direction in enumerate(("pack", "unpack")):
        top, bottom = axes[0][column], axes[1][column]
        for label, points in sorted(ratio_series(rows, direction).items()):
            top.plot(*zip(*sorted(points), strict=True), marker="o", markersize=4, linewidth=1, label=label)
        top.axhline(bar, color="black", linestyle="--", linewidth=0.8)
        top.set(xlabel="block (bytes)", ylabel="time / best specialised", title=direction)
        for (label, points), marker in zip(throughput_series(rows, direction).items(), "_ox^", strict=False):
            bottom.plot(*zip(*sorted(points), strict=True), marker, markersize=6, alpha=0.6, label=label)
        bottom.set(yscale="log", xlabel="block (bytes)", ylabel="read + written (GB/s)")
        for axis in (top, bottom):
            axis.set_xscale("log", base=2)
            axis.xaxis.set_major_formatter("{x:.0f}")
            axis.grid(alpha=0.3)
            if axis.get_legend_handles_labels()[1]:
                axis.legend(fontsize=7)
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_sends(rows: Sequence[Row], cases: Collection[str], path: Path, title: str) -> None:
    """Half round trips of all sides: a panel a block, by payload; for few payloads the other way round."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    sends = [
        row
        for row in rows
        if row["quantity"] == "send" and row["case"] in cases and not row["side"].endswith(".self")
    ]
    few = len({row["payload"] for row in sends}) < len({row["block"] for row in sends})
    panel_key, x_key = ("payload", "block") if few else ("block", "payload")
    panels = sorted({row[panel_key] for row in sends})
    columns = min(3, len(panels)) or 1
    lines = -(-len(panels) // columns) or 1
    figure, axes = plt.subplots(lines, columns, figsize=(5 * columns, 4 * lines), squeeze=False, sharey=True)
    for panel, axis in zip(panels, axes.flat, strict=False):
        for side in dict.fromkeys(row["side"] for row in sends):
            points = sorted(
                (row[x_key], row["median_us"], row["repeats"] == 0)
                for row in sends
                if row["side"] == side and row[panel_key] == panel
            )
            axis.plot(
                [x for x, _, _ in points], [y for _, y, _ in points], marker=".", linewidth=1, label=side
            )
            guesses = [(x, y) for x, y, predicted in points if predicted]
            axis.plot([x for x, _ in guesses], [y for _, y in guesses], "o", color="grey", mfc="none")
        axis.set(yscale="log", title=f"{panel_key} {panel} B", xlabel=f"{x_key} (bytes)")
        axis.set_xscale("log", base=2)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    for row_of_axes in axes:
        row_of_axes[0].set_ylabel("half round trip (us); grey circle: predicted")
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_halos(rows: Sequence[Row], path: Path, title: str) -> None:
    """Times of halo exchanges: a panel a size, a group of bars a number of ranks, a bar a way."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    sizes = list(dict.fromkeys((row["edge"], row["radius"], row["quantities"]) for row in rows))
    figure, axes = plt.subplots(len(sizes), 1, figsize=(12, 4.2 * len(sizes)), squeeze=False)
    for size, axis in zip(sizes, axes.flat, strict=True):
        here = [row for row in rows if (row["edge"], row["radius"], row["quantities"]) == size]
        _draw_halo_panel(axis, here)
        edge, radius, quantities = size
        axis.set(title=f"{edge}³ points a rank, {quantities} doubles a point, radius {radius}")
    axes[0][0].legend(fontsize=8, ncols=4, loc="upper left")
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _draw_halo_panel(axis: Any, rows: Sequence[Row]) -> None:
    """Each bar with its time, or with why there is none."""
    setups = list(dict.fromkeys((row["ranks"], row["gpus"]) for row in rows))
    ways = list(
        dict.fromkeys(row["way"] for row in sorted(rows, key=lambda row: HALO_WAYS.index(row["way"])))
    )
    width = 0.85 / len(ways)
    least = min((row["median_us"] for row in rows if row["median_us"]), default=1.0)
    for number, way in enumerate(ways):
        found = [(setups.index((row["ranks"], row["gpus"])), row) for row in rows if row["way"] == way]
        places = [place + (number - (len(ways) - 1) / 2) * width for place, _ in found]
        heights = [row["median_us"] or 0 for _, row in found]
        axis.bar(places, heights, 0.92 * width, label=way, color=f"C{HALO_WAYS.index(way)}")
        for x, height, (_, row) in zip(places, heights, found, strict=True):
            text = f"{height:,.0f}" if height >= 10 else f"{height:.1f}" if height else row["failure"]
            axis.text(
                x, 1.06 * (height or least / 2), text, rotation=90, fontsize=7, ha="center", va="bottom"
            )
    names = [f"{ranks} ranks" + (f", {gpus} GPUs" if gpus else "") for ranks, gpus in setups]
    axis.set_xticks(range(len(setups)), names)
    axis.set(yscale="log", ylabel="median of an exchange (µs)", ylim=(least / 2, None))
    axis.set_ylim(top=axis.get_ylim()[1] * 6)  # room for the times and the legend
    axis.grid(axis="y", alpha=0.3)
