"""The arguments of HaloExchange, checked on each rank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

import numpy as np
from mpi4py import MPI
from numpy.typing import ArrayLike

from tempi._arguments import integers, wrong
from tempi._words import counted
from tempi.arrays.array_view import ArrayView, describe
from tempi.halo.block_graph import Links, links_of
from tempi.halo.boundary import Boundary
from tempi.halo.cells import Axes, CellKind, check_apart, check_reach, find_axes, find_cells, name_of
from tempi.halo.dimensions import dimensions_of
from tempi.halo.field import Field, Widths
from tempi.halo.ghosts import check_room
from tempi.halo.layout import Layout
from tempi.halo.process_grid import (
    Direction,
    Neighbours,
    ProcessGrid,
    directions,
    flags_of,
    places_of,
)
from tempi.halo.region_types import Strided, Walk


@dataclass(frozen=True)
class Wish:
    """The exchange that one rank wants, for the other ranks to compare.

    Attributes
    ----------
    grid : ProcessGrid or Links
        The grid of ranks without its mask, or the neighbours that this rank lists.
    mask : str
        `ProcessGrid.mask_name`. The mask itself would take memory for each pair of a rank and a place.
    neighbours : Neighbours
        "all" where the rank lists its neighbours.
    own : tuple of int
        The grid's cells on this rank, without ghost cells.
    layouts : tuple of Layout
        Of each array.
    arrays : tuple of CellKind
        Of each array.
    walks : tuple of Walk
        The order of cells in messages that suits each of this rank's arrays.
    """

    grid: ProcessGrid | Links
    mask: str
    neighbours: Neighbours
    own: tuple[int, ...]
    layouts: tuple[Layout, ...]
    arrays: tuple[CellKind, ...]
    walks: tuple[Walk, ...]

    @property
    def n_dims(self) -> int:
        """The number of dimensions."""
        return len(self.own)


class Found(NamedTuple):
    """An array of this rank, also as cells with the axes of the grid first."""

    cells: Strided
    view: ArrayView
    axes: tuple[int, ...]  # from 0; those of the grid


@dataclass(frozen=True)
class Arguments:
    """The arguments of HaloExchange, as they were given."""

    fields: Sequence[Field]
    width: Widths
    periods: bool | Sequence[bool] | None
    dims: Sequence[int] | None
    neighbours: Neighbours | Mapping[Direction, int]
    axes: Axes | None
    mask: ArrayLike | None
    boundary: Boundary | None

    def find(self, comm: MPI.Comm) -> tuple[Wish, tuple[ProcessGrid | None, list[Found]]]:
        """The wish of this rank; its grid of ranks, None if it lists its neighbours; and its arrays.

        Raises
        ------
        TypeError, ValueError
            If something does not fit together.
        RuntimeError
            As `check_reach` says.
        """
        if not self.fields:
            raise ValueError("there are no arrays to exchange: give at least one")
        if self.boundary is not None and not callable(self.boundary):
            raise wrong("boundary", self.boundary, "a function of a Face")
        views = self._views()
        n_dims = dimensions_of(comm, self, [len(view.shape) for view in views])
        grid = self._grid(comm, n_dims)
        wish, found = self._wish(grid, n_dims, views)
        return wish, (grid if isinstance(grid, ProcessGrid) else None, found)

    def find_again(self, arrays: Sequence[object], wish: Wish) -> tuple[list[Field], list[Found]]:
        """Other arrays for the same exchange: as fields, and described.

        Raises
        ------
        TypeError, ValueError
            If an array is not as the first one at its place.
        RuntimeError
            As `check_reach` says.
        """
        if len(arrays) != len(self.fields):
            raise ValueError(f"the exchange has {counted(len(self.fields), 'array')}, not {len(arrays)}")
        fields = [
            new if isinstance(new, Field) else replace(old, array=new)
            for old, new in zip(self.fields, arrays, strict=True)
        ]
        new = replace(self, fields=fields)
        mine, found = new._wish(wish.grid, wish.n_dims, new._views())
        for name, here, there in (
            ("own cells", mine.own, wish.own),
            ("ghost widths and stagger", mine.layouts, wish.layouts),
            ("dtypes", *([kind.dtype for kind in one.arrays] for one in (mine, wish))),
            ("further axes", *([kind.further for kind in one.arrays] for one in (mine, wish))),
        ):
            if here != there:
                raise ValueError(
                    f"the arrays differ from those of the exchange: {name} {here} instead of {there}"
                )
        return fields, found

    def without_arrays(self) -> Arguments:
        """The other arguments."""
        return replace(self, fields=[replace(field, array=None) for field in self.fields])

    def _views(self) -> list[ArrayView]:
        views = [describe(field.array, f"array {i}") for i, field in enumerate(self.fields)]
        check_reach(views)
        return views

    def _grid(self, comm: MPI.Comm, n_dims: int) -> ProcessGrid | Links:
        """The grid of a Cartesian communicator, of the arguments, or the listed neighbours."""
        if comm.Is_inter():
            raise ValueError(
                "the communicator is an intercommunicator; its Merge() makes one group of its ranks"
            )
        if isinstance(self.neighbours, Mapping):
            return self._links(comm, n_dims)
        list(directions(n_dims, self.neighbours))  # raises if `neighbours` is invalid
        periods = None if self.periods is None else flags_of("periods", self.periods, n_dims)
        dims = None if self.dims is None else integers("dims", self.dims)
        if isinstance(comm, MPI.Cartcomm):
            return self._of_cartesian(comm, dims, periods)
        periods = (False,) * n_dims if periods is None else periods
        if self.mask is not None:
            dims = np.shape(self.mask) if dims is None else dims
            grid = ProcessGrid(dims, periods, places_of(self.mask, dims))
        else:
            grid = ProcessGrid(filled_dims(comm.size, (0,) * n_dims if dims is None else dims), periods)
        if grid.size != comm.size:
            told = f"dims {grid.dims} are" if self.mask is None else "the places of mask are"
            raise ValueError(f"{told} for {counted(grid.size, 'rank')}; the communicator has {comm.size}")
        return grid

    def _of_cartesian(
        self, comm: MPI.Cartcomm, dims: tuple[int, ...] | None, periods: tuple[bool, ...] | None
    ) -> ProcessGrid:
        found = ProcessGrid(tuple(comm.dims), tuple(map(bool, comm.periods)))
        if dims not in (None, found.dims) or periods not in (None, found.periods) or self.mask is not None:
            raise ValueError(f"the Cartesian communicator has {found}; leave dims, periods and mask out")
        return found

    def _links(self, comm: MPI.Comm, n_dims: int) -> Links:
        assert isinstance(self.neighbours, Mapping)
        if isinstance(comm, MPI.Cartcomm) or any(
            told is not None for told in (self.dims, self.periods, self.mask)
        ):
            raise ValueError(
                "neighbours lists the ranks beside this one: leave dims, periods and mask out, and pass a "
                "communicator that is not Cartesian"
            )
        return links_of(self.neighbours, n_dims, comm.size)

    def _found(self, views: Sequence[ArrayView], n_dims: int) -> Iterator[Found]:
        every = find_axes(self.axes, n_dims, len(views))
        for i, (field, view, axes) in enumerate(zip(self.fields, views, every, strict=True)):
            own = axes if field.axes is None else find_axes(field.axes, n_dims, 1)[0]
            cells = find_cells(view, own, f"array {i}", field.write_read_only)
            yield Found(cells, view, tuple(axis % len(view.shape) for axis in own))

    def _wish(
        self, grid: ProcessGrid | Links, n_dims: int, views: Sequence[ArrayView]
    ) -> tuple[Wish, list[Found]]:
        found = list(self._found(views, n_dims))
        check_apart([one.cells for one in found])
        layouts = tuple(field.layout(self.width, n_dims) for field in self.fields)
        shapes = [one.cells.shape[:n_dims] for one in found]
        own = [layout.cells(shape) for layout, shape in zip(layouts, shapes, strict=True)]
        check_equal(own, layouts, shapes)
        mask = "no mask"
        if isinstance(grid, ProcessGrid):
            for layout in layouts:
                check_room(grid, own[0], layout.widths, layout.stagger)
            grid, mask = replace(grid, places=None), grid.mask_name
        kinds = tuple(CellKind(name_of(one.view.dtype), one.cells.shape[n_dims:]) for one in found)
        neighbours: Neighbours = "faces" if self.neighbours == "faces" else "all"
        walks = tuple(one.cells.fastest_walk() for one in found)
        return Wish(grid, mask, neighbours, own[0], layouts, kinds, walks), found


def check_equal(
    own: Sequence[tuple[int, ...]], layouts: Sequence[Layout], shapes: Sequence[tuple[int, ...]]
) -> None:
    """Check that all arrays are of the same block of cells; ValueError if not."""
    for i, cells in enumerate(own):
        if cells != own[0]:
            here, there = (
                f"has {own[k]} cells (grid shape {shapes[k]}, ghost widths {layouts[k].widths}, stagger "
                f"{layouts[k].stagger})"
                for k in (i, 0)
            )
            raise ValueError(
                f"array {i} {here}, array 0 {there}: make them equal. tempi.Field(array, stagger=...) is for "
                "n + 1 points of n cells, tempi.Field(array, width=...) for other ghost widths"
            )


def filled_dims(n_ranks: int, dims: tuple[int, ...]) -> tuple[int, ...]:
    """`dims` with its zeros replaced by numbers of ranks; ValueError if none fit."""
    fixed = prod(n for n in dims if n)
    if 0 not in dims:
        return dims
    if min(dims) < 0 or n_ranks % fixed:
        raise ValueError(
            f"dims is {dims}; no numbers in place of 0 make it a grid of {counted(n_ranks, 'rank')}"
        )
    return tuple(MPI.Compute_dims(n_ranks, list(dims)))
