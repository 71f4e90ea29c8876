"""Halo exchange on a Cartesian grid: one persistent message to each neighbouring rank, whatever the arrays are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from types import TracebackType

from mpi4py import MPI

from tempi._library import enabled, library
from tempi.arrays import describe, wait_for
from tempi.ghosts import Region, ghost_region, sent_region
from tempi.halo_setup import Agreement, Axes, agree, find_agreement, find_axes, find_cells, find_grid, find_n_dims
from tempi.process_grid import Neighbours, ProcessGrid, directions, opposite
from tempi.region_types import Strided, message_datatype

Regions = dict[int, list[Region]]  # by rank


class HaloExchange:
    """Fills the ghost cells of arrays with the neighbours' own cells.

    Everything is prepared here; an exchange starts persistent requests and waits for them. All cells that go to
    one rank, in all directions and of all arrays, are one message.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        A Cartesian communicator, or any other of all ranks of `dims`. It is duplicated: messages of the program or of
        other exchanges never meet this one's.
    arrays : array or sequence of arrays
        NumPy, CuPy, Numba or whatever `tempi.view` takes, contiguous or not, of any dtypes but Python objects. Their
        first axes are the grid's, with ghost cells, and of equal lengths in all arrays; further axes are quantities
        of a cell. The arrays stay in use until `free`.
    width : int or sequence of (int or pair of int), default 1
        Ghost cells: one number for all sides, or for each dimension one for both sides or (low, high).
    periods : bool or sequence of bool, optional
        Whether the grid is periodic, in all dimensions or in each. By default as the Cartesian communicator is, else
        not. Outer ghost cells of a grid that is not periodic are left alone.
    dims : sequence of int, optional
        Ranks in each dimension; where it is 0, MPI_Dims_create decides. By default it decides for all.
    neighbours : {"all", "faces"}, default "all"
        Whether the ghost cells at edges and corners are filled too: up to 26 neighbours, or 6.
    axes : sequence of int, or one for each array, optional
        Which axes are the grid's, if not the first ones.

    Raises
    ------
    TypeError, ValueError
        If something does not fit together, on this rank or on another one: all ranks raise.
    RuntimeError
        If arrays are in GPU memory and neither TEMPI nor the MPI library can reach it.

    Notes
    -----
    Collective over `comm`, as `free` is; `start` and `finish` are not. Without ``libtempi.so`` the MPI library does
    what it can with the datatypes, which is right on host memory.

    Examples
    --------
    >>> with tempi.HaloExchange(comm, [density, momentum], width=2, periods=True, dims=(0, 0, 0)) as exchange:
    ...     exchange.start()
    ...     update_inner_cells()
    ...     exchange.finish()
    ...     update_outer_cells()
    """

    def __init__(
        self,
        comm: MPI.Comm,
        arrays: object,
        width: int | Sequence[int | Sequence[int]] = 1,
        periods: bool | Sequence[bool] | None = None,
        *,
        dims: Sequence[int] | None = None,
        neighbours: Neighbours = "all",
        axes: Axes | None = None,
    ) -> None:
        self._arrays = tuple(arrays) if isinstance(arrays, (list, tuple)) else (arrays,)
        self._cells: list[Strided] = []

        def find() -> Agreement:
            n_dims = find_n_dims(comm, (dims, width, periods), self._arrays[0])
            ...

        every = agree(comm, find)
