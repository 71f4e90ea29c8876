"""Wrong arguments of collective calls between a root and all ranks: the error classes that each rank gets."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from by_messages_worker import DEVICE, filled, spec
from mpi4py import MPI
from rooted_worker import Movement, agreed

from support.collective_calls import LIFETIMES, Call, Number, name_of
from support.p2p import PLAIN, has


def _error_class(call: Callable[[], object]) -> int:
    try:
        call()
    except MPI.Exception as error:
        return int(error.Get_error_class())
    return int(MPI.SUCCESS)


def _begun_and_complete(call: Call) -> None:
    call.start()
    call.finish()
    call.free()


def _started_and_complete(request: MPI.Prequest) -> None:
    request.Start()
    request.Wait()
    request.Free()


def _once(comm: MPI.Comm, operation: str, lifetime: str, arguments: tuple[Any, ...]) -> int:
    call = getattr(comm, name_of(operation, lifetime))
    if lifetime == "blocking":
        return _error_class(lambda: call(*arguments))
    if lifetime == "nonblocking":
        return _error_class(lambda: call(*arguments).Wait())
    return _error_class(lambda: _started_and_complete(call(*arguments)))


def _agreed_for_errors() -> MPI.Comm:
    comm = agreed("Gather")
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    return comm


def roots_that_there_are_not(operation: str) -> list[int]:
    """Of all ranks, in every form."""
    comm, found = _agreed_for_errors(), []
    one = Movement(comm, operation, comm.rank)
    for lifetime in LIFETIMES:
        if has(name_of(operation, lifetime)):
            found += [_once(comm, operation, lifetime, (*one.arguments[:2], root)) for root in (comm.size, -7)]
    one.free()
    return found


def too_many(operation: str, lifetime: str) -> int:
    """The receiver's blocks are shorter than the sender's: the error class. The receiver is the last rank, or the
    root."""
    comm = _agreed_for_errors()
    last, is_scatter = comm.size - 1, operation.startswith("Scatter")
    receiver = last if is_scatter else 0
    n = 4 if comm.rank == receiver else 8
    blocks, block = filled(np.zeros(8 * comm.size), DEVICE), filled(np.zeros(8), DEVICE)
    at_root = spec(blocks, n, MPI.INT) if comm.rank == 0 else None
    here = spec(block, n if is_scatter or comm.rank != 0 else 4, MPI.INT)
    return _once(comm, operation, lifetime, (at_root, here, 0) if is_scatter else (here, at_root, 0))


def one_rank_errs(operation: str, lifetime: str, is_type_loose: bool) -> int:
    """The rank that receives, the last one or the root, gives a datatype that is not committed, or a negative count.
    Nobody waits for this rank: the error class."""
    comm = _agreed_for_errors()
    is_scatter = operation == "Scatter"
    wrong = (Number(1), MPI.INT.Create_contiguous(8)) if is_type_loose else (Number(-1), MPI.INT)
    received = wrong if comm.rank == (comm.size - 1 if is_scatter else 0) else (Number(8), MPI.INT)
    out, into = (filled(np.zeros(8 * comm.size), DEVICE) for _ in range(2))
    sent = (ctypes.c_void_p(out.address), Number(8), MPI.INT)
    call = Call(PLAIN, operation, (*sent, ctypes.c_void_p(into.address), *received, ctypes.c_int(0), comm), lifetime)
    return _error_class(lambda: _begun_and_complete(call))
