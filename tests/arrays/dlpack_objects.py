"""Objects that have DLPack's methods and nothing else, with capsules written out by hand from DLPack's header."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

CPU, CUDA, CUDA_HOST, METAL, CUDA_MANAGED = 1, 2, 3, 8, 13  # DLDeviceType
INT, FLOAT, BFLOAT, FLOAT8 = 0, 2, 4, 10  # DLDataTypeCode


class OfNumpy:
    """A NumPy array behind NumPy's own DLPack methods."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __dlpack__(self, **arguments: Any) -> Any:
        return self._array.__dlpack__(**arguments)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


class OfNumpyOld(OfNumpy):
    """As before DLPack 1.0: without a version, a copy flag, or a way to say read-only."""

    def __dlpack__(self, stream: int | None = None) -> Any:
        return self._array.__dlpack__()


# Written out once more: an oracle that shared the fields of tempi.arrays.dlpack could not see a wrong one.
class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


class Handmade:
    """An array of any device and element type; it remembers the stream that it was asked for."""

    def __init__(
        self,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None = None,
        device: int = CPU,
        code: int = FLOAT,
        bits: int = 64,
        byte_offset: int = 0,
    ) -> None:
        numbers = ctypes.c_int64 * len(shape)
        self._shape = numbers(*shape)
        self._strides = None if strides is None else numbers(*strides)
        places = [ctypes.addressof(a) if a is not None else None for a in (self._shape, self._strides)]
        self._tensor = _Tensor(address, device, 0, len(shape), code, bits, 1, *places, byte_offset)
        self.stream: object = "not asked"

    def __dlpack__(self, stream: int | None = None) -> Any:
        self.stream = stream
        return _new_capsule(ctypes.addressof(self._tensor), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.device_type, 0


class Counted(Handmade):
    """Counts its capsules: a library may move memory that it has not exported."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        super().__init__(array.ctypes.data, array.shape)
        self._array = array
        self.n_exported = 0
        self._destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(self._gone)

    def _gone(self, _: int) -> None:
        self.n_exported -= 1

    def __dlpack__(self, stream: int | None = None) -> Any:
        self.n_exported += 1
        destructor = ctypes.cast(self._destructor, ctypes.c_void_p)
        return _new_capsule(ctypes.addressof(self._tensor), b"dltensor", destructor)
