"""Buffers in the memory of real GPUs, made with CuPy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from support.memory import HOST, Buffer, Host
from support.typemap import Bytes

KINDS = (HOST, "device", "managed", "pinned", "device 1", "pool", "async")


def gpu_count() -> int:
    """GPUs of this machine, asked of the driver without initialising it in this process for good."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def taken_bytes() -> int:
    """Of the current GPU, by all processes."""
    import cupy

    free, total = cupy.cuda.runtime.memGetInfo()
    return int(total - free)


class Gpu:
    """`pool` is CuPy's own pool, `async` is cudaMallocAsync, `device` is plain cudaMalloc.

    `device 1` is of the second GPU, or of the only one.
    """

    def __init__(self, kind: str, contents: Bytes) -> None:
        import cupy

        self._cupy = cupy
        name, _, ordinal = kind.partition(" ")
        with cupy.cuda.Device(int(ordinal or 0) % cupy.cuda.runtime.getDeviceCount()):
            self._memory = self._allocate(name, max(1, contents.nbytes))
            self._bytes = contents.nbytes
            self._copy(self.address, contents.ctypes.data)

    def _allocate(self, name: str, size: int) -> Any:
        cuda = self._cupy.cuda
        makers = {
            "device": lambda: cuda.memory.Memory(size),
            "managed": lambda: cuda.memory.ManagedMemory(size),
            "pinned": lambda: cuda.PinnedMemory(size),
            "async": lambda: cuda.memory.MemoryAsync(size, cuda.Stream.null),
            "pool": lambda: self._cupy.empty(size, self._cupy.uint8),
        }
        return makers[name]()

    @property
    def address(self) -> int:
        memory = self._memory
        return int(memory.data.ptr if hasattr(memory, "data") else memory.ptr)

    def read(self) -> Bytes:
        found = np.empty(self._bytes, np.uint8)
        self._copy(found.ctypes.data, self.address)
        return found

    def write(self, contents: Bytes) -> None:
        self._copy(self.address, contents.ctypes.data)

    def copy_from(self, other: Buffer) -> None:
        self._copy(self.address, other.address)

    def _copy(self, target: int, source: int) -> None:
        """A plain cudaMemcpy and nothing else: programs do not synchronise behind it."""
        runtime = self._cupy.cuda.runtime
        runtime.memcpy(target, source, self._bytes, runtime.memcpyDefault)


def gpu(kind: str, contents: Bytes) -> Buffer:
    return Host(contents) if kind == HOST else Gpu(kind, contents)
