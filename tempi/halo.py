"""Halo exchange on a Cartesian grid: one persistent message to each neighbouring rank, whatever the arrays are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType

from mpi4py import MPI

from tempi.arrays import describe, wait_for
from tempi.ghosts import Regions, exchanged_regions
from tempi.halo_agreement import agree
from tempi.halo_setup import Axes, Request, Widths, Wish
from tempi.process_grid import Neighbours, ProcessGrid
from tempi.region_types import Strided, message_datatype


class HaloExchange:
    """Fills the ghost cells of arrays with the neighbours' own cells.

    Everything is prepared here; an exchange starts persistent requests and waits for them. All cells that go to
    one rank, in all directions and of all arrays, are one message.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        A Cartesian communicator, or any other with as many ranks as `dims` says. It is duplicated: messages of the
        program or of other exchanges never meet this one's.
    arrays : array, or list or tuple of arrays
        NumPy, CuPy, Numba or other arrays that `tempi.arrays.describe` knows, contiguous or not, of any dtypes but
        Python objects. Their first axes are the grid's, ghost cells included, and equally long in all arrays; further
        axes are quantities of a cell.
    width : int or sequence of (int or pair of int), default 1
        Ghost cells: one number for all sides, or for each dimension one for both sides or (low, high).
    periods : bool or sequence of bool, optional
        Whether the grid is periodic, in all dimensions or in each. By default as the Cartesian communicator is, else
        not. Outer ghost cells where it is not are left alone.
    dims : sequence of int, optional
        Ranks in each dimension; where it is 0, MPI_Dims_create decides. By default it decides for all.
    neighbours : {"all", "faces"}, default "all"
        Whether ghost cells at edges and corners are filled too: up to 26 neighbours, or 6.
    axes : sequence of int, or one for each array, optional
        Which axes are the grid's, if not the first ones.

    Raises
    ------
    TypeError, ValueError
        If something does not fit together, on this rank or another one: all ranks raise.
    RuntimeError
        If arrays are in GPU memory that neither TEMPI nor the MPI library reaches.

    Notes
    -----
    Making one and `free` are collective; `start` and `finish` wait for neighbours only. Without ``libtempi.so`` the
    MPI library handles the datatypes, on host memory.

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
        comm: MPI.Intracomm,
        arrays: object,
        width: Widths = 1,
        periods: bool | Sequence[bool] | None = None,
        *,
        dims: Sequence[int] | None = None,
        neighbours: Neighbours = "all",
        axes: Axes | None = None,
    ) -> None:
        each = tuple(arrays) if isinstance(arrays, (list, tuple)) else (arrays,)
        request = Request(each, width, periods, dims, neighbours, axes)
        first, mine, cells = agree(comm, lambda: request.find(comm))
        self.grid: ProcessGrid = first.grid
        self._arrays = each  # kept alive
        self._on_gpu = [array for array in each if describe(array).on_gpu]
        self._comm = comm.Dup()
        self._requests = _requests(self._comm, first, cells)
        self._is_active = False

    def start(self) -> None:
        """Begin to send own cells and to receive ghost cells, after what the arrays' streams have to do.

        Until `finish`, own cells may be read and ghost cells may be neither read nor written.

        Raises
        ------
        RuntimeError
            If it has been started already, or freed.
        """
        if self._is_active:
            raise RuntimeError("the halo exchange is under way: call finish() before start()")
        if self._comm == MPI.COMM_NULL:
            raise RuntimeError("the halo exchange has been freed")
        for array in self._on_gpu:
            wait_for(describe(array))  # whose stream may be another one each time
        MPI.Prequest.Startall(self._requests)
        self._is_active = True

    def finish(self) -> None:
        """Wait until all ghost cells are filled and own cells may be written.

        Raises
        ------
        RuntimeError
            If it has not been started.
        """
        if not self._is_active:
            raise RuntimeError("the halo exchange is not under way: call start() before finish()")
        MPI.Request.Waitall(self._requests)
        self._is_active = False

    def __call__(self) -> None:
        """Start and finish."""
        self.start()
        self.finish()

    def free(self) -> None:
        """Free the requests and the communicator; the arrays are let go. Collective; a second time does nothing.

        Raises
        ------
        RuntimeError
            If an exchange is under way.
        """
        if self._is_active:
            raise RuntimeError("the halo exchange is under way: call finish() before free()")
        for request in self._requests:
            request.Free()
        self._requests, self._arrays, self._on_gpu = [], (), []
        if self._comm != MPI.COMM_NULL:
            self._comm.Free()

    def __enter__(self) -> HaloExchange:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is None:  # else other ranks may wait for what will never come
            self.free()


def _requests(comm: MPI.Intracomm, wish: Wish, cells: Sequence[Strided]) -> list[MPI.Prequest]:
    """A receive from each neighbour, then a send to each; not started."""

    def made(init: Callable[..., MPI.Prequest], by_rank: Regions) -> Iterator[MPI.Prequest]:
        for rank, regions in by_rank.items():
            parts = [
                (one[region], walk) for region in regions for one, walk in zip(cells, wish.walks, strict=True)
            ]
            if parts := [(part, walk) for part, walk in parts if not part.is_empty]:
                datatype = message_datatype(parts)
                yield init([MPI.BOTTOM, 1, datatype], rank)
                datatype.Free()

    shape = cells[0].shape[: wish.grid.n_dims]
    sent, received = exchanged_regions(wish.grid, comm.rank, shape, wish.widths, wish.neighbours)
    return [*made(comm.Recv_init, received), *made(comm.Send_init, sent)]
