"""Calls with a count that is 3 once it is cut to an int. No buffer is so large: few bytes move, or none."""

from __future__ import annotations

import ctypes

import numpy as np
import ways
from mpi4py import MPI
from ways import Place

from support import calls, equal, memory
from support.p2p import Form, Piece

COUNT = (1 << 32) + 3
ERR_TRUNCATE = MPI.ERR_TRUNCATE
LARGE = Form(large=True)


def _piece(buffer: np.ndarray) -> Piece:
    return Piece(buffer.ctypes.data, COUNT, MPI.BYTE)


def count_given(send: str) -> int:
    """The count that the library gets for a message to nobody."""
    given = ctypes.c_longlong.in_dll(ctypes.CDLL(None), "given_count")
    given.value = -1
    request = ways.send(LARGE, send, _piece(np.zeros(8, np.uint8)), Place(MPI.COMM_SELF, MPI.PROC_NULL, 1))
    if request:
        ways.complete(LARGE, "Wait", request)
        ways.free(LARGE, request)
    return given.value


def bytes_received(recv: str) -> int:
    """A message of 5 bytes, received with room for COUNT."""
    comm, status = MPI.COMM_SELF, MPI.Status()
    sent, received = np.arange(5, dtype=np.uint8), np.zeros(8, np.uint8)
    sending = comm.Isend(sent, 0, 4)
    request = ways.receive(LARGE, recv, _piece(received), Place(comm, 0, 4), status)
    if request:
        [status] = ways.complete(LARGE, "Wait", request)
        ways.free(LARGE, request)
    sending.Wait()
    equal.check(received, [0, 1, 2, 3, 4, 0, 0, 0])
    return status.Get_count(MPI.BYTE)


def pack_too_many(kind: str) -> calls.Result:
    source, target = memory.at_hand(kind, np.ones(8, np.uint8)), memory.Host(np.zeros(8, np.uint8))
    result = calls.program().pack(source.address, COUNT, MPI.BYTE, target.address, 8, function="MPI_Pack_c")
    assert not target.read().any()
    return result
