"""A program that Slurm starts: writes to a folder where its ranks are, by their hosts' names and by the shim.

Its messages of GPU memory go to all other ranks, and are checked.
"""

import json
import sys
from pathlib import Path

import nodes_worker
from mpi4py import MPI

from support import constructors as c
from support.messages import End
from support.typemap import Named

N = 2
FACE = c.Vector(12, 2, 5, Named("INT"))
comm = MPI.COMM_WORLD
names, here = nodes_worker.neighbours()
n_direct, n_published = nodes_worker.messages_to_all(End("device", FACE, 1, 1), End("device", FACE, 1, 2), N)
found = {"names": names, "here": here, "direct": n_direct // N, "published": n_published // N}
Path(sys.argv[1], f"{comm.rank} of {comm.size} on {MPI.Get_processor_name()}").write_text(json.dumps(found))
