"""Two ranks exchange messages on streams, and a kernel of rank 0 fails.

TESTS_WHEN says what the program calls after the kernel has failed. Each rank writes what it was told.
"""

import os
from pathlib import Path

from enqueue_worker import WORLD, make_pair
from mpi4py import MPI
from stream_programs import shapes

import tempi
from tempi.testing import FakeStream

kinds = (os.environ.get("TESTS_KIND", "device"),) * 2
when, rank = os.environ["TESTS_WHEN"], WORLD.rank
WORLD.Set_errhandler(MPI.ERRORS_RETURN)
stream = FakeStream()
requests = [
    one for source in range(2) for one in make_pair(WORLD, source, 1 - source, 5, shapes()["rows"], kinds).requests
]
told = []


def tell(call: object) -> None:
    try:
        call()
    except (MPI.Exception, RuntimeError) as error:
        told.append(error.error_string if isinstance(error, MPI.Exception) else str(error))


def exchange() -> None:
    tempi.start_enqueue(requests, stream)
    tempi.wait_enqueue(requests, stream)


exchange()
stream.synchronize()
exchange()
stream.synchronize()
WORLD.Barrier()
if rank == 0:
    stream.fail()
    if when == "nothing more":  # the program knows of the failure, and ends
        tell(stream.synchronize)
if rank == 1 or when != "nothing more":
    tell(exchange)
    if when == "synchronised" or rank == 1:
        tell(stream.synchronize)
        tell(lambda: tempi.wait_enqueue(requests, stream))
    if when == "freed":
        for request in requests:
            tell(request.Free)
Path(f"{os.environ['TESTS_REPORT']}.{rank}").write_text("\n".join(told))
MPI.Finalize()
Path(f"{os.environ['TESTS_REPORT']}.{rank}.finalized").touch()
