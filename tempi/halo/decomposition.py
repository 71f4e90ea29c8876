"""Blocks of a global grid over a grid of ranks: from a global array to local ones and back. No MPI here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike, NDArray

from tempi._arguments import integers
from tempi.halo.field import stagger_of
from tempi.halo.ghosts import Region, Width, check_room, widths_of
from tempi.halo.process_grid import ProcessGrid, flags_of, places_of

if TYPE_CHECKING:
    from mpi4py import MPI  # the geometry needs no MPI


@dataclass(frozen=True)
class Decomposition:
    """A global grid that is cut into one block for each rank.

    If the cells do not divide evenly, the first ranks own one cell more.

    Parameters
    ----------
    shape : sequence of int
        Number of cells of the global grid in each of its one to six dimensions.
    dims : sequence of int
        Number of ranks in each dimension. Ranks are numbered as MPI_Cart_create numbers them.
    width : int or sequence of (int or pair of int), default 1
        Number of layers of ghost cells. One number is for all sides. A sequence has an entry for each
        dimension: a number for both sides, or a pair (low, high).
    periods : bool or sequence of bool, default False
        True if the grid is periodic: one value for all dimensions, or one for each.
    axes : sequence of int, optional
        The axes of arrays that are the dimensions of the grid. By default the first axes. Further axes are
        values of one cell.
    stagger : int or sequence of int, default 0
        1 in the dimensions in which arrays have a point at each border of a cell, as in `Field`. In these
        dimensions, the global array has one point more than cells, except in periodic dimensions.
    mask : array of bool, optional
        True at the places of the grid of ranks that have a rank, as in `HaloExchange`. Other places have no
        block.

    Raises
    ------
    ValueError
        If the lengths of the parameters differ, if a block has fewer own cells than a neighbour has ghost
        cells on one side, or if arrays are staggered in a periodic dimension of a masked grid. A dimension
        with one rank that is not periodic has no neighbours: its ghost cells can be of any width.
    TypeError
        If a parameter has the wrong type.

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
    stagger: int | Sequence[int] = 0
    mask: ArrayLike | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        shape, dims = integers("shape", self.shape), integers("dims", self.dims)
        if len(shape) != len(dims):
            raise ValueError(f"the grid's shape {shape} and dims {dims} must be of the same length")
        if shape and min(shape) < 1:
            raise ValueError(f"shape is {shape}; every dimension needs at least one cell")
        if shape and all(n < n_ranks for n, n_ranks in zip(shape, dims, strict=True)):
            raise ValueError(
                f"a grid of {self.shape} cells has 0 own cells a rank (dims is {self.dims}): the shape comes "
                "first, then dims"
            )
        if len(self.grid_axes) != len(self.dims):
            raise ValueError(f"axes is {self.axes}; it must name one axis for each of dims {self.dims}")
        if len(set(self.grid_axes)) != len(self.grid_axes):
            raise ValueError(f"axes is {self.axes}; the axes must be different ones")
        grid = self.grid
        smallest = [n // n_ranks for n, n_ranks in zip(self.shape, grid.dims, strict=True)]
        check_room(grid, smallest, self.widths, self._extra)
        if grid.places is not None and any(
            extra and wraps for extra, wraps in zip(self._extra, grid.periods, strict=True)
        ):
            raise ValueError(
                f"stagger is {self.stagger} and periods is {self.periods}: with a mask, arrays cannot be "
                "staggered in a periodic dimension"
            )

    @cached_property
    def grid(self) -> ProcessGrid:
        """The grid of ranks."""
        dims = integers("dims", self.dims)
        places = None if self.mask is None else places_of(self.mask, dims)
        return ProcessGrid(dims, flags_of("periods", self.periods, len(dims)), places)

    @cached_property
    def widths(self) -> tuple[Width, ...]:
        """Ghost cells (low, high) of each dimension."""
        return widths_of(self.width, len(self.dims))

    @cached_property
    def _extra(self) -> tuple[int, ...]:
        """1 in the dimensions in which arrays are staggered."""
        return stagger_of(self.stagger, len(self.dims))

    @property
    def global_shape(self) -> tuple[int, ...]:
        """The shape of the global array along the grid: cells, or points where it is staggered."""
        each = zip(self.shape, self._extra, self.grid.periods, strict=True)
        return tuple(n + (extra and not wraps) for n, extra, wraps in each)

    @cached_property
    def grid_axes(self) -> tuple[int, ...]:
        """The axes of arrays that are the dimensions of the grid."""
        return tuple(range(len(self.dims))) if self.axes is None else integers("axes", self.axes)

    def block(self, rank: int) -> Region:
        """The cells (or points) of the global array that a rank owns: one slice for each dimension.

        With a mask and staggered arrays, the blocks of several ranks may contain the same point at a corner
        of a place without a rank.
        """
        found = []
        for dimension, part in enumerate(self._cells(rank)):
            direction = tuple(int(d == dimension) for d in range(len(self.dims)))
            is_last = self._extra[dimension] and self.grid.neighbour(rank, direction) is None
            found.append(slice(part.start, part.stop + 1) if is_last else part)
        return tuple(found)

    def _cells(self, rank: int) -> Region:
        return tuple(
            _nth_part(n, n_ranks, at)
            for n, n_ranks, at in zip(self.shape, self.dims, self.grid.coords(rank), strict=True)
        )

    def local_shape(self, rank: int) -> tuple[int, ...]:
        """The shape of a rank's array along the grid, with ghost cells."""
        return tuple(
            part.stop - part.start + low + high + extra
            for part, (low, high), extra in zip(self._cells(rank), self.widths, self._extra, strict=True)
        )

    def interior(self, rank: int) -> Region:
        """The own cells in a rank's array: one slice for each dimension."""
        return tuple(
            slice(low, low + part.stop - part.start)
            for part, (low, _) in zip(self.block(rank), self.widths, strict=True)
        )

    def scatter(self, global_array: ArrayLike, rank: int, fill: object = 0) -> NDArray[Any]:
        """Make a rank's array: own cells from a global array, `fill` in ghost cells.

        Parameters
        ----------
        global_array : array_like
            Its shape along `axes` is `global_shape`. It may have further axes.
        rank : int
        fill : scalar, default 0
            The value of the ghost cells.

        Returns
        -------
        ndarray
            A new array with the dtype of `global_array`.

        Raises
        ------
        ValueError
            If `global_array` has another shape, or there is no such rank.
        TypeError
            If an argument has the wrong type, or the dtype of `global_array` cannot hold `fill`.
        """
        from tempi.halo.host_blocks import scatter

        return scatter(global_array, rank, fill, self)

    def gather(self, local_arrays: Sequence[ArrayLike]) -> NDArray[Any]:
        """Make the global array from the own cells of all ranks. It is 0 at places without a rank (`mask`).

        With mpi4py, on rank 0: ``decomposition.gather(comm.gather(local))``.

        Parameters
        ----------
        local_arrays : sequence of array_like
            One array for each rank, in the order of ranks.

        Raises
        ------
        ValueError
            If the number of arrays is wrong, or their dtypes or shapes do not match.
        TypeError
            If `local_arrays` is not a sequence of arrays.
        """
        from tempi.halo.host_blocks import gather

        return gather(local_arrays, self)

    def redistribute(self, comm: MPI.Intracomm, array: Any, other: Decomposition, out: Any = None) -> Any:
        """Make the array of another decomposition of the same grid, by one MPI_Alltoallw. Collective.

        Parameters
        ----------
        comm : mpi4py.MPI.Intracomm
            With one rank for each block of both decompositions.
        array : array
            This rank's array, of any kind that `tempi.view` accepts.
        other : Decomposition
            A decomposition with the same `global_shape`. Its grid of ranks and its ghost widths may be
            different.
        out : array, optional
            This rank's array in `other`. The call writes its own cells. By default a new NumPy array with 0
            in its ghost cells.

        Returns
        -------
        array
            `out`, or the new array.

        Raises
        ------
        TypeError, ValueError
            If an argument is wrong on any rank. All ranks raise.
        """
        from tempi.halo.redistribution import redistribute

        return redistribute(comm, array, self, other, out)

    def collect(self, comm: MPI.Intracomm, array: Any, out: Any = None, root: int = 0) -> Any:
        """Receive the own cells of all ranks directly into one array of rank `root`. Collective.

        Parameters
        ----------
        comm : mpi4py.MPI.Intracomm
            With one rank for each block.
        array : array
            This rank's array, as `tempi.view` takes it.
        out : array, optional
            The global array, on `root` only. By default a new NumPy array. It may be a memory map
            (`numpy.lib.format.open_memmap`), so that it need not fit in memory.
        root : int, default 0
            The same on all ranks.

        Returns
        -------
        array or None
            `out` or the new array; None on other ranks.

        Raises
        ------
        TypeError, ValueError
            If an argument is wrong on any rank. All ranks raise.
        """
        from tempi.halo.redistribution import collect

        return collect(comm, array, self, out, root)

    def save(self, comm: MPI.Intracomm, path: str | PathLike[str], array: Any) -> None:
        """Write the global array to a file of NumPy: each rank writes its own cells. Collective.

        No rank needs memory for more than its block. ``grid.scatter(np.load(path, mmap_mode="r"), rank)``
        reads a block. An existing file is overwritten. The places without a rank (`mask`) are 0.

        Parameters
        ----------
        comm : mpi4py.MPI.Intracomm
            With one rank for each block.
        path : str or path
            The same on all ranks, in a file system that they share.
        array : array
            This rank's array, as `tempi.view` takes it.

        Raises
        ------
        TypeError, ValueError
            If an argument is wrong on any rank. All ranks raise.
        OSError
            If this rank cannot open or write the file. All ranks raise: OSError, or ValueError for the error
            of another rank.
        """
        from tempi.halo.block_file import save

        save(comm, path, array, self)


def _nth_part(n: int, n_parts: int, index: int) -> slice:
    """`n` cells in `n_parts` parts; if it does not divide evenly, the first are one longer."""
    size, longer = divmod(n, n_parts)
    begin = index * size + min(index, longer)
    return slice(begin, begin + size + (index < longer))
