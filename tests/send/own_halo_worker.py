"""Halo exchanges of a rank with itself, a message for each direction, all in one array of GPU memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from support import outcomes
from support.direct_counts import direct_since
from support.memory import at_hand

Direction = tuple[int, int, int]


class OwnHalo(NamedTuple):
    """An array of quantity, z, y and x; each direction's cells go to the ghost cells on the opposite side."""

    quantities: int
    edges: tuple[int, int, int]
    radius: int
    dtype: str
    directions: tuple[Direction, ...]
    is_persistent: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.quantities, *(edge + 2 * self.radius for edge in self.edges))

    def box(self, direction: Direction, is_sent: bool) -> tuple[slice, ...]:
        r = self.radius
        box = [slice(0, self.quantities)]
        for edge, step in zip(self.edges, direction, strict=True):
            outermost = {-1: r, 0: r, 1: edge} if is_sent else {-1: edge + r, 0: r, 1: 0}
            box.append(slice(outermost[step], outermost[step] + (r if step else edge)))
        return tuple(box)

    def datatype(self, box: tuple[slice, ...]) -> MPI.Datatype:
        starts, lengths = [s.start for s in box], [s.stop - s.start for s in box]
        scalar = MPI.BYTE.Create_contiguous(np.dtype(self.dtype).itemsize)
        made = scalar.Create_subarray(self.shape, lengths, starts).Commit()
        scalar.Free()
        return made


def exchange(halo: OwnHalo, rounds: int) -> int:
    """As often as that; the messages that were direct."""
    comm, draw = MPI.COMM_SELF.Dup(), np.random.default_rng(5)
    n_bytes = int(np.prod(halo.shape)) * np.dtype(halo.dtype).itemsize
    memory = at_hand("device", np.zeros(n_bytes, np.uint8))
    bytes_there = MPI.buffer.fromaddress(memory.address, n_bytes)
    boxes = [(halo.box(d, is_sent=True), halo.box(d, is_sent=False)) for d in halo.directions]
    types = [tuple(halo.datatype(box) for box in pair) for pair in boxes]
    made = [comm.Recv_init([bytes_there, 1, into], 0, k) for k, (_, into) in enumerate(types) if halo.is_persistent]
    made += [comm.Send_init([bytes_there, 1, out], 0, k) for k, (out, _) in enumerate(types) if halo.is_persistent]
    before = outcomes.rows()
    for _ in range(rounds):
        memory.write(draw.integers(0, 255, n_bytes, np.uint8))
        wanted = memory.read().view(halo.dtype).reshape(halo.shape).copy()
        for sent, received in boxes:
            wanted[received] = wanted[sent]
        if halo.is_persistent:
            MPI.Prequest.Startall(made)
            MPI.Request.Waitall(made)
        else:
            requests = [comm.Irecv([bytes_there, 1, into], 0, k) for k, (_, into) in enumerate(types)]
            requests += [comm.Isend([bytes_there, 1, out], 0, k) for k, (out, _) in enumerate(types)]
            MPI.Request.Waitall(requests)
        assert memory.read().tobytes() == wanted.tobytes()
    for request in made:
        request.Free()
    for pair in types:
        for datatype in pair:
            datatype.Free()
    comm.Free()
    return direct_since(before)
