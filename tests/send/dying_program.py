"""A program of test_direct_deaths.py: messages between two ranks, of which one kills itself at a step of the protocol.

Prints the launcher's name of the job first, and "went on" with the messages that a survivor still exchanges.
"""

import os

import ways
from mpi4py import MPI

from support import constructors as c
from support import shared_segments
from support.building import Builder
from support.messages import End, Side
from support.p2p import PLAIN, Requests
from support.typemap import Named

INT = Named("INT")
N_MESSAGES = 3

comm = MPI.COMM_WORLD
bounces = os.environ["TESTS_BOUNCES"] == "1"
kind = "device 1" if bounces and comm.rank == 1 else "device"
spec = c.Vector(600_000, 1, 2, INT) if bounces else c.Vector(600, 2, 5, INT)
print("job", shared_segments.job_name() if "PMIX_NAMESPACE" in os.environ else "", flush=True)
comm.Barrier()
with Builder() as builder:
    for k in range(N_MESSAGES):
        out, into = (Side(End(kind, spec, 1, s), builder) for s in (k, k + N_MESSAGES))
        requests = Requests(2)
        PLAIN("Irecv", into.piece, 1 - comm.rank, 3, comm, requests.at(0))
        PLAIN("Isend", out.piece, 1 - comm.rank, 3, comm, requests.at(1))
        ways.complete(PLAIN, "Waitall", requests)
print("went on", flush=True)
MPI.COMM_WORLD.Barrier()
