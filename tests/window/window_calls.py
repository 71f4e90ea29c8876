"""Windows over GPU memory, and calls of MPI on them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from mpi4py import MPI

from support import calls
from support.memory import at_hand
from support.p2p import Form, Piece, Requests
from support.typemap import Bytes, Named

COMM = MPI.COMM_WORLD
INT = Named("INT")


class Memory:
    """A rank's part of a window."""

    def __init__(self, kind: str, contents: Bytes) -> None:
        self._context = at_hand("device", np.zeros(1, np.uint8))  # each process of the window needs one
        self.buffer = at_hand(kind, contents)
        self.n_bytes = len(contents)

    def read(self) -> Bytes:
        return self.buffer.read()

    def window(self, unit: int = 1, comm: MPI.Comm = COMM) -> MPI.Win:
        return MPI.Win.Create(MPI.memory.fromaddress(self.buffer.address, self.n_bytes), unit, comm=comm)


class Attached:
    """Two parts of a rank's memory, of two kinds, which are attached to a dynamic window: halves, unless the number of
    bytes of the first one is given."""

    def __init__(self, kinds: tuple[str, str], contents: Bytes, n_first: int | None = None) -> None:
        self._context = at_hand("device", np.zeros(1, np.uint8))
        split = len(contents) // 2 if n_first is None else n_first
        parts = contents[:split], contents[split:]
        self._halves = [at_hand(kind, part) for kind, part in zip(kinds, parts, strict=True)]
        self.ranges = [(half.address, len(part)) for half, part in zip(self._halves, parts, strict=True)]

    def window(self) -> MPI.Win:
        win = MPI.Win.Create_dynamic(comm=COMM)
        for address, n_bytes in self.ranges:
            win.Attach(MPI.memory.fromaddress(address, n_bytes))
        return win

    def detach(self, win: MPI.Win) -> None:
        for address, n_bytes in self.ranges:
            win.Detach(MPI.memory.fromaddress(address, n_bytes))

    def read(self) -> Bytes:
        return np.concatenate([half.read() for half in self._halves])


@contextmanager
def window_of(kind: str, values: Any, unit: int = 1) -> Iterator[tuple[MPI.Win, Any]]:
    memory = Memory(kind, np.ascontiguousarray(values).view(np.uint8).ravel())
    win = memory.window(unit)
    yield win, memory.buffer
    win.Free()


def rma(
    form: Form, name: str, win: MPI.Win, origin: Piece, target: int, at: int, there: tuple[int, MPI.Datatype],
    op: MPI.Op | None = None, result: Piece | None = None,
) -> Requests | None:  # fmt: skip
    """Makes the call; its request, if it has one."""
    function, large = form.symbol(name)
    count = ctypes.c_int64 if large else ctypes.c_int
    pieces = [origin] if result is None else [origin, result]
    words: list[object] = []
    for piece in pieces:
        words += [ctypes.c_void_p(piece.address), count(piece.count), calls.handle(piece.datatype)]
    words += [target, ctypes.c_int64(at), count(there[0]), calls.handle(there[1])]
    words += [calls.handle(op)] if op is not None else []
    words.append(calls.handle(win))
    request = Requests() if name.startswith("R") else None
    words += [request.at(0)] if request else []
    if code := function(*words):
        raise MPI.Exception(code)
    return request


def ints(kind: str, values: Any) -> tuple[Any, Piece]:
    array = np.array(values, np.int32)
    buffer = at_hand(kind, array.view(np.uint8))
    return buffer, Piece(buffer.address, array.size, MPI.INT)


def read(buffer: Any, dtype: Any = np.int32) -> Any:
    return buffer.read().view(dtype).copy()
