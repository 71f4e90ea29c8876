"""One rank of a job of ranks.py: calls the functions that the test process names, until it hangs up."""

import ctypes
import faulthandler
import os
import pickle
import signal
import sys
import traceback
from multiprocessing.connection import Client

PR_SET_PDEATHSIG = 1

sys.path[:] = [p for p in sys.path[1:] if p]  # this folder is `support`, not a place to import from
faulthandler.enable()
faulthandler.register(signal.SIGUSR1, all_threads=True)
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # no rank outlives its launcher

import mpi4py  # noqa: E402

if level := os.environ.get("TESTS_THREAD_LEVEL"):  # of MPI.THREAD_SINGLE ... MPI.THREAD_MULTIPLE, by number
    mpi4py.rc.thread_level = ("single", "funneled", "serialized", "multiple")[int(level)]

from mpi4py import MPI  # noqa: E402


def serve() -> None:
    with Client(os.environ["TESTS_RANKS_ADDRESS"], family="AF_UNIX") as test:
        test.send((MPI.COMM_WORLD.Get_rank(), os.getpid()))
        while True:
            try:
                function, arguments = pickle.loads(test.recv_bytes())
            except EOFError:
                return
            try:
                result = function(*arguments)
                MPI.COMM_WORLD.Barrier()  # a rank that is done stays in MPI, where its buffered sends make progress
                test.send((True, result))
            except Exception:
                test.send((False, traceback.format_exc()))


serve()
