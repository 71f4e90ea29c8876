"""Halo exchange on a Cartesian grid: all arrays in one persistent message to each neighbouring rank."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, NoReturn, SupportsIndex

from mpi4py import MPI

from tempi._library import enabled
from tempi.arrays.array_view import stream_of
from tempi.cuda import stream as cuda_stream
from tempi.cuda.ordering import handle_of
from tempi.halo import under_way
from tempi.halo.agreement import agree, make_together
from tempi.halo.description import about, summary, table, traffic_of
from tempi.halo.ghosts import Regions, exchanged_regions
from tempi.halo.messages import Messages, Parts
from tempi.halo.process_grid import Neighbours, ProcessGrid
from tempi.halo.region_types import Strided
from tempi.halo.setup import Axes, Request, Widths, Wish


class HaloExchange:
    """Fills the ghost cells of distributed arrays with the own cells of the neighbouring ranks.

    The constructor prepares persistent requests; each exchange starts them and waits for them. Each
    neighbouring rank gets one message with all its cells, of all arrays and in all directions.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        A Cartesian communicator, or any other with as many ranks as the product of `dims`. The exchange uses
        a duplicate of it, so that its messages never match other messages of the program.
    arrays : array, or list or tuple of arrays
        Arrays that `tempi.view` takes, contiguous or not. The first axes are those of the grid, with ghost
        cells. They have the same lengths in all arrays. Further axes are values of one cell. Arrays must not
        share memory.
    width : int or sequence of (int or pair of int), default 1
        Layers of ghost cells: one number for all sides; or for each dimension a number for both sides or a
        pair (low, high).
    periods : bool or sequence of bool, optional
        The grid is periodic, in all dimensions or in each one. The default is taken from a Cartesian
        communicator; for other communicators it is False. Ghost cells at a boundary that is not periodic do
        not change.
    dims : sequence of int, optional
        Number of ranks in each dimension. MPI_Dims_create chooses those that are 0; by default all.
    neighbours : {"all", "faces"}, default "all"
        "all" also fills ghost cells at edges and corners: up to 26 neighbours in three dimensions. "faces"
        fills those beside faces: 6 neighbours.
    axes : sequence of int, or one for each array, optional
        The axes of the arrays that are the dimensions of the grid. By default the first ones.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong on any rank. All ranks raise.
    RuntimeError
        If TEMPI is off, and an array is in GPU memory that the MPI library does not support; if TEMPI is off,
        and arrays are in host memory and in GPU memory; or if another rank has no memory for its messages.
    MemoryError
        If there is no memory for the messages.

    Notes
    -----
    The constructor and `free` are collective. `start` and `finish` wait for the neighbours only.

    If the program loses an exchange between `start` and `finish`, as by an exception, TEMPI keeps the
    exchange and its arrays until the messages are complete. At the end of the program it waits a short time
    for them, then it cancels the receives that no neighbour has sent to. The duplicate of `comm` is not
    freed, because that is a collective operation.

    If TEMPI is off, the MPI library handles the datatypes: in host memory always, in GPU memory if it is
    CUDA-aware. Then arrays in host memory and arrays in GPU memory need separate exchanges.

    The messages come after the work of the stream that an array names in ``__cuda_array_interface__``. Numba
    does not name its default stream: call ``cuda.synchronize()`` before `start`, or use `tempi.stream`.

    Examples
    --------
    >>> with tempi.HaloExchange(comm, [density, momentum], width=2, periods=True, dims=(0, 0, 0)) as exchange:
    ...     exchange.start()
    ...     update_inner_cells()  # those that need no ghost cells
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
            (array, view.address) for array, (_, view) in zip(every, found, strict=True) if view.on_gpu
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

    def start(self, stream: Any = None) -> None:
        """Start to send own cells and to receive ghost cells, after the work on the streams of the arrays.

        Until `finish` returns, you may read own cells. You may neither write them nor touch ghost cells.

        Parameters
        ----------
        stream : stream or int, optional
            A CUDA stream, as for `tempi.stream`: the exchange is enqueued, and `finish` needs the same
            stream.

        Raises
        ------
        RuntimeError
            If it is already started or freed, or if CUDA reports an error of the work on a stream.
        """
        self._must_be("idle")
        if stream is not None:
            self._start_on(handle_of(stream))
            return
        under_way.free_dropped()
        for stream, address in {stream_of(array): address for array, address in self._gpu_arrays}.items():
            if stream is not None:
                cuda_stream.wait_for(stream, address)
        self._state = "under way"  # also where an error leaves the messages half-way
        under_way.begin(self._messages, self)
        self._messages.start()

    def finish(self, stream: Any = None) -> None:
        """Wait until all ghost cells are filled and all own cells are sent.

        Parameters
        ----------
        stream : stream or int, optional
            That of `start`. The stream waits, not the CPU.

        Raises
        ------
        RuntimeError
            If it is not started, or on another stream.
        """
        if stream is not None:
            self._finish_on(handle_of(stream))
            return
        self._must_be("under way")
        self._messages.finish()
        under_way.end(self._messages)
        self._state = "idle"

    def __call__(self) -> None:
        """Start and finish."""
        self.start()
        self.finish()

    def enqueue(self, stream: Any) -> None:
        """Queue a whole exchange in a CUDA stream, and return.

        The exchange comes after the work that the stream holds, and before its later work. It can be captured
        into a CUDA graph. The first call waits until all neighbours have made theirs. Arrays that a captured
        graph exchanges must outlive it.

        The CPU waits for the stream and for the exchange if no kernel can carry it out: with arrays in host
        memory, between nodes, and between ranks that use the same GPU.

        Parameters
        ----------
        stream : stream or int
            As for `tempi.stream`.

        Raises
        ------
        RuntimeError
            If it is already started or freed.
        mpi4py.MPI.Exception
            If a neighbour's process has ended, or if an exchange that needs the CPU is to be captured.
        """
        handle = handle_of(stream)
        self._start_on(handle)
        self._finish_on(handle)

    def _start_on(self, stream: int) -> None:
        self._must_be("idle")
        if self._is_enqueued():
            self._messages.start_enqueue(stream)
        self._state = f"started on the stream {stream:#x}"

    def _finish_on(self, stream: int) -> None:
        self._must_be(f"started on the stream {stream:#x}")
        self._state = "idle"
        if self._is_enqueued():
            self._messages.wait_enqueue(stream)
            return
        for _, address in self._gpu_arrays[:1]:
            cuda_stream.wait_for(stream, address)
        self()

    def _is_enqueued(self) -> bool:
        return bool(self._gpu_arrays) and enabled() and self._messages.may_be_enqueued()

    def free(self) -> None:
        """Free the requests and the communicator, and release the arrays. Collective.

        A ``with`` block does this at its end.

        Raises
        ------
        RuntimeError
            If it is started and not finished, or already freed.
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
