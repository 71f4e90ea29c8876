"""The ranks of test_defects.py: messages and packs of the MPI library alone."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

from support import calls, equal
from support.building import Builder
from support.messages import End, Image
from support.p2p import PLAIN, Piece, Requests
from support.typemap import Spec


def receive_from_oneself(spec: Spec, count: int) -> str:
    """The library's words if it fails to receive packed bytes from this rank, else none; checks the bytes."""
    with Builder() as builder:
        image = Image(End("host", spec, count), builder)
        payload = np.random.default_rng(count).integers(0, 256, image.size, np.uint8)
        received, requests = image.before.copy(), [Requests(), Requests()]
        comm = MPI.COMM_WORLD
        to = (comm.Get_rank(), 7, comm)
        PLAIN("Irecv", Piece(received.ctypes.data + image.origin, count, image.datatype), *to, requests[0].at(0))
        PLAIN("Isend", Piece(payload.ctypes.data, image.size, MPI.PACKED), *to, requests[1].at(0))
        try:
            for request in requests:
                PLAIN("Wait", request.at(0), MPI.Status())
        except MPI.Exception as error:
            return str(error)
        equal.check(received, image.after(payload))
        return ""


def pack(spec: Spec) -> None:
    with Builder() as builder:
        image = Image(End("host", spec), builder)
        packed = np.zeros(image.size, np.uint8)
        address = image.before.ctypes.data + image.origin
        calls.library().pack(address, 1, image.datatype, packed.ctypes.data, image.size)
        equal.check(packed, image.payload())
