"""DLPack's description of an array, read from the capsule that it hands out; the memory is not taken over.

Versions 0 and 1 of https://dmlc.github.io/dlpack/latest/c_api.html.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from tempi.cuda_stream import LEGACY_DEFAULT_STREAM
from tempi.strides import c_strides

_HOST_DEVICES = (1, 3)  # of DLDeviceType: CPU, CUDA host
_GPU_DEVICES = (2, 13)  # CUDA, CUDA managed
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}  # DLDataTypeCode as numpy.dtype.kind
_READ_ONLY = 1


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_Description = tuple[int, tuple[int, ...], tuple[int, ...], np.dtype[Any], bool, bool, int | None]


def describe(array: Any) -> _Description:
    """The fields of `tempi.arrays.ArrayView`, in its order.

    Raises
    ------
    TypeError
        If the array is on another device than the CPU or a CUDA GPU, or its elements are no whole bytes.
    """
    kind = int(array.__dlpack_device__()[0])
    if kind not in _HOST_DEVICES and kind not in _GPU_DEVICES:
        raise TypeError(
            f"tempi: {type(array).__name__} is on DLPack device type {kind}; TEMPI knows CPU (1), CUDA (2),"
            " CUDA host (3) and CUDA managed (13) memory: copy it there first"
        )
    # The producer makes the legacy default stream wait for the array; whoever waits for that stream has it.
    stream = LEGACY_DEFAULT_STREAM if kind in _GPU_DEVICES else None
    capsule = _capsule(array, {} if stream is None else {"stream": stream})
    tensor, readonly = _tensor(capsule)  # both point into the capsule's memory
    dtype = _dtype(tensor)
    shape = tuple(tensor.shape[: tensor.ndim])
    address = (tensor.data or 0) + tensor.byte_offset
    return address, shape, _strides(tensor, shape, dtype), dtype, readonly, kind in _GPU_DEVICES, stream


def _capsule(array: Any, arguments: dict[str, int]) -> object:
    try:
        return array.__dlpack__(max_version=(1, 0), copy=False, **arguments)
    except TypeError:  # a producer of version 0
        return array.__dlpack__(**arguments)


def _tensor(capsule: object) -> tuple[_Tensor, bool]:
    if address := _pointer(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(address)
        return versioned.tensor, bool(versioned.flags & _READ_ONLY)
    if address := _pointer(capsule, b"dltensor"):
        return _Tensor.from_address(address), False
    raise TypeError(f"tempi: __dlpack__ returned {capsule!r}, which is no DLPack capsule")


def _pointer(capsule: object, name: bytes) -> int:
    """What a capsule of this name points to, else 0."""
    api = ctypes.pythonapi
    api.PyCapsule_IsValid.argtypes = api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    return api.PyCapsule_GetPointer(capsule, name) or 0 if api.PyCapsule_IsValid(capsule, name) else 0


def _dtype(tensor: _Tensor) -> np.dtype[Any]:
    if tensor.bits % 8:
        raise TypeError(f"tempi: elements of {tensor.bits} bits are no whole bytes; convert them first")
    n_bytes = tensor.bits // 8
    kind = _KINDS.get(tensor.code)
    try:
        scalar = np.dtype(f"{kind}{n_bytes}" if kind else f"V{n_bytes}")
    except TypeError:  # such as complex of two halves
        scalar = np.dtype(f"V{n_bytes}")
    return scalar if tensor.lanes == 1 else np.dtype(f"V{n_bytes * tensor.lanes}")


def _strides(tensor: _Tensor, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, ...]:
    if tensor.strides:
        return tuple(stride * dtype.itemsize for stride in tensor.strides[: tensor.ndim])
    return c_strides(shape, dtype.itemsize)
