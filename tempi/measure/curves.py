"""The content of a profile's plot: the groups of terms, and the layouts of each term that get a curve."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

from tempi.model.measurement import Measurement

BY_PARTS = "chunks"  # drawn over the number of parts, not the payload
GROUPS = {
    "Messages": ("message.host.", "message.device.", "message.direct."),
    "Packing of GPU memory": ("pack.device", "pack.oneshot", "pack.staged"),
    "Packing of host memory": ("pack.host", "pack.library"),
    "Derived datatypes in host memory": (".typed.", ".indexed."),
    "Chunks of the strategy staged, and reductions": (BY_PARTS, "reduce."),
}
SHOWN_BLOCKS = (8, 64, 512)  # bytes; stride: twice the block. All terms of derived datatypes have these
OF_CONTIGUOUS = "#1f4e79"
COLOURS = ("#c00000", "#e8853a", "#4b8b3b", "#7b3fa0")  # of SHOWN_BLOCKS, or of other layouts in turn
MOST_CURVES = len(COLOURS)


@dataclass(frozen=True)
class Curve:
    """The measurements of one layout, in the order of their sizes."""

    name: str
    colour: str
    rows: tuple[Measurement, ...]


def group_of(term: str) -> str:
    """The heading of the panels that a term belongs to."""
    headings = [name for name, parts in GROUPS.items() if any(part in term for part in parts)]
    return headings[-1] if headings else "Other"  # the last one is the most specific


def groups_of(tables: Mapping[str, list[Measurement]]) -> dict[str, dict[str, list[Measurement]]]:
    """The tables by group, in the order of `GROUPS`; packing before unpacking."""
    found: dict[str, dict[str, list[Measurement]]] = {}
    for heading in (*GROUPS, "Other"):
        members = [name for name in tables if group_of(name) == heading]
        if members:
            members.sort(key=lambda name: name.startswith("unpack."))  # stable
            found[heading] = {name: tables[name] for name in members}
    return found


def abscissa_of(rows: Sequence[Measurement]) -> str:
    """The feature that a term is drawn over."""
    return "blocks" if rows[0].term == BY_PARTS else "bytes"


def name_of(row: Measurement) -> str:
    """The layout's name at its curve."""
    if row.term == BY_PARTS:
        return f"{row.bytes >> 20} MiB"
    if row.block == row.stride or not row.blocks:
        return "contiguous"
    return f"{row.block} of {row.stride} B"


def is_shown(row: Measurement) -> bool:
    """True if the layout has a curve in every panel that has such measurements."""
    is_simple = row.block in SHOWN_BLOCKS and row.stride == 2 * row.block
    return row.term == BY_PARTS or name_of(row) == "contiguous" or is_simple


def curves_of(rows: Sequence[Measurement]) -> list[Curve]:
    """A curve for each shown layout, contiguous ones first, then by block; of any layout if none is shown."""
    simple = [row for row in rows if row.planes * row.boxes == 1]
    named: dict[str, list[Measurement]] = defaultdict(list)
    for row in list(filter(is_shown, simple)) or simple:
        named[name_of(row)].append(row)
    names = sorted(named, key=lambda name: (name != "contiguous", named[name][0].block, named[name][0].bytes))
    abscissa = abscissa_of(rows)
    return [
        Curve(name, _colour(named[name][0], i), tuple(sorted(named[name], key=attrgetter(abscissa))))
        for i, name in enumerate(names[:MOST_CURVES])
    ]


def _colour(row: Measurement, number: int) -> str:
    """The colour of a shown layout is the same in all panels."""
    if name_of(row) == "contiguous":
        return OF_CONTIGUOUS
    is_known = is_shown(row) and row.block in SHOWN_BLOCKS and row.term != BY_PARTS
    return COLOURS[SHOWN_BLOCKS.index(row.block) if is_known else number]


def spread(heights: Sequence[float], distance: float) -> list[float]:
    """The heights, moved as little as needed to be at least `distance` apart, in the same order.

    Labels that are nearer overlap. They are moved down from the highest one, then up from the lowest one.
    """
    order = sorted(range(len(heights)), key=lambda i: heights[i], reverse=True)
    found = list(heights)
    for above, below in pairwise(order):
        found[below] = min(found[below], found[above] - distance)
    if order and found[order[-1]] < 0:
        found[order[-1]] = 0.0
        for below, above in pairwise(order[::-1]):
            found[above] = max(found[above], found[below] + distance)
    return found
