"""A halo exchange in words: its grid, and for each neighbouring rank the bytes and the way of its message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tempi import _html
from tempi._words import counted
from tempi.arrays.array_view import ArrayView
from tempi.halo.messages import CellsByRank
from tempi.halo.process_grid import Topology
from tempi.halo.setup import Wish

MEMORY = {False: "host memory", True: "GPU memory"}


class Traffic(NamedTuple):
    """Bytes to and from a rank in each exchange."""

    sent: int
    received: int


def traffic_of(sent: CellsByRank, received: CellsByRank) -> dict[int, Traffic]:
    """By rank, in the order of ranks."""

    def n_bytes(cells: CellsByRank, rank: int) -> int:
        return sum(region.n_bytes for region in cells.get(rank, ()))

    return {
        rank: Traffic(n_bytes(sent, rank), n_bytes(received, rank)) for rank in sorted({*sent, *received})
    }


def about(grid: Topology, wish: Wish, memory: str) -> str:
    """Grid, ghost cells and arrays, and the kind of memory that the arrays are in."""
    cells = " x ".join(map(str, wish.own))
    arrays = counted(len(wish.arrays), "array")
    widths = {layout.widths: None for layout in wish.layouts}  # each one once, in the order of the arrays
    ghosts = " and ".join(map(str, widths))
    return f"{grid.summary}, {cells} cells a rank, {arrays} in {memory}, ghost cells (low, high) {ghosts}"


def memory_of(views: Iterable[ArrayView]) -> str:
    """The kind of memory that arrays are in."""
    on_gpu = {view.on_gpu for view in views}
    return " and ".join(name for is_gpu, name in MEMORY.items() if is_gpu in on_gpu)


def summary(traffic: Mapping[int, Traffic], ways: Mapping[int, str]) -> str:
    """All messages of this rank in one line, with the number of neighbours that each way is for."""
    neighbours = counted(len(traffic), "neighbour")
    sent, received = (sum(each) for each in zip(*traffic.values(), strict=True)) if traffic else (0, 0)
    each = "; ".join(f"{n} x {way}" for way, n in Counter(ways.values()).items())
    return f"{neighbours}, {counted(sent, 'byte')} sent, {received:,} received{each and f' ({each})'}"


def table(title: object, traffic: Mapping[int, Traffic], ways: Mapping[int, str]) -> str:
    """A row for each neighbouring rank, as HTML."""
    rows = [(rank, *each, ways.get(rank, "-")) for rank, each in traffic.items()]
    return _html.table(repr(title).strip("<>"), ("rank", "bytes sent", "bytes received", "way"), rows)
