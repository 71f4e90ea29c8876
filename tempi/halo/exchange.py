"""Halo exchange on a Cartesian grid: all arrays in one persistent message to each neighbouring rank."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import NoReturn, SupportsIndex

from mpi4py import MPI

from tempi.arrays.array_view import stream_of
from tempi.cuda import stream as cuda_stream
from tempi.halo import under_way
from tempi.halo.agreement import agree, make_together
from tempi.halo.description import about, summary, table, traffic_of
from tempi.halo.ghosts import Regions, exchanged_regions
from tempi.halo.messages import Messages, Parts
from tempi.halo.process_grid import Neighbours, ProcessGrid
from tempi.halo.region_types import Strided
from tempi.halo.setup import Axes, Request, Widths, Wish


class HaloExchange:
    """Fills the ghost cells of arrays with the neighbours' own cells.

    Everything is prepared here; an exchange starts persistent requests and waits for them. All cells that go
    to one rank, in all directions and of all arrays, are one message.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        A Cartesian communicator, or any other with as many ranks as `dims` says. It is duplicated: messages
        of the program or of other exchanges never meet this one's.
    arrays : array, or list or tuple of arrays
        NumPy, CuPy, Numba or other arrays that `tempi.view` takes, contiguous or not, of any dtypes but
        Python objects. Their first axes are the grid's, ghost cells included, and equally long in all arrays;
        further axes are quantities of a cell. No two of them share memory.
    width : int or sequence of (int or pair of int), default 1
        Ghost cells: one number for all sides, or for each dimension one for both sides or (low, high).
    periods : bool or sequence of bool, optional
        Whether the grid is periodic, in all dimensions or in each. By default as the Cartesian communicator
        is, else not. Ghost cells at non-periodic boundaries are left alone.
    dims : sequence of int, optional
        Ranks in each dimension; MPI_Dims_create chooses those that are 0, by default all.
    neighbours : {"all", "faces"}, default "all"
        Whether ghost cells at edges and corners are filled too: up to 26 neighbours, or 6.
    axes : sequence of int, or one for each array, optional
        The axes of the grid, if not the first ones; as many as the grid has dimensions.

    Raises
    ------
    TypeError, ValueError
        If something does not fit together, on this rank or another one: all ranks raise.
    RuntimeError
        If arrays are in GPU memory that neither TEMPI nor the MPI library reaches, or in host and GPU memory
        and TEMPI does not reach the latter, or another rank has no memory left for its messages.
    MemoryError
        If there is no memory left for messages.

    Notes
    -----
    Making one and `free` are collective; `start` and `finish` wait for neighbours only.

    One that is dropped while it is under way, as by an exception, is kept with its arrays until its messages
    are done, which its neighbours may be waiting for. At the end of the program they are waited for, for a
    while, and receives that nobody has sent anything to are cancelled. Its duplicate of `comm` is not freed,
    which would be collective.

    Without ``libtempi.so`` in the way the MPI library handles the datatypes: on host memory always, on GPU
    memory if it is CUDA-aware, as slowly as it does without TEMPI; then host and GPU arrays need an exchange
    each.

    `start` waits for the stream that an array names in ``__cuda_array_interface__``. Numba's arrays of the
    default stream name none: call ``cuda.synchronize()`` before `start`.

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
        if not isinstance(comm, MPI.Comm):
            raise TypeError(
                f"comm is of type {type(comm).__name__}; the communicator comes first, then the arrays: "
                "HaloExchange(comm, arrays)"
            )
        under_way.free_dropped()
        every = tuple(arrays) if isinstance(arrays, (list, tuple)) else (arrays,)
        request = Request(every, width, periods, dims, neighbours, axes)
        wish, found = agree(comm, lambda: request.find(comm))
        self.grid: ProcessGrid = wish.grid
        cells = [one for one, _ in found]
        owners = [view.owner for _, view in found]
        self._gpu_arrays = [
            (array, cuda_stream.context_of(view.address))
            for array, (_, view) in zip(every, found, strict=True)
            if view.on_gpu
        ]
        gpu_array = next((one for one, view in found if view.on_gpu and one.n_bytes), None)
        parts = _parts(wish, comm.rank, cells)
        self._traffic = traffic_of(*parts)
        self._about = about(wish, len(every))
        own_comm = comm.Dup()
        try:
            self._messages = make_together(own_comm, lambda: Messages(own_comm, *parts, owners, gpu_array))
        except Exception:
            own_comm.Free()
            raise
        self._comm = own_comm
        self._state = "idle"

    def start(self) -> None:
        """Begin to send own cells and to receive ghost cells, after the queued work of the arrays' streams.

        Until `finish`, own cells may be read and ghost cells may be neither read nor written.

        Raises
        ------
        RuntimeError
            If it is under way or has been freed, or CUDA reports an error of what was queued.
        """
        self._must_be("idle")
        under_way.free_dropped()
        for stream, context in {(stream_of(array), context) for array, context in self._gpu_arrays}:
            if stream is not None and context is not None:
                cuda_stream.synchronize(stream, context)
        self._state = "under way"  # also where an error leaves the messages half-way
        under_way.begin(self._messages, self)
        self._messages.start()

    def finish(self) -> None:
        """Wait until all ghost cells are filled and own cells may be written.

        Raises
        ------
        RuntimeError
            If it has not been started.
        """
        self._must_be("under way")
        self._messages.finish()
        under_way.end(self._messages)
        self._state = "idle"

    def __call__(self) -> None:
        """Start and finish."""
        self.start()
        self.finish()

    def free(self) -> None:
        """Free what MPI holds for it, and let the arrays go. Collective.

        Raises
        ------
        RuntimeError
            If it is under way or has been freed.
        """
        self._must_be("idle")
        self._messages.free()
        self._comm.Free()
        self._state = "freed"
        self._gpu_arrays = []

    def _must_be(self, state: str) -> None:
        if self._state != state:
            raise RuntimeError(f"the halo exchange is {self._state}; this call needs one that is {state}")

    def __repr__(self) -> str:
        return f"<HaloExchange, {self._state}: {self._about}; {summary(self._traffic)}>"

    def _repr_html_(self) -> str:
        return table(self, self._traffic, self._messages.ways)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Copies and pickles would share the requests of this one, or have none."""
        raise TypeError("a HaloExchange holds MPI requests and cannot be copied or pickled: make another one")

    def __enter__(self) -> HaloExchange:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:  # else other ranks may wait for messages that never come
            self.free()


def _parts(wish: Wish, rank: int, cells: Sequence[Strided]) -> tuple[Parts, Parts]:
    """The cells that a rank sends to and receives from each rank."""

    walks = list(zip(cells, wish.walks, strict=True))

    def of(by_rank: Regions) -> Parts:
        parts: Parts = {}
        for peer, regions in by_rank.items():
            every = [one[region].walked(walk) for region in regions for one, walk in walks]
            if full := [part for part in every if part.n_bytes]:
                parts[peer] = full
        return parts

    shape = cells[0].shape[: wish.grid.n_dims]
    sent, received = exchanged_regions(wish.grid, rank, shape, wish.widths, wish.neighbours)
    return of(sent), of(received)
