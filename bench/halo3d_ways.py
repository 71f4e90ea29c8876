"""The ways of a 3-D halo exchange over MPI alone: derived types, MPI_Pack, NumPy by hand, `HaloExchange`.

A way is made for one `Setting`; calling it does one exchange: then the ghost cells hold their owners' points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

import numpy as np
from mpi4py import MPI

from bench.halo3d_grid import BYTES_A_VALUE, DIRECTIONS, Box, Direction, Place, Size, opposite

Message = tuple[list[Any], int, int]  # as mpi4py takes it: [buffer, count, datatype], rank, tag


Doubles = np.ndarray[Any, np.dtype[np.float64]]


class Unavailable(Exception):
    """This way cannot be gone on this machine; says why."""


@dataclass(frozen=True)
class Setting:
    """What an exchange works on.

    Attributes
    ----------
    comm : MPI.Cartcomm
        Periodic, ranks in the order of `Place`.
    xp : module
        NumPy or CuPy: where the data lie.
    data : array of `xp`
        Doubles of shape `size.shape`, C-contiguous.
    """

    comm: MPI.Cartcomm
    size: Size
    place: Place
    xp: Any
    data: Any

    def messages(self) -> Iterator[tuple[Direction, int, int]]:
        """What travels in each direction: the direction, the rank it goes to, the one it comes from."""
        for direction in DIRECTIONS:
            yield direction, self.place.neighbour(direction), self.place.neighbour(opposite(direction))


class Way(Protocol):
    """One way of exchanging."""

    def __call__(self) -> None: ...

    def free(self) -> None:
        """Give back what MPI holds for it."""


def address_of(array: Any) -> int:
    """Where an array's memory begins, on the host or on a GPU."""
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)


def region_type(size: Size, box: Box) -> MPI.Datatype:
    """A struct of subarrays: the box in every quantity."""
    counts = [s.stop - s.start for s in box]
    one = MPI.DOUBLE.Create_subarray([size.padded] * 3, counts, [s.start for s in box])
    distance = BYTES_A_VALUE * size.padded**3
    places = [quantity * distance for quantity in range(size.quantities)]
    whole = MPI.Datatype.Create_struct([1] * size.quantities, places, [one] * size.quantities).Commit()
    one.Free()
    return whole


class RegionTypes:
    """The derived types of what is sent and received in each direction, over the data."""

    def __init__(self, setting: Setting) -> None:
        size = setting.size
        self.data = MPI.buffer.fromaddress(address_of(setting.data), setting.data.nbytes)
        self.sent = [region_type(size, size.sent(d)) for d in DIRECTIONS]
        self.received = [region_type(size, size.ghosts(opposite(d))) for d in DIRECTIONS]

    def messages(self, setting: Setting) -> tuple[list[Message], list[Message]]:
        """What is sent and what is received, the direction as the tag."""
        triples = list(enumerate(setting.messages()))
        sends = [([self.data, 1, self.sent[tag]], to, tag) for tag, (_, to, _) in triples]
        return sends, [([self.data, 1, self.received[tag]], source, tag) for tag, (_, _, source) in triples]

    def free(self) -> None:
        """Free the datatypes."""
        for datatype in (*self.sent, *self.received):
            datatype.Free()


class DerivedTypes:
    """MPI_Isend and MPI_Irecv of a derived type for each neighbour."""

    def __init__(self, setting: Setting) -> None:
        self._comm, self._types = setting.comm, RegionTypes(setting)
        self._sends, self._receives = self._types.messages(setting)

    def __call__(self) -> None:
        requests = [self._comm.Irecv(*message) for message in self._receives]
        requests += [self._comm.Isend(*message) for message in self._sends]
        MPI.Request.Waitall(requests)

    def free(self) -> None:
        self._types.free()


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


class PersistentTypes:
    """The same with persistent requests."""

    def __init__(self, setting: Setting) -> None:
        types = RegionTypes(setting)
        self._requests = Requests(setting.comm, *types.messages(setting))
        types.free()  # the requests keep them as long as they need

    def __call__(self) -> None:
        self._requests()

    def free(self) -> None:
        self._requests.free()


