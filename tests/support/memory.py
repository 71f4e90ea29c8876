"""Buffers of every kind of memory behind one small interface: an address, and contents that go in and out as bytes.

`Host` is numpy's memory. `fake` makes memory of the fake device: its device memory may not be touched by the CPU, so
whoever reads it past the shim crashes. The GPU tests bring their own maker (gpu_memory.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

from support.typemap import Bytes

HOST = "host"
GPU_KINDS = ("device", "managed", "pinned", "device 1")
KINDS = (HOST, *GPU_KINDS)


class Buffer(Protocol):
    @property
    def address(self) -> int: ...

    def read(self) -> Bytes: ...

    def write(self, contents: Bytes) -> None: ...

    def copy_from(self, other: Buffer) -> None: ...


Maker = Callable[[str, Bytes], Buffer]  # kind of memory, contents


class Host:
    def __init__(self, contents: Bytes) -> None:
        self._array = contents.copy()

    @property
    def address(self) -> int:
        return int(self._array.ctypes.data)

    def read(self) -> Bytes:
        return self._array

    def write(self, contents: Bytes) -> None:
        self._array[:] = contents

    def copy_from(self, other: Buffer) -> None:
        self._array[:] = other.read()


class Fake:
    def __init__(self, kind: str, contents: Bytes) -> None:
        from tempi.testing import FakeArray

        name, _, ordinal = kind.partition(" ")
        self._array = FakeArray.from_numpy(contents, kind=name, ordinal=int(ordinal or 0))

    @property
    def address(self) -> int:
        return int(self._array.__cuda_array_interface__["data"][0])

    def read(self) -> Bytes:
        contents: Bytes = self._array.to_numpy()
        return contents

    def write(self, contents: Bytes) -> None:
        self._array.copy_from(contents)

    def copy_from(self, other: Buffer) -> None:
        from tempi._library import library

        library().fake_copy(self.address, other.address, self._array.nbytes)

    def forget(self) -> None:
        """It goes with its context, not by the program."""
        self._array._memory.address = 0


def fake(kind: str, contents: Bytes) -> Buffer:
    return Host(contents) if kind == HOST else Fake(kind, contents)


def at_hand(kind: str, contents: Bytes) -> Buffer:
    """Fake memory, or with TESTS_MEMORY=gpu the memory of a real GPU."""
    if on_real_gpu():
        from support.gpu_memory import gpu

        return gpu(kind, contents)
    return fake(kind, contents)


def on_real_gpu() -> bool:
    return os.environ.get("TESTS_MEMORY") == "gpu"


def second_gpu() -> str:
    """Device memory of another GPU than "device", if there is another one. The fake device has two."""
    if not on_real_gpu():
        return "device 1"
    from support.gpu_memory import gpu_count

    return "device 1" if gpu_count() > 1 else "device"


def needs_shim(*kinds: str) -> bool:
    """True if the library alone could not do it: it cannot reach device memory."""
    return any(kind.startswith("device") for kind in kinds)
