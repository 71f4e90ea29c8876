"""Two ranks exchange messages on a stream; rank 1 dies. Rank 0 writes what its next calls report.

It stops the launcher, which would end it.
"""

import os
import signal
from pathlib import Path

from enqueue_worker import WORLD, make_pair
from mpi4py import MPI
from stream_programs import shapes

import tempi
from tempi.testing import FakeStream

when = os.environ["TESTS_DIES"]
stream, rows, launcher = FakeStream(), shapes()["rows"], os.getppid()
kinds = (os.environ.get("TESTS_KIND", "device"),) * 2
WORLD.Set_errhandler(MPI.ERRORS_RETURN)
requests = [one for rank in range(2) for one in make_pair(WORLD, rank, 1 - rank, 5, rows, kinds).requests]


def exchange() -> None:
    tempi.start_enqueue(requests, stream)
    tempi.wait_enqueue(requests, stream)


if WORLD.rank == 0:
    os.kill(launcher, signal.SIGSTOP)
try:
    exchange()
    stream.synchronize()
    WORLD.Barrier()
    if WORLD.rank == 1:
        if when != "idle":
            tempi.start_enqueue(requests, stream)
        if when == "queued":
            tempi.wait_enqueue(requests, stream)
        os._exit(0)
    told = ""
    for _ in range(3):
        try:
            exchange()
        except MPI.Exception as error:
            told += error.error_string
        stream.synchronize()
    Path(os.environ["TESTS_REPORT"]).write_text(told)
finally:
    if WORLD.rank == 0:
        os.kill(launcher, signal.SIGCONT)
