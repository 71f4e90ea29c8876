"""Plots of the benchmarks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from math import log2
from pathlib import Path
from typing import Any

from tempi.figures import COLOURS, HIGHER, LOWER, by_bytes, describe, for_bars, plain, save, size_text

Row = Mapping[str, Any]
Series = dict[str, list[tuple[float, float]]]


LARGE = 16 << 20
# Ways of a halo exchange in the order of their bars: a name for people, and a colour.
HALO_WAYS = {
    "library": ("MPI library alone: Isend, Irecv of derived types", COLOURS["library"]),
    "library-persistent": ("MPI library alone: persistent requests", COLOURS["library, second way"]),
    "shim-isend": ("TEMPI: Isend, Irecv, from Python", COLOURS["tempi, sixth way"]),
    "shim-pack": ("TEMPI: MPI_Pack", COLOURS["tempi, fourth way"]),
    "shim-neighbor": ("TEMPI: MPI_Neighbor_alltoallw", COLOURS["tempi, third way"]),
    "shim-c-isend": ("TEMPI: Isend, Irecv, from C", COLOURS["tempi, second way"]),
    "shim-c-persistent": ("TEMPI: persistent requests, from C", COLOURS["tempi, fifth way"]),
    "halo": ("TEMPI: HaloExchange", COLOURS["tempi"]),
    "hand": ("by hand: packed data, MPI", COLOURS["hand"]),
    "hand-nccl": ("by hand: packing kernels, NCCL", COLOURS["nccl"]),
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
            gap = "2 blocks" if row["stride"] == 2 * row["block"] else f"{row['stride']:.0f} B"
            payload = size_text(2 ** round(log2(row["payload"])))  # whole blocks are a little less
            series[f"{payload}B, stride {gap}"].append((row["block"], row["over_limit"]))
    return series


PACK_SIDES = {
    "limit_us": ("specialised kernel", COLOURS["limit"]),
    "tempi_us": ("TEMPI", COLOURS["tempi"]),
    "library_us": ("MPI library alone", COLOURS["library, second way"]),
    "peer_us": ("CUDA-aware Open MPI alone", COLOURS["library"]),
}


def throughput_series(rows: Sequence[Row], direction: str) -> Series:
    """Bytes read and written by block, in GB/s, of vectors: a column of times a side."""
    series: Series = defaultdict(list)
    for row in vectors(rows, direction):
        for column in PACK_SIDES:
            if row.get(column):
                series[column].append((row["block"], 2e-3 * row["payload"] / row[column]))
    return series


def draw_packs(rows: Sequence[Row], path: Path, machine: str, source: str) -> None:
    """Two rows of panels: ratio to the limit and throughput, by block; pack left, unpack right."""
    figure, axes = _pyplot().subplots(2, 2, figsize=(12, 9), sharey="row", layout="constrained")
    for column, direction in enumerate(("pack", "unpack")):
        top, bottom = axes[0][column], axes[1][column]
        for label, points in sorted(ratio_series(rows, direction).items()):
            top.plot(*zip(*sorted(points), strict=True), marker="o", markersize=4, linewidth=1, label=label)
        top.axhline(1, color=COLOURS["limit"], linewidth=0.8)
        top.set(ylabel="time / time of the specialised kernel", title=f"MPI_{direction.title()}: {LOWER}")
        found = throughput_series(rows, direction)
        for (name, points), marker in zip(found.items(), "_ox^", strict=False):
            label, colour = PACK_SIDES[name]
            bottom.plot(
                *zip(*points, strict=True), marker, markersize=6, alpha=0.6, color=colour, label=label
            )
        title = f"MPI_{direction.title()}: {HIGHER}"
        bottom.set(yscale="log", ylabel="bytes read and written (GB/s)", title=title)
        bottom.yaxis.set_major_formatter(plain)
        for axis in (top, bottom):
            by_bytes(axis, "block")
    for axis, place in ((axes[0][1], "upper left"), (axes[1][1], "upper left")):
        if axis.get_legend_handles_labels()[0]:  # no line: TEMPI or the specialised code was not measured
            axis.legend(fontsize=8, loc=place, bbox_to_anchor=(1.02, 1))
    describe(figure, f"MPI_Pack and MPI_Unpack of vectors, {machine}", "", source)
    save(figure, path)


SEND_SIDES = {
    "plain": ("MPI library alone", COLOURS["library, second way"]),
    "plain+tempi": ("TEMPI", COLOURS["tempi"]),
    "aware": ("CUDA-aware Open MPI alone", COLOURS["library"]),
    "aware+tempi": ("TEMPI, CUDA-aware Open MPI", COLOURS["tempi, second way"]),
}


def draw_sends(rows: Sequence[Row], cases: Collection[str], path: Path, title: str, source: str) -> None:
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
    figure, axes = plt.subplots(
        lines, columns, figsize=(5 * columns, 4 * lines), squeeze=False, sharey=True, layout="constrained"
    )
    for panel, axis in zip(panels, axes.flat, strict=False):
        for side in dict.fromkeys(row["side"] for row in sends):
            points = sorted(
                (row[x_key], row["median_us"], row["repeats"] == 0)
                for row in sends
                if row["side"] == side and row[panel_key] == panel
            )
            label, colour = SEND_SIDES.get(side, (side, COLOURS["hand"]))
            axis.plot([x for x, _, _ in points], [y for _, y, _ in points], ".-", color=colour, label=label)
            guesses = [(x, y) for x, y, predicted in points if predicted]
            axis.plot([x for x, _ in guesses], [y for _, y in guesses], "o", color="grey", mfc="none")
        axis.set(yscale="log", title=f"{panel_key} {size_text(panel)}B")
        axis.yaxis.set_major_formatter(plain)
        by_bytes(axis, x_key)
    for row_of_axes in axes:
        row_of_axes[0].set_ylabel("half a round trip (µs)\ngrey circle: scaled, not measured")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    describe(figure, title, LOWER, source)
    save(figure, path)


def draw_bars(
    rows: Sequence[Row], columns: Mapping[str, tuple[str, str]], path: Path, title: str, source: str
) -> None:
    """A group of horizontal bars for each case: a bar a column (name to label and colour), and the limit."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(9, 1.2 + 0.5 * len(rows)), layout="constrained")
    height = 0.8 / len(columns)
    for i, (column, (label, colour)) in enumerate(columns.items()):
        at = [row_number + (i - (len(columns) - 1) / 2) * height for row_number in range(len(rows))]
        axis.barh(at, [row[column] or 0 for row in rows], 0.9 * height, label=label, color=colour)
    for row_number, row in enumerate(rows):
        if row.get("bar") is not None:
            axis.plot([row["bar"]] * 2, [row_number - 0.45, row_number + 0.45], color="black", linewidth=1)
    axis.set_yticks(range(len(rows)), [row["case"] for row in rows])
    lengths = [row.get(column) or 0 for row in rows for column in (*columns, "bar")]
    scale = ", logarithmic scale" if for_bars(axis, lengths, room=0.05) else ""
    axis.set_xlabel(f"time (µs){scale}; black line: the most that is allowed")
    axis.invert_yaxis()
    axis.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside lower center", ncols=len(columns))
    describe(figure, title, LOWER, source)
    save(figure, path)


