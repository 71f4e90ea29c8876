"""The shim never initialises CUDA before the program has, and needs no driver in a process that uses none."""

import sys

from support import shim
from support.programs import succeed

PROGRAM = """
import ctypes, numpy as np
from mpi4py import MPI
column = MPI.DOUBLE.Create_vector(1000, 1, 4).Commit()
packed = np.zeros(1000)
column.Pack(np.arange(4000.0), packed, 0, MPI.COMM_SELF)
assert (packed == np.arange(0, 4000, 4)).all()
mapped = open('/proc/self/maps').read()
print('libcuda' in mapped)
driver = ctypes.CDLL('libcuda.so.1')
count = ctypes.c_int()
print(driver.cuDeviceGetCount(ctypes.byref(count)))
"""
CUDA_ERROR_NOT_INITIALIZED = "3"


def test_shim_never_loads_nor_initialises_cuda_before_the_program(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    with_shim = succeed([sys.executable, str(script)], shim.preloaded()).out.split()
    without = succeed([sys.executable, str(script)], shim.clean_environment()).out.split()
    assert with_shim == without  # some MPI libraries load the driver themselves
    assert with_shim[1] == CUDA_ERROR_NOT_INITIALIZED
