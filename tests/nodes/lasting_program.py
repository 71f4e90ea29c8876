"""A program of test_node_deaths.py: ranks exchange GPU memory with all others until they are ended."""

import itertools

import nodes_worker
from mpi4py import MPI

from support import constructors as c
from support.messages import End
from support.typemap import Named

FACE = c.Vector(600, 2, 5, Named("INT"))

for turn in itertools.count():
    nodes_worker.messages_to_all(End("device", FACE, 1, turn), End("device", FACE, 1, turn + 1), 2)
    if turn == 3 and MPI.COMM_WORLD.rank == 0:
        print("exchanging", flush=True)
