"""The ranks of test_early_fin.py: messages between processes, whose FIN messages go while their kernels run."""

from __future__ import annotations

import ways
from errors_worker import error_class
from mpi4py import MPI

from support.building import Builder
from support.messages import End, Side
from support.p2p import PLAIN, Requests

SENDER, RECEIVER = 0, 1


def transfer(sent: Side, target: Side, comm: MPI.Intracomm) -> None:
    """One message. The receive is posted first."""
    requests = Requests()
    if comm.rank == RECEIVER:
        PLAIN("Irecv", target.piece, SENDER, 5, comm, requests.at(0))
    comm.Barrier()
    if comm.rank == SENDER:
        PLAIN("Isend", sent.piece, RECEIVER, 5, comm, requests.at(0))
    ways.complete(PLAIN, "Wait", requests)


def lost(out: End, into: End) -> tuple[int, int]:
    """The error classes that this rank's end has when no kernel works, and when they do again."""
    comm = MPI.COMM_WORLD.Dup()
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    with Builder() as builder:
        sent, target = Side(out, builder), Side(into, builder)
        first, second = (error_class(transfer, sent, target, comm) for _ in range(2))
        if comm.rank == RECEIVER:
            target.check_received(sent.payload())
    comm.Free()
    return first, second
