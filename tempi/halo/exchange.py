"""Halo exchange on a grid of blocks: all arrays in one persistent message to each neighbouring rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, NoReturn, SupportsIndex

from mpi4py import MPI
from numpy.typing import ArrayLike

from tempi._library import enabled
from tempi.cuda import stream as cuda_stream
from tempi.cuda.ordering import handle_of
from tempi.halo import under_way
from tempi.halo.agreement import agree, make_together
from tempi.halo.block_graph import BlockGraph
from tempi.halo.bound import Bound
from tempi.halo.boundary import Boundary
from tempi.halo.cells import Axes
from tempi.halo.description import about, summary, table
from tempi.halo.field import Widths, field_of
from tempi.halo.pattern import Pattern
from tempi.halo.process_grid import Direction, Neighbours, ProcessGrid
from tempi.halo.setup import Request


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
        cells. Further axes are values of one cell. Arrays must not share memory. A `tempi.Field` is an array
        with its own ghost widths, axes or number of points; all arrays are of the same cells.
    width : int or sequence of (int or pair of int), default 1
        Layers of ghost cells: one number for all sides; or for each dimension a number for both sides or a
        pair (low, high).
    periods : bool or sequence of bool, optional
        The grid is periodic, in all dimensions or in each one. The default is taken from a Cartesian
        communicator; for other communicators it is False. Ghost cells at a boundary that is not periodic do
        not change.
    dims : sequence of int, optional
        Number of ranks in each dimension. MPI_Dims_create chooses those that are 0; by default all.
    neighbours : {"all", "faces"} or dict, default "all"
        "all" also fills ghost cells at edges and corners: up to 26 neighbours in three dimensions. "faces"
        fills those beside faces: 6 neighbours. A dict lists the neighbours of this rank, for grids that are
        not a Cartesian grid of ranks: it maps directions, -1, 0 or 1 for each dimension, to ranks. Leave
        directions without a neighbour out.
    axes : sequence of int, or one for each array, optional
        The axes of the arrays that are the dimensions of the grid. By default the first ones.
    mask : array of bool, optional
        The places of the grid of ranks that have a rank, for domains that are not a box. Its shape is `dims`.
        The ranks are numbered in the order of these places, the last dimension fastest.
    boundary : callable, optional
        `finish` calls it with a `tempi.Face` for each face of each array beyond which no rank has cells,
        after all messages: by dimension, the low side first, array after array.

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

    An array with the stagger 1 in a dimension has a point at each border of a cell: n + 1 points for the n
    cells of a rank. Neighbouring ranks both have the point between them. The rank with the higher
    coordinate owns it; on the other rank it is a ghost cell. At the high end of a dimension that is not
    periodic the last rank owns its last point. So the global array has N + 1 points, or N points in a
    periodic dimension. A rank needs one own cell more than the array has layers of ghost cells.

    Places without a rank in a `mask` are like the outside of the grid. With listed neighbours, ghost cells in
    directions that are not listed do not change.

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
        neighbours: Neighbours | Mapping[Direction, int] = "all",
        axes: Axes | None = None,
        mask: ArrayLike | None = None,
        boundary: Boundary | None = None,
    ) -> None:
        if not isinstance(comm, MPI.Comm):
            raise TypeError(
                f"comm is of type {type(comm).__name__}; the communicator comes first, then the arrays: "
                "HaloExchange(comm, arrays)"
            )
        under_way.free_dropped()
        fields = [field_of(one) for one in _listed(arrays)]
        request = Request(fields, width, periods, dims, neighbours, axes, mask, boundary)
        grid, wish, found = agree(comm, lambda: request.find(comm))
        pattern = Pattern(comm.Dup(), grid, request.without_arrays(), wish)
        self._bind(Bound(pattern, fields, found, lambda make: make_together(pattern.comm, make)))

    def with_arrays(self, arrays: object) -> HaloExchange:
        """The same exchange of other arrays.

        This is not collective: it needs no communication. All ranks must make and free their exchanges in the
        same order.

        Parameters
        ----------
        arrays : array, or list or tuple of arrays
            As many as this exchange has. Each has the shape and the dtype of the array at its place; its
            strides may be others. The arguments of a `tempi.Field` stay in force.

        Returns
        -------
        HaloExchange
            To be freed as any other one, before or after this one.

        Raises
        ------
        TypeError, ValueError
            If an array differs. Other ranks do not notice.
        RuntimeError
            If this exchange is freed.

        Examples
        --------
        >>> old = tempi.HaloExchange(comm, a, periods=True)
        >>> new = old.with_arrays(b)
        """
        if self._state == "freed":
            raise RuntimeError("the halo exchange is freed; make another one")
        pattern = self._bound.pattern
        fields, found = pattern.request.find_again(_listed(arrays), pattern.wish)
        made = object.__new__(HaloExchange)
        made._bind(Bound(pattern, fields, found, lambda make: make()))
        return made

    def _bind(self, bound: Bound) -> None:
        self.grid: ProcessGrid | BlockGraph = bound.pattern.grid
        self._bound, self._messages = bound, bound.messages
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
        self._bound.wait_for_streams()
        self._state = "under way"  # also where an error leaves the messages half-way
        under_way.begin(self._messages, self)
        self._messages.start()

    def finish(self, stream: Any = None) -> None:
        """Wait until all ghost cells are filled and all own cells are sent, then call `boundary`.

        Parameters
        ----------
        stream : stream or int, optional
            That of `start`. The stream waits, not the CPU. `boundary` must queue its work in this stream.

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
        self._bound.call_boundary()

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
            As for `tempi.stream`. `boundary` must queue its work in this stream.

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
            under_way.begin(self._messages, self)
        self._state = f"started on the stream {stream:#x}"

    def _finish_on(self, stream: int) -> None:
        self._must_be(f"started on the stream {stream:#x}")
        self._state = "idle"
        if self._is_enqueued():
            self._messages.wait_enqueue(stream)
            under_way.end(self._messages)
            self._bound.call_boundary()
            return
        for _, address in self._bound.gpu_arrays[:1]:
            cuda_stream.wait_for(stream, address)
        self()

    def _is_enqueued(self) -> bool:
        return bool(self._bound.gpu_arrays) and enabled() and self._messages.may_be_enqueued()

    def accumulate(self) -> None:
        """Add each ghost cell to the cell that it is a copy of, then set it to 0. Collective.

        This is the adjoint (the transpose) of an exchange without `boundary`: gradients need it, and the
        assembly of finite elements. Ghost cells that an exchange does not fill do not change. An array may
        hold integers, float32, float64, complex64 or complex128. The sums have the same bits each time.

        Raises
        ------
        TypeError
            If an array holds no such numbers.
        RuntimeError
            If an exchange is started or freed; if an array is in GPU memory and TEMPI is off; or if another
            rank has no memory for its messages.
        MemoryError
            If there is no memory for the messages.

        Notes
        -----
        The first call allocates memory: twice the size of the own cells that the neighbours want, and the
        size of the ghost cells. `free` releases it.
        """
        self._must_be("idle")
        self._bound.accumulate()

    def free(self) -> None:
        """Free the requests, and release the arrays. Collective.

        The communicator is freed with the last of the exchanges that `with_arrays` has made of this one.

        A ``with`` block does this at its end.

        Raises
        ------
        RuntimeError
            If it is started and not finished, or already freed.
        """
        self._must_be("idle")
        self._bound.free()
        self._state = "freed"

    def _must_be(self, state: str) -> None:
        if self._state != state:
            raise RuntimeError(f"the halo exchange is {self._state}; this call needs one that is {state}")

    def __repr__(self) -> str:
        what, messages = about(self.grid, self._bound.pattern.wish), summary(self._bound.traffic)
        return f"<HaloExchange, {self._state}: {what}; {messages}>"

    def _repr_html_(self) -> str:
        return table(self, self._bound.traffic, self._messages.ways)

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


def _listed(arrays: object) -> Sequence[object]:
    return arrays if isinstance(arrays, (list, tuple)) else [arrays]