def draw_choices(rows: Sequence[Row], path: Path, title: str, source: str) -> None:
    """Predicted against taken time of the chosen strategy; the grey band is 25 % off."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(7, 6), layout="constrained")
    points: Series = defaultdict(list)
    for row in rows:
        points[f"{row['where']}: {row['chosen']}"].append((row[f"{row['chosen']}_us"], row["predicted_us"]))
    for label, found in sorted(points.items()):
        axis.plot([x for x, _ in found], [y for _, y in found], "o", markersize=4, alpha=0.6, label=label)
    ends = [min(min(pair) for found in points.values() for pair in found)]
    ends.append(max(max(pair) for found in points.values() for pair in found))
    axis.fill_between(ends, [0.75 * x for x in ends], [1.25 * x for x in ends], color="0.9")
    axis.set(xscale="log", yscale="log", xlabel="measured time (µs)", ylabel="predicted time (µs)")
    for scale in (axis.xaxis, axis.yaxis):
        scale.set_major_formatter(plain)
    figure.legend(fontsize=8, loc="outside right upper")
    describe(figure, title, "nearer to the diagonal is better; grey: within 25 %", source)
    save(figure, path)


def draw_halos(rows: Sequence[Row], path: Path, title: str, source: str) -> None:
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
    figure.legend(ways.values(), ways.keys(), loc="outside lower center", ncols=3, fontsize=9)
    describe(figure, title, LOWER, source)
    save(figure, path)


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
            text = row["failure"] if us is None else short(us)
            axis.text(x, 1.06 * (us or least / 2), text, rotation=90, fontsize=7, ha="center", va="bottom")
    names = [f"{n} rank{'s'[: n > 1]}" + (f", {gpus} GPU" if gpus else "") for n, gpus in setups]
    axis.set_xticks(range(len(setups)), names)
    axis.set(yscale="log", ylabel="median time (µs)", ylim=(least / 2, None))
    axis.yaxis.set_major_formatter(plain)
    bottom, top = axis.get_ylim()
    axis.set_ylim(bottom, top * (top / bottom) ** 0.25)  # room for the numbers
    axis.grid(axis="y", alpha=0.3)
    axis.set_axisbelow(True)


def short(us: float) -> str:
    """A time beside a bar."""
    if us >= 1e6:
        return f"{us * 1e-6:.3g} s"
    return f"{us:,.0f} µs" if us >= 10 else f"{us:.1f} µs"


TRANSPOSE_WAYS = {
    "library": ("MPI library alone: MPI_Alltoallw", COLOURS["library"]),
    "hand": ("by hand: packed by array assignments, MPI_Alltoallv", COLOURS["hand"]),
    "shim": ("TEMPI: MPI_Alltoallw", COLOURS["tempi"]),
    "links": ("NCCL: the same bytes, already packed", COLOURS["nccl"]),
}


def save_transposes(path: Path, rows: Sequence[Row], ways: Sequence[str], title: str, source: str) -> None:
    """A group of bars for each case of `bench.transpose`, time on a logarithmic scale."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(1.5 + 0.9 * len(rows), 5), layout="constrained")
    width = 0.8 / len(ways)
    for i, way in enumerate(ways):
        label, colour = TRANSPOSE_WAYS[way]
        at = [k + (i - (len(ways) - 1) / 2) * width for k in range(len(rows))]
        axis.bar(at, [row[f"{way}_us"] * 1e-3 for row in rows], width, label=label, color=colour)
    cases = [f"{row['cells']}³\n{row['cut']}\n{row['ranks']} ranks" for row in rows]
    axis.set_xticks(range(len(rows)), cases, fontsize=8)
    axis.set(yscale="log", ylabel="time of a transpose (ms)")
    axis.yaxis.set_major_formatter(plain)
    axis.grid(axis="y", alpha=0.3)
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    describe(figure, title, LOWER, source)
    save(figure, path)


