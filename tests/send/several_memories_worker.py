"""Messages of datatypes whose members lie in several memories, from rank 0 to rank 1."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

from support import memory, outcomes
from support.p2p import PLAIN, Piece, Requests

COMM = MPI.COMM_WORLD
SENDER, RECEIVER = 0, 1


def struct_at(buffers: list[memory.Buffer], sizes: list[int]) -> MPI.Datatype:
    """Addresses, not distances: for MPI_BOTTOM."""
    return MPI.Datatype.Create_struct(sizes, [b.address for b in buffers], [MPI.BYTE] * len(sizes)).Commit()


def transfer(kinds: tuple[str, ...], sizes: list[int], sent: int, immediate: bool) -> str | None:
    """A message of `sent` bytes of the struct's. Returns the receiver's errors."""
    image = np.random.default_rng(sum(sizes)).integers(1, 256, sum(sizes), np.uint8)
    sends = COMM.rank == SENDER
    parts = np.split(image if sends else np.zeros_like(image), np.cumsum(sizes)[:-1])
    buffers = [memory.at_hand(kind, part) for kind, part in zip(kinds, parts, strict=True)]
    if sends and sent < image.size:
        piece, datatype = Piece(memory_of(image).address, sent, MPI.BYTE), None
    else:
        datatype = struct_at(buffers, sizes)
        piece = Piece(0, 1, datatype)
    path = "library" if datatype is None else "oneshot"
    call = ("Isend" if sends else "Irecv") if immediate else ("Send" if sends else "Recv")
    with outcomes.claimed(outcomes.Claim(call, outcomes.one_of(path))):
        run(call, piece, sends)
    if datatype is not None:
        datatype.Free()
    if sends:
        return None
    found = np.concatenate([b.read() for b in buffers])
    expected = np.where(np.arange(image.size) < sent, image, 0)
    return None if (found == expected).all() else f"wrong bytes from {np.argmax(found != expected)} on"


_kept: list[memory.Host] = []


def memory_of(image: np.ndarray) -> memory.Host:
    _kept[:] = [memory.Host(image)]
    return _kept[0]


def run(call: str, piece: Piece, sends: bool) -> None:
    peer = RECEIVER if sends else SENDER
    if call.startswith("I"):
        request = Requests()
        PLAIN(call, piece, peer, 5, COMM, request.at(0))
        PLAIN("Wait", request.at(0), MPI.Status())
    elif sends:
        PLAIN(call, piece, peer, 5, COMM)
    else:
        PLAIN(call, piece, peer, 5, COMM, MPI.Status())
