"""The adjoint of a halo exchange: each ghost cell is added to the cell that it is a copy of, then set to 0.

One message comes from each rank, with its ghost cells. An own cell may be wanted by several ranks, and by one
rank in several directions, so the messages are received side by side and added in rounds: in each round no
own cell occurs twice. A round packs its own cells, adds with MPI_Reduce_local, and unpacks them. So the sums
run where the arrays are, and have the same bits each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from mpi4py import MPI

from tempi._library import enabled
from tempi.arrays.strides import c_strides
from tempi.cuda.device_memory import DeviceMemory
from tempi.halo.messages import Packing
from tempi.halo.pieces import Piece, Pieces
from tempi.halo.region_types import Span, Strided

ALIGNMENT = 16  # of the largest numbers

_NUMBERS = {
    "i1": MPI.INT8_T,
    "i2": MPI.INT16_T,
    "i4": MPI.INT32_T,
    "i8": MPI.INT64_T,
    "u1": MPI.UINT8_T,
    "u2": MPI.UINT16_T,
    "u4": MPI.UINT32_T,
    "u8": MPI.UINT64_T,
    "f4": MPI.FLOAT,
    "f8": MPI.DOUBLE,
    "c8": MPI.C_FLOAT_COMPLEX,
    "c16": MPI.C_DOUBLE_COMPLEX,
}


def number_type(dtype: np.dtype[Any]) -> MPI.Datatype:
    """The MPI datatype that MPI_SUM adds; TypeError if the elements are no numbers in native byte order."""
    found = _NUMBERS.get(f"{dtype.kind}{dtype.itemsize}") if dtype.isnative else None
    if found is None:
        raise TypeError(
            f"accumulate adds integers, float32, float64, complex64 and complex128; an array is of {dtype}"
        )
    return found


@dataclass(frozen=True)
class _Sum:
    """Numbers of one type, one after the other in both buffers."""

    received: MPI.buffer
    packed: MPI.buffer
    count: int
    datatype: MPI.Datatype

    def add(self) -> None:
        MPI.SUM.Reduce_local(
            [self.received, self.count, self.datatype], [self.packed, self.count, self.datatype]
        )


class Adjoint:
    """The messages and sums of one rank; run any number of times.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        The exchange's own.
    own, ghosts : Pieces
        The cells that the exchange sends and receives; the adjoint receives and sends them.
    dtypes : sequence of numpy.dtype
        Of each array.
    gpu_array : Strided, optional
        One of the arrays that are in GPU memory, if any are.
    tag : int
        Another one than that of the exchange.

    Raises
    ------
    TypeError
        If an array does not hold numbers.
    RuntimeError
        If an array is in GPU memory and TEMPI is off.
    """

    def __init__(
        self,
        comm: MPI.Intracomm,
        own: Pieces,
        ghosts: Pieces,
        dtypes: Sequence[np.dtype[Any]],
        gpu_array: Strided | None,
        tag: int,
    ) -> None:
        self._types = [number_type(dtype) for dtype in dtypes]
        if gpu_array is not None and not enabled():
            raise RuntimeError("accumulate adds arrays in GPU memory with TEMPI only, which is off")
        self._gpu_array, self._tag = gpu_array, tag
        self._forget()
        try:
            self._make(comm, own, ghosts)
        except BaseException:
            self.free()
            raise

    def run(self) -> None:
        """Send the ghost cells, set them to 0, and add what is received."""
        MPI.Prequest.Startall(self._requests)
        MPI.Prequest.Waitall(self._requests)
        if self._zeros is not None:
            self._zeros.unpack()
        for packing, sums in self._rounds:
            packing.pack()
            for each in sums:
                each.add()
            packing.unpack()

    def free(self) -> None:
        """Free requests, datatypes and memory."""
        for request in self._requests:
            request.Free()
        for datatype in self._datatypes:
            datatype.Free()
        self._forget()

    def _forget(self) -> None:
        """Reset to the state before construction."""
        self._memory: list[object] = []  # buffers by address do not keep it
        self._datatypes: list[MPI.Datatype] = []
        self._requests: list[MPI.Prequest] = []
        self._rounds: list[tuple[Packing, list[_Sum]]] = []
        self._zeros: Packing | None = None

    def _make(self, comm: MPI.Intracomm, own: Pieces, ghosts: Pieces) -> None:
        self._span = Span.of(
            piece.cells for each in (own, ghosts) for part in each.values() for piece in part
        )
        self._arrays = self._span.buffer()
        wanted = [piece for rank in own for piece in own[rank]]
        rounds = rounds_of(wanted)
        offsets, bounds = offsets_of(rounds, wanted)
        received = self._allocate(bounds[-1])
        packed = self._allocate(max(end - begin for begin, end in pairwise(bounds)) if rounds else 0)
        self._rounds = [
            self._round([wanted[i] for i in one], received.address + begin, packed.address)
            for one, begin in zip(rounds, bounds, strict=False)
        ]
        self._receive(comm, own, [received.address + offset for offset in offsets], received)
        self._send(comm, ghosts)

    def _allocate(self, n_bytes: int) -> MPI.buffer:
        """Zeros beside the arrays."""
        zeros = MPI.buffer.allocate(max(1, n_bytes), clear=True)
        if self._gpu_array is None:
            self._memory.append(zeros)
            return zeros
        memory = DeviceMemory(self._gpu_array.address, len(zeros))
        self._memory.append(memory)
        found = MPI.buffer.fromaddress(memory.address, len(zeros))
        MPI.BYTE.Unpack(zeros, 0, found, MPI.COMM_SELF)
        return found

    def _round(self, pieces: Sequence[Piece], received: int, packed: int) -> tuple[Packing, list[_Sum]]:
        """The rounds that pack own cells, and add the numbers from address `received` on."""
        n_bytes = sum(piece.cells.n_bytes for piece in pieces)
        buffer = MPI.buffer.fromaddress(packed, n_bytes)
        packing = Packing(self._arrays, self._datatype([piece.cells for piece in pieces]), buffer)
        sums, begin = [], 0
        for datatype, same in groupby(pieces, lambda piece: self._types[piece.array]):
            n = sum(piece.cells.n_bytes for piece in same)
            here, there = (MPI.buffer.fromaddress(base + begin, n) for base in (received, packed))
            sums.append(_Sum(here, there, n // datatype.size, datatype))
            begin += n
        return packing, sums

    def _receive(
        self, comm: MPI.Intracomm, own: Pieces, addresses: Sequence[int], received: MPI.buffer
    ) -> None:
        """Each message's pieces go to their addresses, one after the other in all messages."""
        span, rest = Span(received.address, received.address + len(received)), iter(addresses)
        for rank, pieces in own.items():
            parts = [contiguous(next(rest), piece.cells) for piece in pieces]
            self._datatypes.append(span.datatype(parts))
            self._requests.append(comm.Recv_init([received, 1, self._datatypes[-1]], rank, self._tag))

    def _send(self, comm: MPI.Intracomm, ghosts: Pieces) -> None:
        for rank, pieces in ghosts.items():
            datatype = self._datatype([piece.cells for piece in pieces])
            self._requests.append(comm.Send_init([self._arrays, 1, datatype], rank, self._tag))
        every = [piece.cells for pieces in ghosts.values() for piece in pieces]
        zeros = self._allocate(sum(cells.n_bytes for cells in every))
        self._zeros = Packing(self._arrays, self._datatype(every), zeros) if every else None

    def _datatype(self, parts: Sequence[Strided]) -> MPI.Datatype:
        self._datatypes.append(self._span.datatype(parts))
        return self._datatypes[-1]


