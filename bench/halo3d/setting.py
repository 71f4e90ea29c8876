"""The parts of every way of a 3-D halo exchange over MPI: the data, and persistent requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from mpi4py import MPI

from bench.halo3d.grid import Place, Size
from bench.halo3d.packing import Packing, received_packing, sent_packing

Message = tuple[list[Any], int, int]  # as mpi4py takes it: [buffer, count, datatype], rank, tag


class Unavailable(Exception):
    """This way is not possible on this machine; the text has the reason."""


@dataclass(frozen=True)
class Setting:
    """The data of an exchange.

    Attributes
    ----------
    comm : MPI.Cartcomm
        Periodic, ranks in the order of `Place`.
    xp : module
        NumPy or CuPy: the memory of the data.
    data : array of `xp`
        Doubles of shape `size.shape`, C-contiguous.
    """

    comm: MPI.Cartcomm
    size: Size
    place: Place
    xp: Any
    data: Any

    @cached_property
    def sent(self) -> Packing:
        """The places of sent boxes in a contiguous buffer."""
        return sent_packing(self.size, self.place)

    @cached_property
    def received(self) -> Packing:
        """The places of received boxes in a contiguous buffer."""
        return received_packing(self.size, self.place)


class Way(Protocol):
    """One way of exchanging."""

    def __call__(self) -> None: ...

    def free(self) -> None:
        """Give back what MPI holds for it."""


@runtime_checkable
class TimesItself(Protocol):
    """A way whose exchanges follow each other in C, as those of a C program."""

    def times(self, n: int) -> list[float]:
        """Seconds of this rank for each of `n` exchanges, before which all ranks meet."""


def address_of(array: Any) -> int:
    """The address of an array's memory, on the host or on a GPU."""
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)


def memory_at(address: int, n_bytes: int) -> MPI.buffer:
    """Bytes for mpi4py, on the host or on a GPU."""
    return MPI.buffer.fromaddress(address, n_bytes)


class Requests:
    """Persistent requests, receives first."""

    def __init__(self, comm: MPI.Comm, sends: Sequence[Message], receives: Sequence[Message]) -> None:
        self._requests = [comm.Recv_init(*message) for message in receives]
        self._requests += [comm.Send_init(*message) for message in sends]

    def __call__(self) -> None:
        MPI.Prequest.Startall(self._requests)
        MPI.Request.Waitall(self._requests)

    def free(self) -> None:
        for request in self._requests:
            request.Free()


def contiguous_requests(
    setting: Setting, send_address: int, receive_address: int, datatype: MPI.Datatype = MPI.BYTE
) -> Requests:
    """One message of packed bytes to and from each rank, between two buffers."""

    def of(packing: Packing, address: int) -> list[Message]:
        found = [
            (message, memory_at(address + message.start, message.n_bytes)) for message in packing.messages
        ]
        return [([memory, message.n_bytes, datatype], message.peer, 0) for message, memory in found]

    return Requests(setting.comm, of(setting.sent, send_address), of(setting.received, receive_address))
