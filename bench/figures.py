"""Draws `docs/figures/` from the data files of `bench/results/`: `python -m bench.figures`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import itemgetter
from statistics import median
from typing import Any

from matplotlib import pyplot

from bench.common.commands import BENCH, RESULTS
from bench.common.figures import HALO_WAYS, PACK_SIDES, short
from bench.common.tables import read_numbers
from tempi.figures import COLOURS, LOWER, by_bytes, describe, plain_logarithmic, save
from tempi.measure import plots
from tempi.model.profile import read

SCALED = "not measured: scaled from a smaller payload"
MEASURED_DOTS: dict[str, Any] = {"color": COLOURS["library"], "markersize": 4}
SCALED_DOTS = MEASURED_DOTS | {"mfc": "white"}
MOST_SIZES = 5  # that are ticks of a narrow panel
FIGURES = BENCH.parent / "docs" / "figures"
PROFILE = BENCH.parent / "perfmodel" / "machines" / "nvidia-h200-openmpi-4.1.6.json"
Row = dict[str, Any]


def numbers(name: str) -> list[Row]:
    """The rows of a data file of `bench/results`."""
    return list(read_numbers(RESULTS / name))


def halos() -> None:
    """The large halo exchange on four GPUs: the library alone, NCCL and TEMPI."""
    alone, four = "h200/halo3d-gpu-openmpi-library.csv", "h200/halo3d-single-4gpu-openmpi4.csv"
    figure, axis = pyplot.subplots(figsize=(9, 3.8), layout="constrained")
    rows = [row for row in numbers(alone) if row["way"] == "library"] + numbers(four)
    _halo_bars(axis, rows, "Library alone: CUDA-aware Open MPI 5.0.7. All others: Open MPI 4.1.6")
    plain_logarithmic(axis, (0.01, 1e5), horizontal=True)
    axis.set(xlim=(0.01, 3e5), xlabel="time of an exchange (ms), logarithmic scale")
    title = "3-D halo exchange on four H200s: 256³ points a rank, 8 doubles a point, radius 3"
    describe(figure, title, LOWER, f"bench/results/{alone}, {four}")
    save(figure, FIGURES / "halo3d-h200.png")


def _halo_bars(axis: Any, rows: Sequence[Row], title: str) -> None:
    """A bar a way, the slowest at the top: the median of its launches, and their range in numbers."""
    times: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row["edge"] == 256:
            times[row["way"]].append(row["median_us"])
    ways = sorted(times, key=lambda way: median(times[way]))
    for place, way in enumerate(ways):
        us = sorted(times[way])
        axis.barh(place, median(us) / 1e3, color=HALO_WAYS[way][1])
        text = " to ".join(map(short, dict.fromkeys((us[0], us[-1]))))
        axis.text(1.1e-3 * median(us), place, text, va="center", fontsize=9)
    axis.set_yticks(range(len(ways)), [HALO_WAYS[way][0] for way in ways])
    axis.set_title(title, fontsize=10, loc="left")
    axis.set_axisbelow(True)
    axis.grid(axis="x", alpha=0.3)


def sends() -> None:
    """Half round trips between two GPUs by payload: a panel a block."""
    tempi, alone = "h200/send-again-direct-device2.csv", "h200/send-bars-device2.csv"
    figure, axes = pyplot.subplots(1, 3, figsize=(11, 4.2), sharey=True, layout="constrained")
    for block, axis in zip((8, 32, 128), axes, strict=True):
        _sends(axis, alone, "aware", block, "CUDA-aware Open MPI 5.0.7 alone", COLOURS["library"])
        _sends(axis, tempi, "plain+tempi", block, "TEMPI, Open MPI 4.1.6", COLOURS["tempi"])
        axis.set_title(f"blocks of {block} bytes")
        by_bytes(axis, "payload")
        axis.xaxis.get_major_locator().set_params(numticks=MOST_SIZES)
    _times(axes, "half a round trip (µs)")
    axes[0].plot([], [], "o", **SCALED_DOTS, label=SCALED)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
    title = "MPI_Send and MPI_Recv of a vector (stride 512 bytes) between two H200s"
    describe(figure, title, LOWER, f"bench/results/{tempi}, {alone}")
    save(figure, FIGURES / "send-h200.png")


def _sends(axis: Any, name: str, side: str, block: int, label: str, colour: str) -> None:
    """One line: the median of the launches; hollow where a time is scaled."""
    times: dict[float, list[Row]] = defaultdict(list)
    for row in numbers(name):
        if row["quantity"] == "send" and row["side"] == side and row["block"] == block:
            times[row["payload"]].append(row)
    points = sorted((payload, median(row["median_us"] for row in rows)) for payload, rows in times.items())
    axis.plot(*zip(*points, strict=True), marker="o", markersize=4, color=colour, label=label)
    guessed = [(payload, us) for payload, us in points if not times[payload][0]["repeats"]]
    axis.plot([x for x, _ in guessed], [y for _, y in guessed], "o", **SCALED_DOTS)


def _times(axes: Sequence[Any], label: str) -> None:
    """One logarithmic axis of times for panels that have their curves."""
    ends = [end for axis in axes for end in axis.dataLim.intervaly]
    for axis in axes:
        plain_logarithmic(axis, (min(ends), max(ends)))
    axes[0].set_ylabel(label)


def collectives() -> None:
    """Reductions and broadcasts beside NCCL: a panel an operation."""
    name = "h200/collectives-4gpu-openmpi4.csv"
    rows = numbers(name)
    operations = _in_order(row["operation"] for row in rows)
    size = 3 * len(operations), 3.9
    figure, axes = pyplot.subplots(
        1, len(operations), figsize=size, sharex=True, sharey=True, layout="constrained"
    )
    ways = {"NCCL": ("NCCL", COLOURS["nccl"]), "MPI": ("TEMPI, Open MPI 4.1.6", COLOURS["tempi"])}
    for operation, axis in zip(operations, axes, strict=True):
        for way, (label, colour) in ways.items():
            points = [
                (row["bytes"], row["median_us"])
                for row in rows
                if row["operation"] == operation and row["way"] == way
            ]
            axis.plot(*zip(*points, strict=True), marker="o", markersize=4, color=colour, label=label)
        axis.set_title(f"MPI_{operation}")
        by_bytes(axis, "message")
        axis.set_xticks([8, 8 << 10, 1 << 20, 64 << 20])
    _times(axes, "time (µs)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    describe(figure, "Reductions and broadcasts in GPU memory, four H200s", LOWER, f"bench/results/{name}")
    save(figure, FIGURES / "collectives-h200.png")


def _in_order(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def packs() -> None:
    """Packing and unpacking of 64 MiB by block, beside specialised kernels and a CUDA-aware library."""
    name, stride = "h200/pack-bars-device.csv", 512
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
    for direction, axis in zip(("pack", "unpack"), axes, strict=True):
        rows = [row for row in numbers(name) if row["kind"] == "vector" and row["direction"] == direction]
        rows = [row for row in rows if row["stride"] == stride and round(row["payload"] / 2**20) == 64]
        for side in ("peer_us", "tempi_us", "limit_us"):
            label, colour = PACK_SIDES[side]
            style = {"limit_us": "--", "peer_us": "-"}.get(side, "o-")
            points = sorted((row["block"], row[side]) for row in rows if row[side])
            axis.plot(*zip(*points, strict=True), style, markersize=4, color=colour, label=label)
        _peer_dots(axis, rows)
        axis.set_title(f"MPI_{direction.title()}")
        by_bytes(axis, "block")
    _times(axes, "time (µs)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    title = f"MPI_Pack and MPI_Unpack of a vector of 64 MiB (stride {stride} bytes), one H200"
    describe(figure, title, LOWER, f"bench/results/{name}")
    save(figure, FIGURES / "pack-h200.png")


def _peer_dots(axis: Any, rows: Sequence[Row]) -> None:
    """The times of the library alone: hollow where a time is scaled."""
    dots: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for row in filter(itemgetter("peer_us"), rows):
        dots["peer" in str(row["predicted"] or "").split()].append((row["block"], row["peer_us"]))
    for is_scaled, style in ((False, MEASURED_DOTS), (True, SCALED_DOTS | {"label": SCALED})):
        axis.plot([x for x, _ in dots[is_scaled]], [y for _, y in dots[is_scaled]], "o", **style)


def model() -> None:
    """The measurements and fits of the shipped profile."""
    plots.draw(read(PROFILE), FIGURES / "model-h200.png")


if __name__ == "__main__":
    for draw in (halos, sends, collectives, packs, model):
        draw()