SOLVER_WAYS = {
    "library": ("MPI library alone", COLOURS["library"]),
    "hand": ("by hand: NumPy, MPI", COLOURS["hand"]),
    "types": ("TEMPI: Isend, Irecv of subarrays", COLOURS["tempi, second way"]),
    "halo": ("TEMPI: HaloExchange", COLOURS["tempi"]),
    "nccl": ("by hand: packing kernels, NCCL", COLOURS["nccl"]),
}


def save_solvers(path: Path, rows: Sequence[Row], title: str, source: str) -> None:
    """A group of bars for each case of `bench.solver`, with a line at the time without communication."""
    plt = _pyplot()
    cases = list(dict.fromkeys((row["ranks"], row["edge"]) for row in rows))
    ways = [way for way in SOLVER_WAYS if any(row["way"] == way and row["median_us"] for row in rows)]
    figure, axis = plt.subplots(figsize=(2.5 + 1.2 * len(cases), 5), layout="constrained")
    width = 0.8 / len(ways)
    for i, way in enumerate(ways):
        label, colour = SOLVER_WAYS[way]
        found = [row for row in rows if row["way"] == way and row["median_us"]]
        at = [cases.index((row["ranks"], row["edge"])) + (i - (len(ways) - 1) / 2) * width for row in found]
        axis.bar(at, [row["median_us"] for row in found], width, label=label, color=colour)
        ends = [x - width / 2 for x in at], [x + width / 2 for x in at]
        kernels = "without communication" if i == 0 else None
        axis.hlines([row["compute_us"] for row in found], *ends, color=COLOURS["limit"], label=kernels)
    names = [f"{edge}³\n{ranks} rank{'s'[: ranks > 1]}" for ranks, edge in cases]
    axis.set_xticks(range(len(cases)), names, fontsize=8)
    axis.set(yscale="log", ylabel="time of an iteration (µs)")
    axis.yaxis.set_major_formatter(plain)
    axis.grid(axis="y", alpha=0.3)
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    describe(figure, title, LOWER, source)
    save(figure, path)
