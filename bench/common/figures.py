"""Plots of the benchmarks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from math import log2
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
Series = dict[str, list[tuple[float, float]]]


LARGE = 16 << 20
# Ways of a halo exchange in the order of their bars: a name for people, and a colour.
HALO_WAYS = {
    "library": ("MPI library alone: derived types", "0.75"),
    "library-persistent": ("the same, persistent requests", "0.55"),
    "shim-isend": ("TEMPI: the same derived types", "#f4b183"),
    "shim-pack": ("TEMPI: MPI_Pack", "#e8853a"),
    "shim-neighbor": ("TEMPI: MPI_Neighbor_alltoallw", "#c55a11"),
    "shim-c-isend": ("TEMPI: derived types, from C", "#f8cfae"),
    "shim-c-persistent": ("the same, persistent requests", "#fbe3d0"),
    "halo": ("TEMPI: HaloExchange", "#c00000"),
    "hand": ("by hand: packed messages", "#5b9bd5"),
    "hand-nccl": ("by hand: NCCL", "#1f4e79"),
}


def _pyplot() -> Any:
    """Matplotlib, which draws into files only."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def vectors(rows: Sequence[Row], direction: str) -> list[Row]:
    """The vectors to draw: the large ones if any, as small ones all cost one launch."""
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
    plt = _pyplot()
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
    plt = _pyplot()
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


def draw_bars(rows: Sequence[Row], columns: Mapping[str, str], path: Path, title: str) -> None:
    """A group of horizontal bars for each case, a bar for each column (name to label), and the case's bar."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(9, 1.2 + 0.5 * len(rows)), layout="constrained")
    height = 0.8 / len(columns)
    for i, (column, label) in enumerate(columns.items()):
        at = [row_number + (i - (len(columns) - 1) / 2) * height for row_number in range(len(rows))]
        axis.barh(at, [row[column] or 0 for row in rows], 0.9 * height, label=label)
    for row_number, row in enumerate(rows):
        if row.get("bar") is not None:
            axis.plot([row["bar"]] * 2, [row_number - 0.45, row_number + 0.45], color="black", linewidth=1)
    axis.set_yticks(range(len(rows)), [row["case"] for row in rows])
    axis.set(xlabel="µs; black line: allowed", title=title)
    axis.invert_yaxis()
    axis.grid(axis="x", alpha=0.3)
    axis.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_choices(rows: Sequence[Row], path: Path, title: str) -> None:
    """Predicted against taken time of the chosen strategy; the grey band is 25 % off."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(6, 6), layout="constrained")
    points: Series = defaultdict(list)
    for row in rows:
        points[f"{row['where']}: {row['chosen']}"].append((row[f"{row['chosen']}_us"], row["predicted_us"]))
    for label, found in sorted(points.items()):
        axis.plot([x for x, _ in found], [y for _, y in found], "o", markersize=4, alpha=0.6, label=label)
    ends = [min(min(pair) for found in points.values() for pair in found)]
    ends.append(max(max(pair) for found in points.values() for pair in found))
    axis.fill_between(ends, [0.75 * x for x in ends], [1.25 * x for x in ends], color="0.9")
    axis.set(xscale="log", yscale="log", xlabel="taken (µs)", ylabel="predicted (µs)")
    axis.set_title(title, fontsize=10)
    axis.legend(fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_halos(rows: Sequence[Row], path: Path, title: str) -> None:
    """Times of halo exchanges: a panel a size, a group of bars a number of ranks, a bar a way."""
    plt = _pyplot()
    sizes = list(dict.fromkeys((row["edge"], row["radius"], row["quantities"]) for row in rows))
    figure, axes = plt.subplots(
        len(sizes), 1, figsize=(12, 3.6 * len(sizes) + 1.2), squeeze=False, layout="constrained"
    )
    for (edge, radius, quantities), axis in zip(sizes, axes.flat, strict=True):
        size = (edge, radius, quantities)
        _draw_halo_panel(axis, [r for r in rows if (r["edge"], r["radius"], r["quantities"]) == size])
        axis.set_title(f"{edge}³ points a rank, {quantities} × 8 bytes a point, radius {radius}", fontsize=10)
    ways = dict(zip(*axes[0][0].get_legend_handles_labels()[::-1], strict=True))
    figure.suptitle(title)
    figure.legend(ways.values(), ways.keys(), loc="outside lower center", ncols=4, fontsize=9)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _draw_halo_panel(axis: Any, rows: Sequence[Row]) -> None:
    """Each bar with its time, or the reason why there is none."""
    setups = list(dict.fromkeys((row["ranks"], row["gpus"]) for row in rows))
    ways = [way for way in HALO_WAYS if any(row["way"] == way for row in rows)]
    width = 0.85 / len(ways)
    least = min((row["median_us"] for row in rows if row["median_us"]), default=1.0)
    for number, way in enumerate(ways):
        label, colour = HALO_WAYS[way]
        for row in (row for row in rows if row["way"] == way):
            x = setups.index((row["ranks"], row["gpus"])) + (number - (len(ways) - 1) / 2) * width
            us = row["median_us"]
            axis.bar(x, us or least / 2, 0.92 * width, label=label, color=colour)
            text = row["failure"] if us is None else _short(us)
            axis.text(x, 1.06 * (us or least / 2), text, rotation=90, fontsize=7, ha="center", va="bottom")
    names = [f"{n} rank{'s'[: n > 1]}" + (f", {gpus} GPU" if gpus else "") for n, gpus in setups]
    axis.set_xticks(range(len(setups)), names)
    axis.set(yscale="log", ylabel="median time (µs)", ylim=(least / 2, None))
    bottom, top = axis.get_ylim()
    axis.set_ylim(bottom, top * (top / bottom) ** 0.15)  # room for the numbers
    axis.grid(axis="y", alpha=0.3)
    axis.set_axisbelow(True)


def _short(us: float) -> str:
    """Microseconds as they fit over a narrow bar."""
    if us >= 1e6:
        return f"{us * 1e-6:.3g} s"
    return f"{us:,.0f}" if us >= 10 else f"{us:.1f}"


TRANSPOSE_WAYS = {
    "library": ("MPI library alone: MPI_Alltoallw", "0.75"),
    "hand": ("packed by array assignments, MPI_Alltoallv", "#5b9bd5"),
    "shim": ("TEMPI: MPI_Alltoallw", "#c00000"),
    "links": ("the bytes alone, by NCCL", "#1f4e79"),
}


def save_transposes(path: Path, rows: Sequence[Row], ways: Sequence[str]) -> None:
    """A group of bars for each case of `bench.transpose`, time on a logarithmic scale."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(1.5 + 0.9 * len(rows), 5))
    width = 0.8 / len(ways)
    for i, way in enumerate(ways):
        label, colour = TRANSPOSE_WAYS[way]
        at = [k + (i - (len(ways) - 1) / 2) * width for k in range(len(rows))]
        axis.bar(at, [row[f"{way}_us"] * 1e-3 for row in rows], width, label=label, color=colour)
    cases = [f"{row['cells']}³\n{row['cut']}\n{row['ranks']} ranks" for row in rows]
    axis.set_xticks(range(len(rows)), cases, fontsize=8)
    axis.set(yscale="log", ylabel="ms a transpose")
    axis.grid(axis="y", alpha=0.3)
    axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
