"""A program of two ranks: a partitioned message whose sender dies with partitions missing.

The receiver stops the launcher, which would end it, and writes the class of its error into the file TESTS_REPORT.
"""

import os
import signal
from pathlib import Path

from errors_worker import error_class
from mpi4py import MPI
from partition_puts_worker import Pair, missing_partitions
from partitioned_worker import INT

from support.messages import End

RECEIVER = 1
comm = MPI.COMM_WORLD
comm.Set_errhandler(MPI.ERRORS_RETURN)
launcher = os.getppid()
if comm.rank == RECEIVER:
    os.kill(launcher, signal.SIGSTOP)
try:
    told = error_class(missing_partitions, Pair(End("device", INT, 24), End("device", INT, 24, 1), 4, 4))
    Path(os.environ["TESTS_REPORT"]).write_text(str(told))
finally:
    os.kill(launcher, signal.SIGCONT)
