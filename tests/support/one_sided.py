"""One-sided MPI calls as a C program makes them: raw addresses and handles, `int` and `_c`."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from support import calls
from support.p2p import PLAIN, Form, Piece, Requests, has

GETS = ("Get", "Rget")
FETCHES = ("Get_accumulate", "Rget_accumulate", "Fetch_and_op", "Compare_and_swap")
WRITES = ("Put", "Rput", "Accumulate", "Raccumulate")
ALL = (*WRITES, *GETS, *FETCHES)
OF_ONE_ELEMENT = ("Fetch_and_op", "Compare_and_swap")
N_INTS = 12  # of each rank's window

Words = list[object]


@contextmanager
def exposed() -> Iterator[tuple[MPI.Win, np.ndarray]]:  # type: ignore[type-arg]
    """A window over ints in host memory, which differ by rank."""
    comm = MPI.COMM_WORLD
    memory = np.arange(N_INTS, dtype=np.int32) + 1000 * (1 + comm.Get_rank())
    win = MPI.Win.Create(memory, disp_unit=4, comm=comm)
    yield win, memory
    win.Free()


class Access(NamedTuple):
    """The arguments that all calls have; `result` is where fetched bytes go."""

    win: MPI.Win
    target: int
    origin: Piece
    result: Piece
    op: MPI.Op = MPI.SUM


def access(form: Form, name: str, given: Access) -> Requests | None:
    """Makes the call at displacement 0 with as many ints at the target as the result (or the origin) has bytes for."""
    function, large = form.symbol(name)
    request = Requests()
    words: Words = []
    if name in OF_ONE_ELEMENT:
        words += [ctypes.c_void_p(given.origin.address)]
        words += [ctypes.c_void_p(given.origin.address)] if name == "Compare_and_swap" else []
        words += [ctypes.c_void_p(given.result.address), calls.handle(given.result.datatype)]
        words += [given.target, ctypes.c_int64(0)]
    else:
        count = ctypes.c_int64 if large else ctypes.c_int
        pieces = [given.origin] if name in WRITES else [given.result]
        if "et_accumulate" in name:
            pieces = [given.origin, given.result]
        for piece in pieces:
            words += [ctypes.c_void_p(piece.address), count(piece.count), calls.handle(piece.datatype)]
        words += [given.target, ctypes.c_int64(0), count(N_INTS), calls.handle(MPI.INT)]
    if "ccumulate" in name or name == "Fetch_and_op":
        words.append(calls.handle(given.op))
    words.append(calls.handle(given.win))
    if name.startswith("R"):
        words.append(request.at(0))
    if code := function(*words):
        raise MPI.Exception(code)
    return request if name.startswith("R") else None


def existing(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(filter(has, names))


def made_window(address: int, n_bytes: int, comm: MPI.Comm) -> tuple[MPI.Win, str]:
    """By MPI_Win_create: the window, as far as there is one, and the text of the error."""
    window = MPI.Win()
    handle = ctypes.c_void_p(MPI._addressof(window))
    arguments = (ctypes.c_void_p(address), ctypes.c_int64(n_bytes), 1, calls.handle(MPI.INFO_NULL), comm, handle)
    try:
        PLAIN("Win_create", *arguments)
    except MPI.Exception as error:
        return window, error.Get_error_string()
    return window, ""
