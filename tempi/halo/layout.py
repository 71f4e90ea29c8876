"""The points of a local array along each dimension, and the ranks that may own them. No MPI here.

A rank's block has n cells in a dimension. An array with the stagger 0 has a point in each cell. An array with
the stagger 1 has a point at each border of a cell: n + 1 points, such as the velocities on the faces of the
cells. Two blocks that touch both have the points between them: they are the points n of one block, and the
points 0 of the next one. The next one owns them. At a periodic border it is the first block. A block without
a next block owns its points n: there is none at a border that is not periodic, or a mask leaves it out.

A dimension with ghost widths (2, 1) and stagger 1 has five parts. The steps lead to the blocks that may own
them, the first existing one does::

    point    -2  -1 |   0   | 1 .. n-1 |   n   | n+1
    part        0   |   1   |    2     |   3   |  4
    steps      -1   | 0, -1 |    0     | 1, 0  |  1

With stagger 0 there are three parts: low ghost cells, own cells, high ghost cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tempi.halo.ghosts import Region, Width
from tempi.halo.process_grid import Direction

_STEPS: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((-1,), (0,), (1,)),
    ((-1,), (0, -1), (0,), (1, 0), (1,)),
)
# The part of the block at a step that has the points of a part, by stagger and step.
_SEEN_FROM: tuple[dict[int, tuple[int, ...]], ...] = (
    {-1: (1, -1, -1), 0: (0, 1, 2), 1: (-1, -1, 1)},
    {-1: (2, 3, -1, -1, -1), 0: (0, 1, 2, 3, 4), 1: (-1, -1, -1, 1, 2)},
)
Parts = tuple[int, ...]  # one part of each dimension
Box = tuple[tuple[int, int], ...]  # the first and the last part in each dimension


@dataclass(frozen=True)
class Layout:
    """Ghost cells and staggering of an array.

    Attributes
    ----------
    widths : tuple of Width
        Ghost points (low, high) in each dimension.
    stagger : tuple of int
        0 or 1 in each dimension.
    """

    widths: tuple[Width, ...]
    stagger: tuple[int, ...]

    def cells(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The cells of the block whose points are an array of `shape`."""
        return tuple(
            n - low - high - extra
            for n, (low, high), extra in zip(shape, self.widths, self.stagger, strict=True)
        )

    def steps(self, dimension: int) -> tuple[tuple[int, ...], ...]:
        """For each part: the steps to the blocks that may own it, the preferred block first."""
        return _STEPS[self.stagger[dimension]]

    def parts(self, dimension: int) -> list[int]:
        """The parts that have points."""
        low, high = self.widths[dimension]
        every = range(len(self.steps(dimension)))
        return [part for part in every if (part > 0 or low) and (part < every[-1] or high)]

    def seen_from(self, parts: Parts, direction: Direction) -> Parts:
        """The parts of the block in `direction` that have these points."""
        return tuple(
            _SEEN_FROM[extra][step][part]
            for part, step, extra in zip(parts, direction, self.stagger, strict=True)
        )

    def region(self, box: Box, cells: Sequence[int], direction: Direction | None = None) -> Region:
        """The points of a box in a local array.

        Parameters
        ----------
        cells : sequence of int
            Of the block that has the array.
        direction : Direction, optional
            The box is one of another rank's array, and the array's block lies there in this direction.
        """
        found = []
        for dimension, ((first, last), n) in enumerate(zip(box, cells, strict=True)):
            bounds = self._bounds(dimension, n)
            shift = self.widths[dimension][0] - (direction[dimension] * n if direction else 0)
            found.append(slice(bounds[first] + shift, bounds[last + 1] + shift))
        return tuple(found)

    def _bounds(self, dimension: int, n: int) -> tuple[int, ...]:
        low, high = self.widths[dimension]
        if self.stagger[dimension]:
            return (-low, 0, 1, n, n + 1, n + 1 + high)
        return (-low, 0, n, n + high)
