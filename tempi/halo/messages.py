"""The messages of a halo exchange, made once and used again and again.

Cells to oneself need no message: in host memory they are copied, in GPU memory packed and unpacked at once,
unless the shim writes messages straight into the receiver's buffer. GPU memory: one message of the derived
datatype to each rank; the shim chooses its strategy. Host memory: the same with Open MPI, which packs into
the memory that its ranks share; with other libraries packed, sent and unpacked, because MPICH takes two to
four times as long to send derived datatypes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mpi4py import MPI

from tempi import _native
from tempi._library import enabled, library
from tempi.cuda.device_memory import DeviceMemory
from tempi.enqueue import Enqueued
from tempi.halo.own_cells import copies_of
from tempi.halo.region_types import Span, Strided

CellsByRank = dict[int, list[Strided]]  # the cells of each message, by the rank at the other end


class Packing(NamedTuple):
    """Cells of the arrays, and the memory that they are packed into or unpacked from."""

    arrays: MPI.buffer
    datatype: MPI.Datatype
    packed: MPI.buffer

    def pack(self) -> None:
        """Out of the arrays."""
        self.datatype.Pack(self.arrays, self.packed, 0, MPI.COMM_SELF)

    def unpack(self) -> None:
        """Into the arrays."""
        self.datatype.Unpack(self.packed, 0, self.arrays, MPI.COMM_SELF)


class Messages:
    """The messages that one rank sends and receives; started and finished any number of times.

    The kind of memory (GPU: of at least one array) and the MPI library determine which lists have entries:

    ==========================  ==========================================  ========================
    memory                      cells of other ranks                        cells to oneself
    ==========================  ==========================================  ========================
    GPU, `goes_direct`          ``_ready``: receives and sends              ``_ready``
    GPU, else                   ``_ready``: receives and sends              ``_own``
    host, Open MPI              ``_ready``: receives and sends              ``_own_copies``
    host, other libraries       ``_ready``: receives of packed cells;       ``_own_copies``
                                ``_unpackings``, ``_packed_sends``
    ==========================  ==========================================  ========================

    ``_requests`` has all requests, ``_receives`` all receives, ``_datatypes`` all datatypes.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        For these messages alone.
    sent, received : dict
        Cells by rank. Both ends list equally large parts in the same order.
    owners : sequence
        The object that keeps the cells' memory alive.
    gpu_array : Strided, optional
        One of the arrays that are in GPU memory, if any are.
    tag : int
        Of all messages. A wildcard would end direct messages.

    Attributes
    ----------
    ways : dict
        By rank: how its message travels, in words.
    """

    _enqueued: Enqueued | None

    def __init__(
        self,
        comm: MPI.Intracomm,
        sent: CellsByRank,
        received: CellsByRank,
        owners: Sequence[object],
        gpu_array: Strided | None = None,
        tag: int = 0,
    ) -> None:
        every = [*sent.values(), *received.values()]
        self._span = Span.of(part for parts in every for part in parts)
        self._arrays = self._span.buffer()
        self._forget()
        self._owners: Sequence[object] = owners
        self._tag = tag
        try:
            self._make(comm, sent, received, gpu_array)
        except BaseException:
            self.free()
            raise

    def start(self) -> None:
        """Start all messages, then copy the cells to oneself."""
        MPI.Prequest.Startall(self._ready)
        for packing, request in self._packed_sends:
            packing.pack()
            request.Start()
        for copies in self._own_copies:
            copies.run()
            MPI.Prequest.Testall(self._requests)  # messages go on meanwhile
        for out, back in self._own:
            out.pack()
            back.unpack()

    def finish(self) -> None:
        """Wait for all messages."""
        MPI.Prequest.Waitall(self._requests)
        for packing in self._unpackings:
            packing.unpack()

    def may_be_enqueued(self) -> bool:
        """True if nothing but requests of derived datatypes carries the cells."""
        return bool(self._ready) and not (self._own_copies or self._own or self._packed_sends)

    def start_enqueue(self, stream: int) -> None:
        """Start all messages on a CUDA stream."""
        if self._enqueued is None:
            self._enqueued = Enqueued(self._ready)
        self._enqueued.start(stream)

    def wait_enqueue(self, stream: int) -> None:
        """Later work of the stream comes after all messages."""
        assert self._enqueued is not None
        self._enqueued.wait(stream)

    def is_done(self) -> bool:
        """True if no message is under way, finished or not."""
        return bool(MPI.Prequest.Testall(self._requests))

    def cancel(self) -> None:
        """Cancel the receives that nobody has sent anything to. Sends are left to those who wait for them."""
        for request in self._receives:
            if not request.Test():
                request.Cancel()
                request.Wait()

    def free(self) -> None:
        """Free requests, datatypes and memory."""
        for request in self._requests:
            request.Free()
        for datatype in self._datatypes:
            datatype.Free()
        self._forget()

    def _forget(self) -> None:
        """Reset to the state before construction."""
        self._datatypes: list[MPI.Datatype] = []
        self._requests: list[MPI.Prequest] = []
        self._receives: list[MPI.Prequest] = []
        self._ready: list[MPI.Prequest] = []
        self._own_copies: list[_native.HostCopies] = []
        self._own: list[tuple[Packing, Packing]] = []
        self._packed_sends: list[tuple[Packing, MPI.Prequest]] = []
        self._unpackings: list[Packing] = []
        self._device_memory: DeviceMemory | None = None
        self._enqueued = None
        self._owners = ()
        self.ways: dict[int, str] = {}

    def _make(
        self, comm: MPI.Intracomm, sent: CellsByRank, received: CellsByRank, gpu_array: Strided | None
    ) -> None:
        packed = () if gpu_array is not None and goes_direct() else (comm.rank,)
        out, back = (each.get(comm.rank, []) if packed else [] for each in (sent, received))
        if gpu_array is None:
            self._own_copies = copies_of(out, back)
        elif out:
            self._own = [self._own_packings(out, back, gpu_array)]
        to, of = ({rank: each[rank] for rank in each if rank not in packed} for each in (sent, received))
        is_packed = gpu_array is None and MPI.get_vendor()[0] != "Open MPI"
        self.ways = dict.fromkeys({**to, **of}, _way(gpu_array is not None, is_packed))
        self.ways |= dict.fromkeys(packed if out else (), "copied, without a message")
        if is_packed:
            receives = self._packed(comm.Recv_init, of)
            self._unpackings = [packing for packing, _ in receives]
            self._receives = self._ready = [request for _, request in receives]
            self._packed_sends = self._packed(comm.Send_init, to)
        else:
            self._receives = self._typed(comm.Recv_init, of)
            self._ready = self._receives + self._typed(comm.Send_init, to)

    def _datatype(self, parts: Sequence[Strided]) -> MPI.Datatype:
        self._datatypes.append(self._span.datatype(parts))
        return self._datatypes[-1]

    def _request(self, made: MPI.Prequest) -> MPI.Prequest:
        self._requests.append(made)
        return made

    def _typed(self, init: Callable[..., MPI.Prequest], by_rank: CellsByRank) -> list[MPI.Prequest]:
        return [
            self._request(init([self._arrays, 1, self._datatype(parts)], rank, self._tag))
            for rank, parts in by_rank.items()
        ]

    def _packed(
        self, init: Callable[..., MPI.Prequest], by_rank: CellsByRank
    ) -> list[tuple[Packing, MPI.Prequest]]:
        made = []
        for rank, parts in by_rank.items():
            datatype = self._datatype(parts)
            packed = MPI.buffer.allocate(datatype.Pack_size(1, MPI.COMM_SELF))
            request = self._request(init([packed, MPI.PACKED], rank, self._tag))
            made.append((Packing(self._arrays, datatype, packed), request))
        return made

    def _own_packings(
        self, sent: Sequence[Strided], received: Sequence[Strided], gpu_array: Strided
    ) -> tuple[Packing, Packing]:
        out, back = self._datatype(sent), self._datatype(received)
        packed = self._on_gpu(out.Pack_size(1, MPI.COMM_SELF), gpu_array)
        return Packing(self._arrays, out, packed), Packing(self._arrays, back, packed)

    def _on_gpu(self, n_bytes: int, beside: Strided) -> MPI.buffer:
        self._device_memory = DeviceMemory(beside.address, n_bytes)
        return MPI.buffer.fromaddress(self._device_memory.address, n_bytes)


def _way(is_on_gpu: bool, is_packed: bool) -> str:
    if is_packed:
        return "packed, one message"
    if not is_on_gpu or not enabled():
        return "one message of an MPI datatype"
    return (
        "one message of an MPI datatype, direct where TEMPI can"
        if goes_direct()
        else "one message, packed by TEMPI"
    )


def goes_direct() -> bool:
    """True if a kernel writes a message to oneself in GPU memory from layout to layout."""
    return not library().direct().startswith("no")
