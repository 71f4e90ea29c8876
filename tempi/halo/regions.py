"""The regions of local arrays that ranks send to and receive from each other. No MPI here.

The receiver decides: it gets each point from the block that owns it. Both ends compute this from the
neighbours of the receiver, so that they list the same regions in the same order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from tempi.halo.ghosts import Region
from tempi.halo.layout import Box, Layout, Parts
from tempi.halo.process_grid import Direction, Neighbours, Topology, directions, opposite

Regions = dict[int, list[tuple[int, Region]]]  # by rank at the other end: number of the array, and region


def exchanged_regions(
    grid: Topology, rank: int, layouts: Sequence[Layout], cells: Sequence[int], neighbours: Neighbours
) -> tuple[Regions, Regions]:
    """The regions that a rank sends to and receives from each rank, which may be itself.

    Parameters
    ----------
    layouts : sequence of Layout
        Of each array.
    cells : sequence of int
        Of the rank's block.

    Returns
    -------
    sent, received : dict
        Both ends list the regions by the direction from sender to receiver, then array by array.
    """
    sent: Regions = defaultdict(list)
    received: Regions = defaultdict(list)
    for direction in directions(grid.n_dims, neighbours):
        back = opposite(direction)
        target, source = grid.neighbour(rank, direction), grid.neighbour(rank, back)
        for i, layout in enumerate(layouts):
            if target is not None:
                boxes = merged(received_parts(grid, target, layout, back))
                sent[target] += [(i, layout.region(box, cells, back)) for box in boxes]
            if source is not None:
                boxes = merged(received_parts(grid, rank, layout, back))
                received[source] += [(i, layout.region(box, cells)) for box in boxes]
    return dict(sent), dict(received)


def received_parts(grid: Topology, rank: int, layout: Layout, direction: Direction) -> Iterator[Parts]:
    """The parts of a rank's array that it gets from the block in a direction, where it has a neighbour.

    A block sends only what it owns itself: ranks that list some of their neighbours only may disagree.
    """
    source = grid.neighbour(rank, direction)
    if source is None:
        return
    none = (0,) * grid.n_dims
    for parts in _parts_at(layout, direction):
        seen = layout.seen_from(parts, direction)
        if owner(grid, rank, layout, parts) == direction and owner(grid, source, layout, seen) == none:
            yield parts


def owner(grid: Topology, rank: int, layout: Layout, parts: Parts) -> Direction | None:
    """The direction of the block that owns parts of a rank's array; None if there is none."""
    # The largest direction comes first: all ranks that have the points prefer the same block.
    for direction in product(*(layout.steps(dimension)[part] for dimension, part in enumerate(parts))):
        if not any(direction) or grid.neighbour(rank, direction) is not None:
            return direction
    return None


def _parts_at(layout: Layout, direction: Direction) -> Iterator[Parts]:
    """The parts that the block in a direction may own."""
    return product(
        *(
            [part for part in layout.parts(dimension) if step in layout.steps(dimension)[part]]
            for dimension, step in enumerate(direction)
        )
    )


def merged(every: Iterable[Parts]) -> list[Box]:
    """The parts as few boxes: neighbours are joined along each dimension in turn."""
    boxes: list[Box] = [tuple((part, part) for part in parts) for parts in every]
    for dimension in range(len(boxes[0]) if boxes else 0):
        boxes.sort(key=lambda box: (box[:dimension], box[dimension + 1 :], box[dimension]))
        joined: list[Box] = []
        for box in boxes:
            if joined and _continues(joined[-1], box, dimension):
                first, last = joined.pop()[dimension][0], box[dimension][1]
                box = (*box[:dimension], (first, last), *box[dimension + 1 :])
            joined.append(box)
        boxes = joined
    return boxes


def _continues(one: Box, other: Box, dimension: int) -> bool:
    """True if `other` begins where `one` ends."""
    beside = (*range(dimension), *range(dimension + 1, len(one)))
    return all(one[d] == other[d] for d in beside) and one[dimension][1] + 1 == other[dimension][0]