def starts(size: Size) -> list[int]:
    """Where each direction's message starts in a contiguous buffer of all of them; in bytes."""
    sizes = (BYTES_A_VALUE * size.elements(direction) for direction in DIRECTIONS)
    return list(accumulate(sizes, initial=0))[:-1]


def pieces(setting: Setting, address: int) -> list[Any]:
    """A buffer of all messages at an address, cut into one piece a direction."""
    return [
        MPI.buffer.fromaddress(address + at, BYTES_A_VALUE * setting.size.elements(d))
        for at, d in zip(starts(setting.size), DIRECTIONS, strict=True)
    ]


def contiguous_requests(
    setting: Setting, send_address: int, receive_address: int, datatype: MPI.Datatype = MPI.BYTE
) -> Requests:
    """Messages of packed bytes between two buffers as `pieces` cuts them."""
    sends, receives = pieces(setting, send_address), pieces(setting, receive_address)
    triples = list(enumerate(setting.messages()))
    return Requests(
        setting.comm,
        [([sends[tag], len(sends[tag]), datatype], to, tag) for tag, (_, to, _) in triples],
        [([receives[tag], len(receives[tag]), datatype], source, tag) for tag, (_, _, source) in triples],
    )


class Packed:
    """MPI_Pack into contiguous messages, MPI_Unpack out of them; the buffers lie where the data do."""

    def __init__(self, setting: Setting) -> None:
        self._comm, self._types = setting.comm, RegionTypes(setting)
        self._buffers = [setting.xp.empty(setting.size.total_elements) for _ in range(2)]
        out, back = (address_of(buffer) for buffer in self._buffers)
        self._sent, self._received = pieces(setting, out), pieces(setting, back)
        self._requests = contiguous_requests(setting, out, back, MPI.PACKED)

    def __call__(self) -> None:
        for datatype, piece in zip(self._types.sent, self._sent, strict=True):
            datatype.Pack(self._types.data, piece, 0, self._comm)
        self._requests()
        for datatype, piece in zip(self._types.received, self._received, strict=True):
            datatype.Unpack(piece, 0, self._types.data, self._comm)

    def free(self) -> None:
        self._requests.free()
        self._types.free()


def in_all(box: Box) -> tuple[slice, ...]:
    """The box in every quantity."""
    return (slice(None), *box)


class HandOnHost:
    """By hand: NumPy copies every box to where its message is contiguous, and back."""

    def __init__(self, setting: Setting) -> None:
        size, data = setting.size, setting.data
        self._sent = [data[in_all(size.sent(d))] for d in DIRECTIONS]
        self._ghosts = [data[in_all(size.ghosts(opposite(d)))] for d in DIRECTIONS]
        out, back = (np.empty(size.total_elements) for _ in range(2))
        self._packed, self._arrived = (self._messages(size, buffer) for buffer in (out, back))
        self._requests = contiguous_requests(setting, address_of(out), address_of(back))

    @staticmethod
    def _messages(size: Size, buffer: Doubles) -> list[Doubles]:
        firsts = [at // BYTES_A_VALUE for at in starts(size)]
        return [
            buffer[at : at + size.elements(d)].reshape(size.quantities, *size.counts(d))
            for at, d in zip(firsts, DIRECTIONS, strict=True)
        ]

    def __call__(self) -> None:
        for packed, box in zip(self._packed, self._sent, strict=True):
            packed[...] = box
        self._requests()
        for box, arrived in zip(self._ghosts, self._arrived, strict=True):
            box[...] = arrived

    def free(self) -> None:
        self._requests.free()


def halo_exchange(setting: Setting) -> Way:
    """`tempi.HaloExchange` of the quantities as an array each."""
    import tempi

    return tempi.HaloExchange(setting.comm, list(setting.data), setting.size.radius, neighbours="all")
