"""A program of two ranks with a window, which does not expect to be refused: rank 0 has GPU memory."""

import numpy as np
from mpi4py import MPI

from support import memory

comm = MPI.COMM_WORLD
held = memory.at_hand("device" if comm.rank == 0 else "host", np.zeros(64, np.uint8))
try:
    window = MPI.Win.Create(MPI.memory.fromaddress(held.address, 64), comm=comm)
except MPI.Exception as error:
    print("refused", error.Get_error_string())
else:
    window.Free()
    print("freed")
