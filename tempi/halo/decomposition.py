"""Blocks of a global grid over a grid of ranks: from a global array to local ones and back. No MPI here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tempi.halo.ghosts import Region, Width, check_room, own_region, widths_of
from tempi.halo.process_grid import ProcessGrid, integers, periods_of


@dataclass(frozen=True)
class Decomposition:
    """A global grid, cut into one block a rank; if it does not divide evenly, the first ranks own one cell
    more.

    Parameters
    ----------
    shape : sequence of int
        Cells of the global grid, in one to three dimensions.
    dims : sequence of int
        Ranks in each dimension, numbered as MPI_Cart_create numbers them.
    width : int or sequence of (int or pair of int), default 1
        Ghost cells: one number for all sides, or for each dimension one for both sides or (low, high).
    periods : bool or sequence of bool, default False
        Whether the grid is periodic, in all dimensions or in each.
    axes : sequence of int, optional
        The axes of arrays that are the dimensions of the grid; by default the first ones. Further axes are
        quantities of a cell.

    Raises
    ------
    ValueError
        If the parameters do not fit together, or a block has fewer cells than ghost cells.
    TypeError
        If one is of another type.

    Examples
    --------
    >>> decomposition = Decomposition((100, 60), dims=(2, 1), width=2, periods=True)
    >>> decomposition.local_shape(0)
    (54, 64)
    """

    shape: Sequence[int]
    dims: Sequence[int]
    width: int | Sequence[int | Sequence[int]] = 1
    periods: bool | Sequence[bool] = False
    axes: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if len(integers("shape", self.shape)) != len(integers("dims", self.dims)):
            raise ValueError(f"the grid's shape {self.shape} and dims {self.dims} must be of the same length")
        if self.shape and all(n < n_ranks for n, n_ranks in zip(self.shape, self.dims, strict=True)):
            raise ValueError(
                f"a grid of {self.shape} cells has 0 own cells a rank (dims is {self.dims}): the shape comes "
                "first, then dims"
            )
        if len(self._axes) != len(self.dims):
            raise ValueError(f"axes is {self.axes}; it must name one axis for each of dims {self.dims}")
        if len(set(self._axes)) != len(self._axes):
            raise ValueError(f"axes is {self.axes}; the axes must be different ones")
        grid = self.grid
        smallest = [n // n_ranks for n, n_ranks in zip(self.shape, grid.dims, strict=True)]
        check_room(grid, smallest, self.widths)

    @cached_property
    def grid(self) -> ProcessGrid:
        """The ranks."""
        return ProcessGrid(integers("dims", self.dims), periods_of(self.periods, len(self.dims)))

    @cached_property
    def widths(self) -> tuple[Width, ...]:
        """Ghost cells (low, high) of each dimension."""
        return widths_of(self.width, len(self.dims))

    @cached_property
    def _axes(self) -> tuple[int, ...]:
        return tuple(range(len(self.dims))) if self.axes is None else integers("axes", self.axes)

    def block(self, rank: int) -> Region:
        """The cells of the global grid that a rank owns, a slice for each dimension."""
        return tuple(
            _nth_part(n, n_ranks, at)
            for n, n_ranks, at in zip(self.shape, self.dims, self.grid.coords(rank), strict=True)
        )

    def local_shape(self, rank: int) -> tuple[int, ...]:
        """Cells of a rank's array, with ghost cells."""
        return tuple(
            part.stop - part.start + low + high
            for part, (low, high) in zip(self.block(rank), self.widths, strict=True)
        )

    def interior(self, rank: int) -> Region:
        """The slices of a rank's array that hold its own cells, one for each dimension."""
        return own_region(self.local_shape(rank), self.widths)

    def scatter(self, global_array: ArrayLike, rank: int, fill: object = 0) -> NDArray[Any]:
        """A rank's array, with its own cells from a global one and `fill` in its ghost cells.

        Parameters
        ----------
        global_array : array_like
            Of the global grid's shape along `axes`; any further axes.
        rank : int
        fill : scalar, default 0
            The value of the ghost cells.

        Returns
        -------
        ndarray
            New, of `global_array`'s dtype.

        Raises
        ------
        ValueError
            If `global_array` has another shape, or there is no such rank.
        """
        source = self._grid_first(np.asarray(global_array), self.shape, "the global array")
        local = np.full(self.local_shape(rank) + source.shape[len(self.dims) :], fill, source.dtype)
        local[self.interior(rank)] = source[self.block(rank)]
        return np.ascontiguousarray(self._grid_back(local))

    def gather(self, local_arrays: Sequence[ArrayLike]) -> NDArray[Any]:
        """The global array that the own cells of all ranks make, given one local array a rank.

        With mpi4py: ``decomposition.gather(comm.gather(local))`` on rank 0.

        Raises
        ------
        ValueError
            If there is not one array for each rank, or they are not all alike but for their own cells.
        """
        if len(local_arrays) != self.grid.size:
            raise ValueError(
                f"{len(local_arrays)} arrays given; dims {self.dims} have {self.grid.size} ranks"
            )
        each = [
            self._grid_first(np.asarray(array), self.local_shape(rank), f"the array of rank {rank}")
            for rank, array in enumerate(local_arrays)
        ]
        self._check_alike(each)
        found = np.empty(tuple(self.shape) + each[0].shape[len(self.dims) :], each[0].dtype)
        for rank, local in enumerate(each):
            found[self.block(rank)] = local[self.interior(rank)]
        return np.ascontiguousarray(self._grid_back(found))

    def _check_alike(self, arrays: Sequence[NDArray[Any]]) -> None:
        """Raise ValueError where a cell would be converted, cut off or repeated in the joined array."""
        for rank, array in enumerate(arrays):
            for name, here, there in (
                ("dtype", arrays[0].dtype, array.dtype),
                ("further axes", arrays[0].shape[len(self.dims) :], array.shape[len(self.dims) :]),
            ):
                if here != there:
                    raise ValueError(
                        f"{name} must be the same in all arrays: rank 0 has {here}, rank {rank} {there}"
                    )

    def _grid_first(self, array: NDArray[Any], shape: Sequence[int], what: str) -> NDArray[Any]:
        """A view whose first axes are the grid's."""
        found = [axis % array.ndim for axis in self._axes if -array.ndim <= axis < array.ndim]
        if len(set(found)) != len(self._axes):
            raise ValueError(
                f"{what} has shape {array.shape}; axes {self._axes} must be different ones of its own"
            )
        if tuple(array.shape[axis] for axis in found) != tuple(shape):
            raise ValueError(
                f"{what} has shape {array.shape}; along axes {self._axes} it must be {tuple(shape)}"
            )
        return np.moveaxis(array, found, range(len(found)))

    def _grid_back(self, array: NDArray[Any]) -> NDArray[Any]:
        return np.moveaxis(array, range(len(self._axes)), self._axes)


def _nth_part(n: int, n_parts: int, index: int) -> slice:
    """`n` cells in `n_parts` parts; if it does not divide evenly, the first are one longer."""
    size, longer = divmod(n, n_parts)
    begin = index * size + min(index, longer)
    return slice(begin, begin + size + (index < longer))
