"""A program of two ranks: a receive from one that dies while its kernel runs, behind the FIN message.

The receiver stops the launcher, which would end it, and writes the class of its error into the file TESTS_REPORT.
"""

import os
import signal
from pathlib import Path

from early_fin_worker import RECEIVER, transfer
from errors_worker import error_class
from mpi4py import MPI
from test_direct import FACES, gpu_end

from support.building import Builder
from support.messages import Side

comm = MPI.COMM_WORLD
comm.Set_errhandler(MPI.ERRORS_RETURN)
launcher = os.getppid()
if comm.rank == RECEIVER:
    os.kill(launcher, signal.SIGSTOP)
try:
    with Builder() as builder:
        told = error_class(transfer, Side(gpu_end(FACES[0], 1), builder), Side(gpu_end(FACES[1], 2), builder), comm)
    Path(os.environ["TESTS_REPORT"]).write_text(str(told))
finally:
    os.kill(launcher, signal.SIGCONT)
