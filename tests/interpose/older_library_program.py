"""Calls of MPI 4 by a library that may lack them: a line for each, with its name and what came of it."""

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_SELF
SENT, RECEIVED = np.arange(4.0), np.zeros(4)


def probe(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "ok"


CALLS = {
    "Barrier_init": lambda: COMM.Barrier_init().Free(),
    "Bcast_init": lambda: COMM.Bcast_init(SENT).Free(),
    "Allreduce_init": lambda: COMM.Allreduce_init(SENT, RECEIVED).Free(),
    "Psend_init": lambda: COMM.Psend_init(SENT, 2, MPI.PROC_NULL).Free(),
    "Isendrecv": lambda: COMM.Isendrecv(SENT, 0, recvbuf=RECEIVED, source=0).Wait(),
    "Session.Init": lambda: MPI.Session.Init().Finalize(),
    "Get_status_any": lambda: MPI.Request.Get_status_any([MPI.REQUEST_NULL]),
    "Get_status_all": lambda: MPI.Request.Get_status_all([MPI.REQUEST_NULL]),
    "Sendrecv": lambda: COMM.Sendrecv(SENT, 0, recvbuf=RECEIVED, source=0),
}
for name, call in CALLS.items():
    print(name, probe(call))
