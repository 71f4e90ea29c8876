"""As much of CuPy as ``bench.halo3d`` and ``bench.solver`` use, on the CPU: kernels are compiled by g++, and streams do
nothing until somebody waits for them.

So the kernels' text, the tables, the order of the calls and every synchronisation are tested without a GPU. Arrays are
in managed memory of TEMPI's fake device where the process has one.
"""

from __future__ import annotations

import ctypes
import os
from math import prod

import numpy as np

from . import cuda
from .kernels import compiled


class ndarray(np.ndarray):
    memory = None  # keeps it alive

    @property
    def data(self):
        return cuda.Pointer(self.ctypes.data)

    def set(self, values):
        self[...] = values

    def get(self):
        return np.array(self)


def _filled(shape, dtype, value):
    if os.environ.get("TEMPI_DEVICE") != "fake":
        return np.full(shape, value, dtype).view(ndarray)
    from tempi.testing import FakeArray

    memory = FakeArray(shape, dtype, kind="managed")
    contents = (ctypes.c_char * memory.nbytes).from_address(memory.address)
    array = ndarray.__new__(ndarray, shape, dtype, contents)
    array.memory = memory
    array[...] = value
    return array


def empty(shape):
    return _filled(shape, float, np.nan)  # data read too early are found out


def zeros(shape, dtype=float):
    return _filled(shape, dtype, 0)


def asarray(values):
    return np.array(values).view(ndarray)


arange = np.arange
_C_TYPES = {np.dtype(np.int32): ctypes.c_int, np.dtype(np.int64): ctypes.c_longlong, np.dtype(float): ctypes.c_double}


def _in_c(argument):
    if isinstance(argument, ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    return _C_TYPES[argument.dtype](argument.item())


class RawModule:
    def __init__(self, code, options):
        self._library = compiled(code, options)

    def get_function(self, name):
        run = getattr(self._library, f"run_{name}")

        def launch(grid, block, args):
            x, y = (*grid, 1)[:2]
            assert prod(block) == block[0]
            call = (x, y, block[0], *map(_in_c, args))
            cuda.Stream.current.put(lambda: run(*call))

        return launch
