"""As much of CuPy as `examples/life_cupy.py` uses, in managed memory of the fake device."""

import ctypes

import numpy as np

from tempi.testing import FakeArray


class ndarray(np.ndarray):
    memory = None  # keeps it alive


def zeros(shape, dtype):
    memory = FakeArray(shape, dtype, kind="managed")
    contents = (ctypes.c_char * memory.nbytes).from_address(memory.address)
    array = np.ndarray.__new__(ndarray, shape, dtype, contents)
    array.memory = memory
    array[...] = 0
    return array


asarray, roll = np.asarray, np.roll


def asnumpy(array):
    return np.array(array)


class cuda:
    class Device:
        def __init__(self, number):
            self._number = number

        def use(self):
            assert self._number == 0

    class runtime:
        @staticmethod
        def getDeviceCount():
            return 1