def contiguous(address: int, like: Strided) -> Strided:
    """Cells of the same shape, one after the other."""
    return Strided(address, like.shape, c_strides(like.shape, like.cell_bytes), like.cell_bytes)


def rounds_of(pieces: Sequence[Piece]) -> list[list[int]]:
    """The numbers of the pieces that are added at a time: no two of them share a cell.

    Large elements come first, so that all are aligned where the first one is.
    """
    rounds: list[list[int]] = []
    for number, piece in enumerate(pieces):
        fits = (one for one in rounds if not any(_share_cells(piece, pieces[other]) for other in one))
        one = next(fits, None)
        if one is None:
            rounds.append(one := [])
        one.append(number)
    for one in rounds:
        one.sort(key=lambda number: (-pieces[number].cells.cell_bytes, pieces[number].array))
    return rounds


def _share_cells(one: Piece, other: Piece) -> bool:
    """True if two regions of the same array overlap."""
    return one.array == other.array and all(
        here.start < there.stop and there.start < here.stop
        for here, there in zip(one.region, other.region, strict=True)
    )


def offsets_of(rounds: Sequence[Sequence[int]], pieces: Sequence[Piece]) -> tuple[list[int], list[int]]:
    """The bytes before each piece, round after round, and the bytes before each round and behind the last."""
    offsets, bounds, end = [0] * len(pieces), [0], 0
    for one in rounds:
        for number in one:
            offsets[number] = end
            end += pieces[number].cells.n_bytes
        end += -end % ALIGNMENT
        bounds.append(end)
    return offsets, bounds
