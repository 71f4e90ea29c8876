"""The ways that communicate by MPI from the memory of the data, and NumPy by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

import tempi
from bench.solver.faces import Face, faces_of
from bench.solver.loop import Block


def memory_of(array: Any) -> MPI.buffer:
    """The memory of a contiguous array for mpi4py, on the host or on a GPU."""
    address = array.ctypes.data if isinstance(array.data, memoryview) else array.data.ptr
    return MPI.buffer.fromaddress(address, array.nbytes)


class Totals:
    """MPI_Allreduce in place, behind all work on the scalar."""

    def __init__(self, comm: MPI.Comm, block: Block) -> None:
        self._comm, self._wait = comm, block.wait
        self._buffers = {id(one): [memory_of(one), 1, MPI.DOUBLE] for one in (block.pq, *block.rr)}

    def __call__(self, scalar: Any) -> None:
        self._wait()
        self._comm.Allreduce(MPI.IN_PLACE, self._buffers[id(scalar)])


def exchange_messages(
    comm: MPI.Comm, faces: Sequence[Face], sent: Sequence[Any], received: Sequence[Any]
) -> None:
    """MPI_Irecv and MPI_Isend of each face; the tag is its number."""
    numbered = list(enumerate(faces))
    requests = [comm.Irecv(received[tag], face.source, tag) for tag, face in numbered]
    requests += [comm.Isend(sent[tag], face.to, tag) for tag, face in numbered]
    MPI.Request.Waitall(requests)


class DerivedTypes:
    """MPI_Isend and MPI_Irecv of a subarray for each face."""

    def __init__(self, comm: MPI.Cartcomm, block: Block) -> None:
        self._comm, self._wait = comm, block.wait
        self._faces = faces_of(comm, len(block.p) - 2)
        self.total = Totals(comm, block)
        memory, shape = memory_of(block.p), block.p.shape
        sent = [_subarray(shape, face.sent) for face in self._faces]
        received = [_subarray(shape, face.ghosts) for face in self._faces]
        self._types = sent + received
        self._sent, self._received = ([[memory, 1, one] for one in types] for types in (sent, received))

    def exchange(self) -> None:
        self._wait()
        exchange_messages(self._comm, self._faces, self._sent, self._received)

    def free(self) -> None:
        for datatype in self._types:
            datatype.Free()


def _subarray(shape: Sequence[int], box: Sequence[slice]) -> MPI.Datatype:
    counts = [part.stop - part.start for part in box]
    return MPI.DOUBLE.Create_subarray(shape, counts, [part.start for part in box]).Commit()


class Halo:
    """`tempi.HaloExchange`."""

    def __init__(self, comm: MPI.Cartcomm, block: Block) -> None:
        self._wait = block.wait
        self._halo = tempi.HaloExchange(comm, block.p, neighbours="faces")
        self.total = Totals(comm, block)

    def exchange(self) -> None:
        self._wait()
        self._halo()

    def free(self) -> None:
        self._halo.free()


class HandOnHost:
    """By hand: NumPy copies each face into a contiguous message, and back."""

    def __init__(self, comm: MPI.Cartcomm, block: Block) -> None:
        self._comm, self._faces = comm, faces_of(comm, len(block.p) - 2)
        self.total = Totals(comm, block)
        self._own = [block.p[face.sent] for face in self._faces]
        self._ghosts = [block.p[face.ghosts] for face in self._faces]
        self._sent = [np.empty(own.shape) for own in self._own]
        self._received = [np.empty(ghosts.shape) for ghosts in self._ghosts]

    def exchange(self) -> None:
        for own, packed in zip(self._own, self._sent, strict=True):
            packed[...] = own
        exchange_messages(self._comm, self._faces, self._sent, self._received)
        for ghosts, packed in zip(self._ghosts, self._received, strict=True):
            ghosts[...] = packed

    def free(self) -> None: ...
