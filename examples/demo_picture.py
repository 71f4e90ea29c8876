"""The demo's picture: how many times as fast as the MPI library alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.common.figures import HALO_WAYS
from examples.demo_halo import Halo
from examples.demo_pack import Pack
from examples.demo_table import Ratio
from tempi.figures import check_drawable, for_bars, save

OURS = HALO_WAYS["halo"][1]


def draw(console: Console, packs: Sequence[Pack], halo: Halo, path: Path) -> None:
    """Draw it into `path`, and print where it is; without matplotlib print how to get it."""
    try:
        plt = check_drawable(path)
        left_out = _draw(plt, packs, halo, path)
    except RuntimeError as error:
        console.print(f"[yellow]no picture: {error}[/yellow]")
        return
    console.print(f"\n[bold]Picture[/bold]  {path.absolute()}", soft_wrap=True)
    for title in left_out:
        console.print(f"[yellow]not in the picture: {title}. Its table has no ratio[/yellow]", soft_wrap=True)


def _draw(plt: Any, packs: Sequence[Pack], halo: Halo, path: Path) -> list[str]:
    """Draw a panel for each table with a ratio; the titles of the others."""
    memory = "GPU" if halo.memory == "gpu" else "host"
    packed = [(pack.words, pack.packing, OURS) for pack in packs]
    ways = [(words, halo.ratio(way), HALO_WAYS[way][1]) for way, words in halo.words.items()]
    tables = [
        (packed, "MPI_Pack and MPI_Unpack with TEMPI"),
        (ways, f"3-D halo exchange, {memory} memory"),
    ]
    panels = [(rows, title) for rows, title in tables if any(ratio.times for _, ratio, _ in rows)]
    if not panels:
        raise RuntimeError("no row of the tables has a ratio")
    figure, axes = plt.subplots(
        1, len(panels), figsize=(6.5 * len(panels), 4), layout="constrained", squeeze=False
    )
    for axis, (rows, title) in zip(axes[0], panels, strict=True):
        _bars(axis, rows, title)
    figure.suptitle("Times as fast as the MPI library alone: more is better", fontsize=12)
    save(figure, path)
    return [title for rows, title in tables if (rows, title) not in panels]


def _bars(axis: Any, rows: Sequence[tuple[str, Ratio, str]], title: str) -> None:
    """A bar a row, the first on top; a row without a quotient has none."""
    labels = [words.replace(": ", ":\n") for words, _, _ in rows]
    is_logarithmic = for_bars(axis, [1.0, *(ratio.times or 0.0 for _, ratio, _ in rows)], room=0.15)
    least = axis.get_xlim()[0] if is_logarithmic else 0.0
    drawn = axis.barh(
        labels, [ratio.times or least for _, ratio, _ in rows], color=[colour for _, _, colour in rows]
    )
    texts = [f"{ratio.times:,.1f} x" if ratio.times else ratio.why_none for _, ratio, _ in rows]
    axis.bar_label(drawn, texts, padding=3)
    axis.axvline(1, color="black", linewidth=0.8, linestyle="--")
    axis.set_xlabel("times as fast" + ", logarithmic scale" * is_logarithmic)
    axis.set_title(title, fontsize=11)
    axis.invert_yaxis()
    axis.spines[["top", "right"]].set_visible(False)
