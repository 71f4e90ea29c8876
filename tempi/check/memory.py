"""Buffers in the kinds of memory that a program may have here: host, and GPU or fake device."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tempi._library import options
from tempi.cuda.gpus import gpus
from tempi.testing import FakeArray

Bytes = NDArray[np.uint8]


class Buffer(Protocol):
    """Bytes in some memory."""

    address: int

    def write(self, contents: Bytes) -> None:
        """Overwrite all of them, by a synchronous copy."""

    def read(self) -> Bytes:
        """A copy."""


class HostBuffer:
    """Ordinary memory."""

    def __init__(self, n_bytes: int) -> None:
        self._array = np.zeros(n_bytes, np.uint8)
        self.address = int(self._array.ctypes.data)

    def write(self, contents: Bytes) -> None:
        """As in `Buffer`."""
        self._array[:] = contents

    def read(self) -> Bytes:
        """As in `Buffer`."""
        return np.array(self._array, np.uint8)


class FakeBuffer:
    """Memory of the fake device."""

    def __init__(self, n_bytes: int) -> None:
        self._array = FakeArray(n_bytes)
        self.address = self._array.address

    def write(self, contents: Bytes) -> None:
        """As in `Buffer`."""
        self._array.copy_from(contents)

    def read(self) -> Bytes:
        """As in `Buffer`."""
        return np.asarray(self._array.to_numpy(), np.uint8)


class GpuBuffer:
    """Memory of the GPU that this thread uses, by CUDA's driver."""

    def __init__(self, n_bytes: int) -> None:
        self._driver, self._n_bytes, address = ctypes.CDLL("libcuda.so.1"), n_bytes, ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(n_bytes))
        self.address = int(address.value)

    def _call(self, name: str, *arguments: Any) -> None:
        if code := getattr(self._driver, name)(*arguments):
            raise MemoryError(f"{name} failed with {code}: {self._n_bytes} bytes of GPU memory")

    def write(self, contents: Bytes) -> None:
        """As in `Buffer`."""
        source = ctypes.c_void_p(contents.ctypes.data)
        self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.address), source, ctypes.c_size_t(self._n_bytes))

    def read(self) -> Bytes:
        """As in `Buffer`."""
        found = np.empty(self._n_bytes, np.uint8)
        target = ctypes.c_void_p(found.ctypes.data)
        self._call("cuMemcpyDtoH_v2", target, ctypes.c_uint64(self.address), ctypes.c_size_t(self._n_bytes))
        return found

    def __del__(self) -> None:
        if address := getattr(self, "address", 0):
            self._driver.cuMemFree_v2(ctypes.c_uint64(address))


def makers() -> dict[str, Callable[[int], Buffer]]:
    """The kinds of memory of this process, by name."""
    device = next(option.value for option in options() if option.name == "DEVICE")
    if device == "fake":
        return {"host": HostBuffer, "GPU": FakeBuffer}
    return {"host": HostBuffer} | ({"GPU": GpuBuffer} if device == "auto" and gpus() else {})
