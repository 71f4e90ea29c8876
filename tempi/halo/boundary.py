"""The faces of a rank's block that have no neighbour, for the program's boundary conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

from tempi._arguments import integer
from tempi.halo.layout import Layout, Parts
from tempi.halo.process_grid import Neighbours, Topology, directions
from tempi.halo.regions import merged, received_parts

Side = Literal["low", "high"]
Index = tuple[slice, ...]


@dataclass(frozen=True, eq=False)
class Face:
    """A face of an array that has no rank beyond it: the argument of `boundary` of a `HaloExchange`.

    Attributes
    ----------
    array : array
        The array that was passed to the exchange.
    number : int
        Index of the array among the arrays of the exchange.
    dimension : int
        The dimension of the grid across which the face lies.
    axis : int
        The axis of the array that is this dimension.
    side : {"low", "high"}
        The end of the dimension.
    ghost : tuple of slice
        The ghost cells of the face: ``face.array[face.ghost]``. They include the ghost cells at edges and
        corners that no message fills. Empty if the array has no ghost cells on this side.

    Examples
    --------
    >>> def boundary(face):
    ...     if face.side == "low":
    ...         face.array[face.ghost] = 1  # a fixed value
    ...     else:
    ...         face.array[face.ghost] = face.array[face.layer(0)]  # no gradient
    """

    array: Any
    number: int
    dimension: int
    axis: int
    side: Side
    ghost: Index
    _outermost: int = field(repr=False)  # the own layer beside the ghost cells, by its index along `axis`
    _n: int = field(repr=False)  # points along `axis`

    def layer(self, number: int) -> Index:
        """The index of one layer of the array: parallel to the face, with the extent of `ghost` along it.

        Parameters
        ----------
        number : int
            0 is the outermost layer of own cells, 1 the next one inside; -1 is the innermost layer of ghost
            cells, -2 the next one outside.

        Returns
        -------
        tuple of slice
            An index of the array. The layer has the length 1 along `axis`.

        Raises
        ------
        TypeError
            If `number` is not an integer.
        IndexError
            If the array has no such layer.
        """
        number = integer("number", number)
        at = self._outermost + (number if self.side == "low" else -number)
        if not 0 <= at < self._n:
            raise IndexError(f"layer {number}: the array has {self._n} layers along axis {self.axis}")
        return (*self.ghost[: self.axis], slice(at, at + 1), *self.ghost[self.axis + 1 :])


Boundary = Callable[[Face], object]


@dataclass(frozen=True)
class Sheet:
    """An array of the exchange, and how its axes are those of the grid."""

    array: object
    layout: Layout
    axes: tuple[int, ...]
    shape: tuple[int, ...]  # of all axes


def faces_of(
    grid: Topology, rank: int, sheets: Sequence[Sheet], cells: Sequence[int], neighbours: Neighbours
) -> list[Face]:
    """The faces without a neighbour: by dimension, the low side first, of each array in turn.

    Later faces fill the ghost cells at edges and corners that earlier ones have, too.
    """
    filled = [_filled(grid, rank, sheet.layout, neighbours) for sheet in sheets]
    found: list[Face] = []
    for dimension, (step, side) in product(range(grid.n_dims), ((-1, "low"), (1, "high"))):
        direction = tuple(step if d == dimension else 0 for d in range(grid.n_dims))
        if grid.neighbour(rank, direction) is None:
            for number, (sheet, skip) in enumerate(zip(sheets, filled, strict=True)):
                found += _faces(number, sheet, cells, dimension, side, skip)  # type: ignore[arg-type]
    return found


def _filled(grid: Topology, rank: int, layout: Layout, neighbours: Neighbours) -> set[Parts]:
    """The parts of an array that messages fill."""
    return {
        parts
        for direction in directions(grid.n_dims, neighbours)
        for parts in received_parts(grid, rank, layout, direction)
    }


def _faces(
    number: int, sheet: Sheet, cells: Sequence[int], dimension: int, side: Side, filled: set[Parts]
) -> Iterator[Face]:
    """One face, if messages fill no part of it."""
    layout, axis = sheet.layout, sheet.axes[dimension]
    (low, high), n = layout.widths[dimension], sheet.shape[axis]
    across = [0 if side == "low" else len(layout.steps(dimension)) - 1]
    every = product(*(across if d == dimension else layout.parts(d) for d in range(len(cells))))
    for box in merged(parts for parts in every if parts not in filled):
        ghost = [slice(None)] * len(sheet.shape)
        for its_axis, part in zip(sheet.axes, layout.region(box, cells), strict=True):
            ghost[its_axis] = part
        outermost = low if side == "low" else n - high - 1
        yield Face(sheet.array, number, dimension, axis, side, tuple(ghost), outermost, n)
