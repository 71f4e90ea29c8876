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
from tempi.halo.agreement import agree, check_comm, make_together
from tempi.halo.block_graph import BlockGraph
from tempi.halo.bound import Bound
from tempi.halo.boundary import Boundary
from tempi.halo.cells import Axes
from tempi.halo.description import about, summary, table
from tempi.halo.field import Widths, field_of
from tempi.halo.pattern import Pattern
from tempi.halo.process_grid import Direction, Neighbours, ProcessGrid
from tempi.halo.setup import Arguments


class HaloExchange:
    """Fills the ghost cells of distributed arrays with the own cells of the neighbouring ranks.

    The constructor prepares persistent requests; each exchange starts them and waits for them. Each
    neighbouring rank gets one message with all its cells, of all arrays and in all directions.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        A Cartesian communicator, or any other communicator whose size is the product of `dims`. The exchange
        uses a duplicate of `comm`, so that its messages never match other messages of the program.
    arrays : array, or list or tuple of arrays
        Arrays that `tempi.view` accepts, contiguous or not. The first axes are the dimensions of the grid,
        and include the ghost cells. Further axes are values of one cell. Arrays must not share memory. A
        `tempi.Field` is an array with its own ghost widths, axes or number of points. All arrays describe the
        same cells.
    width : int or sequence of (int or pair of int), default 1
        Number of layers of ghost cells. One number is for all sides. A sequence has an entry for each
        dimension: a number for both sides, or a pair (low, high). A rank needs at least as many own cells as
        a neighbour has ghost cells on one side. A dimension with one rank that is not periodic has no
        neighbours: its ghost cells can be of any width.
    periods : bool or sequence of bool, optional
        True if the grid is periodic: one value for all dimensions, or one for each. The default is that of a
        Cartesian communicator; for other communicators it is False. Ghost cells at a boundary that is not
        periodic do not change.
    dims : sequence of int, optional
        Number of ranks in each dimension. MPI_Dims_create replaces the entries that are 0. By default all
        entries are 0. If all arrays have more axes than `dims` has entries, and one array has two or three
        axes, `axes` must name the axes of the grid.
    neighbours : {"all", "faces"} or dict, default "all"
        "all" fills the ghost cells at faces, edges and corners: up to 26 neighbours in three dimensions.
        "faces" fills only the ghost cells at faces: 6 neighbours. A dict lists the neighbours of this rank,
        if the ranks are not a Cartesian grid. It maps a direction (-1, 0 or 1 for each dimension) to a rank.
        Leave out directions without a neighbour.
    axes : sequence of int, or one sequence for each array, optional
        The axes of the arrays that are the dimensions of the grid. By default the first axes. Without a
        Cartesian communicator, `dims`, `mask` and `neighbours`, these are all axes of the first array.
    mask : array of bool, optional
        For domains that are not a box: True at the places of the grid of ranks that have a rank. Its shape is
        `dims`. The ranks are numbered in the order of these places, the last dimension fastest.
    boundary : callable, optional
        After all messages, `finish` calls it with a `tempi.Face` for each face of each array that has no rank
        beyond it. The order is by dimension, the low side first. For each side, the arrays come in their
        order.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong on any rank. All ranks raise the error.
    RuntimeError
        If TEMPI is off, and an array is in GPU memory, but the MPI library is not CUDA-aware; if TEMPI is
        off, and some arrays are in host memory and others in GPU memory; or if another rank has no memory for
        its messages.
    MemoryError
        If there is no memory for the messages.

    Notes
    -----
    The constructor and `free` are collective. `start` and `finish` wait for the neighbours only.

    An array with the stagger 1 in a dimension has a point at each border of a cell: n + 1 points for the n
    cells of a rank. Two neighbouring ranks both have the point between them. The rank for which it is the
    first point owns it. On the other rank, the point is a ghost cell. At the high end of a dimension
    that is not periodic, the last rank owns its last point. Therefore, the global array has N + 1 points, or
    N points in a periodic dimension. The number of own cells of a rank must be larger than the number of
    layers of ghost cells.

    A border to a place without a rank in a `mask` is a boundary of the grid. If a dict lists the neighbours,
    ghost cells in directions that are not listed do not change.

    If the program loses an exchange between `start` and `finish`, for example by an exception, TEMPI keeps
    the exchange and its arrays until the messages are complete. At the end of the program, TEMPI waits a
    short time for these messages. Then it cancels the receives whose messages have not been sent. TEMPI does
    not free the duplicate of `comm`, because that is a collective operation.

    If TEMPI is off, the MPI library handles the datatypes: always in host memory, and in GPU memory if it is
    CUDA-aware. In this case, arrays in host memory and arrays in GPU memory need separate exchanges.

    An array can name its stream in ``__cuda_array_interface__``. The messages start after the work of this
    stream. Numba does not name its default stream: call ``cuda.synchronize()`` before `start`, or use
    `tempi.stream`.

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
        check_comm(comm, "HaloExchange(comm, arrays)")
        under_way.free_dropped()
        fields = [field_of(one) for one in _listed(arrays)]
        arguments = Arguments(fields, width, periods, dims, neighbours, axes, mask, boundary)
        grid, wish, found = agree(comm, lambda: arguments.find(comm))
        pattern = Pattern(comm.Dup(), grid, arguments.without_arrays(), wish)
        self._bind(Bound(pattern, fields, found, lambda make: make_together(pattern.comm, make)))

    def with_arrays(self, arrays: object) -> HaloExchange:
        """Make the same exchange of other arrays.

        The call is not collective and needs no communication. All ranks must make and free their exchanges in
        the same order.

        Parameters
        ----------
        arrays : array, or list or tuple of arrays
            As many arrays as this exchange has. Each array must have the shape and the dtype of the array
            that it replaces. Its strides may be different. A plain array in the place of a
            `tempi.Field` gets the arguments of this field.

        Returns
        -------
        HaloExchange
            Free it like any other exchange, before or after this one.

        Raises
        ------
        TypeError, ValueError
            If an array has another shape or dtype. Other ranks do not raise an error.
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
        fields, found = pattern.arguments.find_again(_listed(arrays), pattern.wish)
        made = object.__new__(HaloExchange)
        made._bind(Bound(pattern, fields, found, lambda make: make()))
        return made

    def _bind(self, bound: Bound) -> None:
        self.grid: ProcessGrid | BlockGraph = bound.pattern.grid
        self._bound, self._messages = bound, bound.messages
        self._state = "idle"

    def start(self, stream: Any = None) -> None:
        """Start to send own cells and to receive ghost cells, after the earlier work of the arrays' streams.

        Until `finish` returns, you may read own cells. You may not write own cells, and you may neither read
        nor write ghost cells.

        Parameters
        ----------
        stream : stream or int, optional
            A CUDA stream, as for `tempi.stream`. The exchange is then enqueued in this stream. Pass the same
            stream to `finish`.

        Raises
        ------
        RuntimeError
            If the exchange is already started or freed, or if work on a stream has failed.
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
            The stream that was passed to `start`. The stream waits for the messages. The CPU does not wait.
            `boundary` must queue its work in this stream.

        Raises
        ------
        RuntimeError
            If the exchange is not started, or is started on another stream.
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

        The exchange runs after the earlier work of the stream, and before its later work. It can be captured
        into a CUDA graph. The first call waits until all neighbours have also made their first call. Keep the
        arrays as long as the program launches a captured graph.

        In some cases, no kernel can carry out the exchange: with arrays in host memory, between nodes, and
        between ranks that use the same GPU. Then the CPU waits for the stream and for the exchange. If all
        arrays are in host memory, the CPU waits for the exchange only: synchronize the stream first.

        Parameters
        ----------
        stream : stream or int
            As for `tempi.stream`. `boundary` must queue its work in this stream.

        Raises
        ------
        RuntimeError
            If the exchange is already started or freed.
        mpi4py.MPI.Exception
            If the process of a neighbour has ended, or if the stream is being captured and the exchange needs
            the CPU.
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

        This is the adjoint (the transpose) of an exchange without `boundary`. It is used for gradients and
        for the assembly of finite elements. Ghost cells that an exchange does not fill do not change. An
        array may hold integers, float32, float64, complex64 or complex128. The sums have the same bits in
        each run.

        Raises
        ------
        TypeError
            If an array holds numbers of another type.
        RuntimeError
            If an exchange is started or freed; if an array is in GPU memory and TEMPI is off; or if another
            rank has no memory for its messages.
        MemoryError
            If there is no memory for the messages.

        Notes
        -----
        The first call allocates memory: twice the size of the own cells that the neighbours receive, and the
        size of the ghost cells. `free` releases this memory.
        """
        self._must_be("idle")
        self._bound.accumulate()

    def free(self) -> None:
        """Free the requests, and release the arrays. Collective.

        This exchange and the exchanges that `with_arrays` made from it share a communicator. It is freed with
        the last of them. A ``with`` block calls `free` at its end.

        Raises
        ------
        RuntimeError
            If the exchange is started and not finished, or already freed.
        """
        self._must_be("idle")
        self._bound.free()
        self._state = "freed"

    def _must_be(self, state: str) -> None:
        if self._state == state:
            return
        is_of_another_stream = not {"idle", "freed"} & {self._state, state}
        hint = ": pass the stream of start to finish, or no stream to both" if is_of_another_stream else ""
        raise RuntimeError(f"the halo exchange is {self._state}; this call needs one that is {state}{hint}")

    def __repr__(self) -> str:
        what = about(self.grid, self._bound.pattern.wish, self._bound.memory)
        messages = summary(self._bound.traffic, self._messages.ways)
        return f"<HaloExchange, {self._state}: {what}; {messages}>"

    def _repr_html_(self) -> str:
        return table(self, self._bound.traffic, self._messages.ways)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse copies and pickles: they would share the requests of this exchange, or have none."""
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
