"""Rank 1 ends while it has a lock of rank 0's part, or while it changes that part. Rank 0 prints what it is told."""

import os
import signal
import time

import numpy as np
import window_calls as windows
from mpi4py import MPI

from support.p2p import PLAIN

HOW = os.environ["TESTS_HOW"]
LASTS = 20
win = windows.Memory("device", np.zeros(64, np.uint8)).window(4)
win.Set_errhandler(MPI.ERRORS_RETURN)
_, piece = windows.ints("device", [1])


def access() -> None:
    if HOW == "accumulate":
        win.Lock_all()
        windows.rma(PLAIN, "Accumulate", win, piece, 0, 0, (1, MPI.INT), MPI.SUM)
        win.Unlock_all()
    else:
        win.Lock(0, MPI.LOCK_EXCLUSIVE)
        win.Unlock(0)


MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.rank == 1:
    if HOW == "accumulate":
        access()  # the fake device ends the process
    win.Lock(0, MPI.LOCK_SHARED if HOW == "shared" else MPI.LOCK_EXCLUSIVE)
    os.kill(os.getpid(), signal.SIGKILL)
end = time.monotonic() + LASTS
while time.monotonic() < end:
    try:
        access()
    except MPI.Exception as error:
        print("told:", error.Get_error_string(), flush=True)
        os._exit(0)
print("nothing", flush=True)
os._exit(1)
