"""The ways of a 3-D halo exchange over MPI alone: derived types, MPI_Pack, NumPy by hand, `HaloExchange`.

A way is made for one `Setting`; calling it does one exchange: then the ghost cells hold their owners' points.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from mpi4py import MPI

import tempi
from bench.halo3d.grid import BYTES_A_VALUE, DIRECTIONS, Box, Direction, Place, Size, opposite
from bench.halo3d.packing import Packing
from bench.halo3d.setting import Message, Requests, Setting, Way, address_of, contiguous_requests, memory_at

Doubles = np.ndarray[Any, np.dtype[np.float64]]


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
    """The derived types of the sent and received boxes in each direction, over the data."""

    def __init__(self, setting: Setting) -> None:
        size = setting.size
        self.data = memory_at(address_of(setting.data), setting.data.nbytes)
        self.sent = {d: region_type(size, size.sent(d)) for d in DIRECTIONS}
        self.received = {d: region_type(size, size.ghosts(opposite(d))) for d in DIRECTIONS}

    def messages(self, place: Place) -> tuple[list[Message], list[Message]]:
        """The messages to and from each of the 26 neighbours, with the direction as the tag."""
        numbered = list(enumerate(DIRECTIONS))
        sends = [([self.data, 1, self.sent[d]], place.neighbour(d), tag) for tag, d in numbered]
        sources = [(tag, d, place.neighbour(opposite(d))) for tag, d in numbered]
        return sends, [([self.data, 1, self.received[d]], source, tag) for tag, d, source in sources]

    def free(self) -> None:
        """Free the datatypes."""
        for datatype in (*self.sent.values(), *self.received.values()):
            datatype.Free()


class DerivedTypes:
    """MPI_Isend and MPI_Irecv of a derived type for each neighbour."""

    def __init__(self, setting: Setting) -> None:
        self._comm, self._types = setting.comm, RegionTypes(setting)
        self._sends, self._receives = self._types.messages(setting.place)

    def __call__(self) -> None:
        requests = [self._comm.Irecv(*message) for message in self._receives]
        requests += [self._comm.Isend(*message) for message in self._sends]
        MPI.Request.Waitall(requests)

    def free(self) -> None:
        self._types.free()


class PersistentTypes:
    """The same with persistent requests."""

    def __init__(self, setting: Setting) -> None:
        types = RegionTypes(setting)
        self._requests = Requests(setting.comm, *types.messages(setting.place))
        types.free()  # the requests keep them as long as they need

    def __call__(self) -> None:
        self._requests()

    def free(self) -> None:
        self._requests.free()


class NeighborTypes:
    """MPI_Neighbor_alltoallw of the same types on a graph of the 26 neighbours."""

    def __init__(self, setting: Setting) -> None:
        types = self._types = RegionTypes(setting)
        sources = [setting.place.neighbour(opposite(d)) for d in DIRECTIONS]
        destinations = [setting.place.neighbour(d) for d in DIRECTIONS]
        # not of the Cartesian communicator: Open MPI 5.0.11 crashes on such a graph
        self._comm = MPI.COMM_WORLD.Create_dist_graph_adjacent(sources, destinations)
        n = len(DIRECTIONS)
        self._sent = [types.data, [1] * n, [0] * n, [types.sent[d] for d in DIRECTIONS]]
        self._received = [types.data, [1] * n, [0] * n, [types.received[d] for d in DIRECTIONS]]

    def __call__(self) -> None:
        self._comm.Neighbor_alltoallw(self._sent, self._received)

    def free(self) -> None:
        self._comm.Free()
        self._types.free()


class Packed:
    """MPI_Pack into contiguous messages, MPI_Unpack out of them; the buffers are in the data's memory."""

    def __init__(self, setting: Setting) -> None:
        self._comm, self._types = setting.comm, RegionTypes(setting)
        self._buffers = [setting.xp.empty(setting.size.total_elements) for _ in range(2)]
        out, back = (address_of(buffer) for buffer in self._buffers)
        self._packed = self._pieces(setting.size, setting.sent, self._types.sent, out)
        self._arrived = self._pieces(setting.size, setting.received, self._types.received, back)
        self._requests = contiguous_requests(setting, out, back, MPI.PACKED)

    @staticmethod
    def _pieces(
        size: Size, packing: Packing, types: Mapping[Direction, MPI.Datatype], address: int
    ) -> list[tuple[MPI.Datatype, MPI.buffer]]:
        return [
            (types[direction], memory_at(address + start, BYTES_A_VALUE * size.elements(direction)))
            for direction, start in zip(packing.order, packing.starts, strict=True)
        ]

    def __call__(self) -> None:
        for datatype, piece in self._packed:
            datatype.Pack(self._types.data, piece, 0, self._comm)
        self._requests()
        for datatype, piece in self._arrived:
            datatype.Unpack(piece, 0, self._types.data, self._comm)

    def free(self) -> None:
        self._requests.free()
        self._types.free()


class HandOnHost:
    """By hand: NumPy copies every box into its contiguous message, and back."""

    def __init__(self, setting: Setting) -> None:
        size, data = setting.size, setting.data
        out, back = (np.empty(size.total_elements) for _ in range(2))
        sent = {d: data[in_all(size.sent(d))] for d in DIRECTIONS}
        ghosts = {d: data[in_all(size.ghosts(opposite(d)))] for d in DIRECTIONS}
        self._packed = self._pairs(setting.sent, sent, out)
        self._arrived = self._pairs(setting.received, ghosts, back)
        self._requests = contiguous_requests(setting, address_of(out), address_of(back))

    @staticmethod
    def _pairs(
        packing: Packing, boxes: Mapping[Direction, Doubles], buffer: Doubles
    ) -> list[tuple[Doubles, Doubles]]:
        firsts = [start // BYTES_A_VALUE for start in packing.starts]
        pairs = [(boxes[d], first) for d, first in zip(packing.order, firsts, strict=True)]
        return [(box, buffer[first : first + box.size].reshape(box.shape)) for box, first in pairs]

    def __call__(self) -> None:
        for box, packed in self._packed:
            packed[...] = box
        self._requests()
        for box, arrived in self._arrived:
            box[...] = arrived

    def free(self) -> None:
        self._requests.free()


def in_all(box: Box) -> tuple[slice, ...]:
    """The box in every quantity."""
    return (slice(None), *box)


def halo_exchange(setting: Setting) -> Way:
    """`tempi.HaloExchange` of the quantities as an array each."""
    return tempi.HaloExchange(setting.comm, list(setting.data), setting.size.radius)
