"""DLPack's description of an array, read from the capsule that it hands out and that keeps its memory.

Versions 0 and 1 of https://dmlc.github.io/dlpack/latest/c_api.html.
"""

from __future__ import annotations

import ctypes
from functools import cache, lru_cache
from typing import Any

import numpy as np

from tempi.arrays.strides import c_strides
from tempi.cuda.stream import LEGACY_DEFAULT_STREAM

_HOST_DEVICES = (1, 3)  # of DLDeviceType: CPU, CUDA host
_GPU_DEVICES = (2, 13)  # CUDA, CUDA managed
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}  # DLDataTypeCode as numpy.dtype.kind
_BFLOAT16 = (4, 16, 1)  # code, bits and lanes
BFLOAT16_DTYPE = np.dtype([("bfloat16", "u2")])  # NumPy has no such type
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
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
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


capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_Description = tuple[int, tuple[int, ...], tuple[int, ...], np.dtype[Any], bool, bool, int | None, object]


def describe(array: Any) -> _Description:
    """The fields of `tempi.arrays.array_view.ArrayView`, in its order.

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
    # The producer makes the legacy default stream wait for the array: a wait for that stream is enough.
    stream = LEGACY_DEFAULT_STREAM if kind in _GPU_DEVICES else None
    capsule = _capsule(array, {} if stream is None else {"stream": stream})
    tensor, readonly = _tensor(capsule)  # both point into the capsule's memory
    dtype = _dtype(tensor.code, tensor.bits, tensor.lanes)
    shape, item_bytes = _numbers(tensor.ndim, tensor.shape), dtype.itemsize
    if tensor.strides:
        strides = tuple([stride * item_bytes for stride in _numbers(tensor.ndim, tensor.strides)])
    else:
        strides = c_strides(shape, item_bytes)
    address = (tensor.data or 0) + tensor.byte_offset
    return address, shape, strides, dtype, readonly, kind in _GPU_DEVICES, stream, (array, capsule)


def _capsule(array: Any, arguments: dict[str, int]) -> object:
    try:
        return array.__dlpack__(max_version=(1, 0), copy=False, **arguments)
    except TypeError:  # a producer of version 0
        return array.__dlpack__(**arguments)


def _tensor(capsule: object) -> tuple[_Tensor, bool]:
    try:
        versioned = _Versioned.from_address(capsule_pointer(capsule, b"dltensor_versioned"))
    except ValueError:  # a capsule of another name
        return _Tensor.from_address(capsule_pointer(capsule, b"dltensor")), False
    return versioned.tensor, bool(versioned.flags & _READ_ONLY)


@lru_cache(maxsize=256)
def _dtype(code: int, bits: int, lanes: int) -> np.dtype[Any]:
    if bits % 8:
        raise TypeError(f"tempi: elements of {bits} bits are no whole bytes; convert them first")
    if (code, bits, lanes) == _BFLOAT16:
        return BFLOAT16_DTYPE
    n_bytes = bits // 8
    kind = _KINDS.get(code) if lanes == 1 else None
    try:
        return np.dtype(f"{kind or 'V'}{n_bytes * lanes}")
    except TypeError:  # such as complex of two halves
        return np.dtype(f"V{n_bytes}")


@cache
def _row(ndim: int) -> type[ctypes.Array[ctypes.c_int64]]:
    return ctypes.c_int64 * ndim


def _numbers(ndim: int, address: int | None) -> tuple[int, ...]:
    return tuple(_row(ndim).from_address(address)[:]) if address else ()
