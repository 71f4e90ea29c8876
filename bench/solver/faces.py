"""The geometry of a block with six neighbours, and the values that its cells must have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from mpi4py import MPI

Box = tuple[slice, slice, slice]
Doubles = np.ndarray[Any, np.dtype[np.float64]]
NOT_RECEIVED = -1.0


@dataclass(frozen=True)
class Face:
    """The outermost owned points on one side, which travel to the neighbour there.

    Attributes
    ----------
    sent, ghosts : tuple of slice
        The points that this rank sends, and the ghost cells for those that come from the opposite side.
    to, source : int
        The ranks of both messages.
    """

    sent: Box
    ghosts: Box
    to: int
    source: int


def faces_of(comm: MPI.Cartcomm, edge: int) -> list[Face]:
    """The six faces: for each axis the message downwards, then the message upwards."""
    faces = []
    for axis in range(3):
        below, above = comm.Shift(axis, 1)
        faces.append(Face(_layer(edge, axis, 1), _layer(edge, axis, edge + 1), below, above))
        faces.append(Face(_layer(edge, axis, edge), _layer(edge, axis, 0), above, below))
    return faces


def owned(edge: int) -> Box:
    """The points of a block without its ghost cells."""
    inner = slice(1, edge + 1)
    return inner, inner, inner


def _layer(edge: int, axis: int, at: int) -> Box:
    z, y, x = (slice(at, at + 1) if i == axis else inner for i, inner in enumerate(owned(edge)))
    return z, y, x


def _points(comm: MPI.Cartcomm, edge: int) -> list[Any]:
    """The place in the global grid of every cell of this rank, ghosts included: z, y, x to broadcast."""
    places = [
        (coordinate * edge - 1 + np.arange(edge + 2)) % (n * edge)
        for coordinate, n in zip(comm.coords, comm.dims, strict=True)
    ]
    return list(np.ix_(*places))


def right_side(comm: MPI.Cartcomm, edge: int) -> Doubles:
    """The right-hand side b of A x = b: numbers without a pattern; ghost cells are 0."""
    z, y, x = _points(comm, edge)
    values = ((7919 * z * z + 104729 * y * y + 1299709 * x * x + z * y + y * x) % 1009) / 1009 - 0.5
    b = np.zeros(values.shape)
    b[owned(edge)] = values[owned(edge)]
    return b


def indices(comm: MPI.Cartcomm, edge: int) -> Doubles:
    """The index in the global grid of every cell's owner."""
    z, y, x = _points(comm, edge)
    found: Doubles = ((z * comm.dims[1] * edge + y) * comm.dims[2] * edge + x).astype(float)
    return found


def without_ghosts(values: Doubles) -> Doubles:
    """A copy whose ghost cells hold nothing that could have been received."""
    edge = len(values) - 2
    found = np.full_like(values, NOT_RECEIVED)
    found[owned(edge)] = values[owned(edge)]
    return found


def n_wrong(found: Doubles, wanted: Doubles, faces: list[Face]) -> int:
    """The number of wrong cells: owned ones, and ghost cells beside the faces."""
    boxes = [owned(len(wanted) - 2), *(face.ghosts for face in faces)]
    return sum(int((found[box] != wanted[box]).sum()) for box in boxes)
