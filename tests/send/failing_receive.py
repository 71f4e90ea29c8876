"""A program that receives a vector into the fake device's memory from itself, and prints the outcome.

The argument is "Recv" or "Irecv"; TEMPI_FAKE_FAIL chooses the failure.
"""

import sys

import ways
from mpi4py import MPI

from support import constructors as c
from support.building import Builder
from support.messages import End, Image, Side
from support.p2p import Form, Requests
from support.typemap import Named

NAMES = {getattr(MPI, name): name for name in ("ERR_NO_MEM", "ERR_INTERN", "ERR_OTHER")}
form, comm = Form(), MPI.COMM_SELF
end = End("host", c.Vector(500, 2, 5, Named("INT")), 1, 3)
with Builder() as builder:
    out, target = Side(end, builder), Side(End("device", end.spec, 1, 4), builder)
    form("Isend", out.piece, 0, 7, comm, (sent := Requests()).at(0))
    try:
        if sys.argv[1] == "Recv":
            form("Recv", target.piece, 0, 7, comm, MPI.Status())
        else:
            form("Irecv", target.piece, 0, 7, comm, (received := Requests()).at(0))
            ways.complete(form, "Wait", received)
        target.check_received(Image(end, builder).payload())
        print("right")
    except MPI.Exception as error:
        print(NAMES[error.Get_error_class()], error.Get_error_string())
    ways.complete(form, "Wait", sent)
