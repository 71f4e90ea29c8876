"""The widths of the ghost cells of a local array. No MPI here.

A dimension of an array with widths (2, 1), the low one first::

    ghost ghost | own own ... own own | ghost
    └─ low = 2 ─┘                     └ high = 1 ┘

The cells for the low neighbour are as wide as *its* high ghost cells, so 1; those for the high one 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tempi._arguments import integer, length_of, shown, wrong
from tempi.halo.process_grid import Topology

Width = tuple[int, int]  # (low, high), cells
MOST_GHOSTS = 2**31 - 1  # on a side
Region = tuple[slice, ...]


def widths_of(width: int | Sequence[int | Sequence[int]], n_dims: int) -> tuple[Width, ...]:
    """One (low, high) for each dimension.

    Parameters
    ----------
    width : int or sequence of (int or pair of int)
        One for all sides, or for each dimension one for both sides or (low, high).

    Raises
    ------
    TypeError
        If it is none of these.
    ValueError
        If there are not `n_dims` entries, or one is negative.
    """
    each: list[Any] = [width] * n_dims if length_of(width) is None else list(width)  # type: ignore[arg-type]
    if len(each) != n_dims:
        raise ValueError(
            f"width is {width!r}; it must be one number, or have an entry for each of {n_dims} dimensions"
        )
    found = tuple(_pair(entry, width) for entry in each)
    if min(min(pair) for pair in found) < 0:
        raise ValueError(f"width is {width!r}; no side can have fewer than 0 ghost cells")
    if max(max(pair) for pair in found) > MOST_GHOSTS:
        raise ValueError(f"width is {shown(width)}; a side can have at most {MOST_GHOSTS:,} ghost cells")
    return found


def _pair(entry: Any, width: object) -> Width:
    try:
        low, high = [entry, entry] if length_of(entry) is None else entry
        return integer("width", low), integer("width", high)
    except (TypeError, ValueError):  # ValueError: not two sides
        expected = "an int, or each of its entries must be an int or (low, high)"
        raise wrong("width", width, expected) from None


def check_room(
    grid: Topology, own: Sequence[int], widths: Sequence[Width], stagger: Sequence[int] | None = None
) -> None:
    """Check that a rank owns all cells that its neighbours need. Only the nearest rank fills ghost cells.

    Raises
    ------
    ValueError
        If a dimension has no own cells, or fewer than the neighbours' ghost cells.
    """
    each = zip(own, widths, stagger or (0,) * len(own), strict=True)
    for dimension, (n, pair, extra) in enumerate(each):
        needed = max(1, max(pair) + extra) if grid.exchanges(dimension) else 1
        if n < needed:
            raise ValueError(
                f"dimension {dimension} has {n if n > 0 else 'no'} own cells a rank, but ghost widths (low, "
                f"high) of {pair} {'and a point at each border of a cell ' if extra else ''}need at least "
                f"{needed}: use fewer ranks along it (now a {grid.summary}), a larger grid or narrower ghosts"
            )
