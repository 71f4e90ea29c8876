"""The ghost cells of a local array, and the own cells that a neighbour wants. No MPI here.

A dimension of an array with widths (2, 1), the low one first::

    ghost ghost | own own ... own own | ghost
    └─ low = 2 ─┘                     └ high = 1 ┘

The cells for the low neighbour are as wide as *its* high ghost cells, so 1; those for the high one 2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from tempi.halo.process_grid import Direction, Neighbours, ProcessGrid, directions, opposite

_WRONG_WIDTH = "width is {!r}; it must be an int, or each of its entries must be an int or (low, high)"
Width = tuple[int, int]  # (low, high), cells
Region = tuple[slice, ...]
Regions = dict[int, list[Region]]  # by the rank at the other end, in the order in which a message has them


def _is_int(told: object) -> bool:
    return isinstance(told, (int, np.integer)) and not isinstance(told, bool)


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
    each: list[Any] = [width] * n_dims if _is_int(width) else _entries(width, width)
    if len(each) != n_dims:
        raise ValueError(
            f"width is {width!r}; it must be one number, or have an entry for each of {n_dims} dimensions"
        )
    found = tuple(_pair(entry, width) for entry in each)
    if min(min(pair) for pair in found) < 0:
        raise ValueError(f"width is {width!r}; no side can have fewer than 0 ghost cells")
    return found


def _pair(entry: Any, width: object) -> Width:
    sides = [entry, entry] if _is_int(entry) else _entries(entry, width)
    if len(sides) != 2 or not all(map(_is_int, sides)):
        raise TypeError(_WRONG_WIDTH.format(width))
    return int(sides[0]), int(sides[1])


def _entries(told: Any, width: object) -> list[Any]:
    try:
        return list(told)
    except TypeError:
        raise TypeError(_WRONG_WIDTH.format(width)) from None


def own_shape(shape: Sequence[int], widths: Sequence[Width]) -> tuple[int, ...]:
    """Cells of an array of `shape` without its ghost cells."""
    return tuple(n - low - high for n, (low, high) in zip(shape, widths, strict=True))


def own_region(shape: Sequence[int], widths: Sequence[Width]) -> Region:
    """The region of the cells that are not ghost cells."""
    return tuple(slice(low, n - high) for n, (low, high) in zip(shape, widths, strict=True))


def ghost_region(shape: Sequence[int], widths: Sequence[Width], direction: Direction) -> Region:
    """The ghost cells that the neighbour in `direction` owns; with a width of 0 there are none."""
    return tuple(
        {-1: slice(0, low), 0: slice(low, n - high), 1: slice(n - high, n)}[step]
        for n, (low, high), step in zip(shape, widths, direction, strict=True)
    )


def sent_region(shape: Sequence[int], widths: Sequence[Width], direction: Direction) -> Region:
    """The own cells that are ghost cells of the neighbour in `direction`."""
    theirs = ghost_region(shape, widths, opposite(direction))  # mine, one block away
    steps = [step * n for step, n in zip(direction, own_shape(shape, widths), strict=True)]
    return tuple(slice(part.start + step, part.stop + step) for part, step in zip(theirs, steps, strict=True))


def exchanged_regions(
    grid: ProcessGrid, rank: int, shape: Sequence[int], widths: Sequence[Width], neighbours: Neighbours
) -> tuple[Regions, Regions]:
    """The regions that a rank sends to and receives from each rank, which may be itself.

    Parameters
    ----------
    shape : sequence of int
        Of the rank's array, with ghost cells.

    Returns
    -------
    sent, received : dict
        Regions by rank. Both ends list the regions by the direction from sender to receiver.
    """
    sent: Regions = defaultdict(list)
    received: Regions = defaultdict(list)
    for direction in directions(grid.n_dims, neighbours):
        back = opposite(direction)
        if any(part.start == part.stop for part in ghost_region(shape, widths, back)):
            continue
        if (target := grid.neighbour(rank, direction)) is not None:
            sent[target].append(sent_region(shape, widths, direction))
        if (source := grid.neighbour(rank, back)) is not None:
            received[source].append(ghost_region(shape, widths, back))
    return sent, received


def check_room(grid: ProcessGrid, own: Sequence[int], widths: Sequence[Width]) -> None:
    """Check that a rank owns all cells that its neighbours want: ghost cells come from the nearest one only.

    Raises
    ------
    ValueError
        If a dimension has no own cells, or fewer than the neighbours' ghost cells.
    """
    for dimension, (n, pair) in enumerate(zip(own, widths, strict=True)):
        needed = max(1, *pair) if grid.exchanges(dimension) else 1
        if n < needed:
            raise ValueError(
                f"dimension {dimension} has {n} own cells a rank, but ghost widths (low, high) of {pair} "
                f"need at least {needed}: use fewer ranks along it (dims is {grid.dims}), a larger grid or "
                "narrower ghosts"
            )
