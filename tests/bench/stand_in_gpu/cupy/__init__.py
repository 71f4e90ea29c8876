"""As much of CuPy as ``bench.halo3d`` uses, on the CPU: kernels are compiled by g++, and streams do nothing until
somebody waits for them.

So the kernel's text, the tables, the order of the calls and every synchronisation are tested without a GPU.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from . import cuda

_HARNESS = """
#define __global__
struct Index { unsigned x, y; };
static Index blockIdx, threadIdx, blockDim;
#include "kernel.cu"
extern "C" void run(unsigned tiles, unsigned quantities, unsigned threads, double* data, double* buffer,
                    const Region* regions, int n, long long row, long long plane, long long volume) {
  blockDim = {threads, 1};
  for (blockIdx.y = 0; blockIdx.y < quantities; ++blockIdx.y)
    for (blockIdx.x = 0; blockIdx.x < tiles; ++blockIdx.x)
      for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x)
        move_boxes(data, buffer, regions, n, row, plane, volume);
}
"""


class ndarray(np.ndarray):
    @property
    def data(self):
        return cuda.Pointer(self.ctypes.data)


def empty(shape):
    return np.full(shape, np.nan).view(ndarray)  # data read too early are found out


def asarray(values):
    return np.array(values).view(ndarray)


arange = np.arange


@cache
def _compiled(code, options):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "kernel.cu").write_text(code)
        Path(folder, "harness.cpp").write_text(_HARNESS)
        library = Path(folder, "kernel.so")
        compiler = [os.environ.get("CXX", "g++"), "-std=c++17", "-O1", "-shared", "-fPIC", *options]
        subprocess.run([*compiler, "-o", library, Path(folder, "harness.cpp")], check=True)
        return ctypes.CDLL(str(library)).run


class RawModule:
    def __init__(self, code, options):
        self._run = _compiled(code, options)

    def get_function(self, name):
        assert name == "move_boxes"
        return self._launch

    def _launch(self, grid, block, args):
        data, buffer, regions, *numbers = args
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (data, buffer, regions)]
        widths = [ctypes.c_int if number.dtype == np.int32 else ctypes.c_longlong for number in numbers]
        sizes = [width(int(number)) for width, number in zip(widths, numbers, strict=True)]
        cuda.Stream.current.put(lambda: self._run(*grid, *block, *pointers, *sizes))
