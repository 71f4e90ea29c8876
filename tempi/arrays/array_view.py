"""The memory of an array, whatever library made it: NumPy, CuPy, Numba, ...

Asked in this order: ``__cuda_array_interface__`` (memory that a GPU reaches), the buffer protocol or
``__array_interface__`` (host memory), DLPack (either).
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tempi._arguments import wrong
from tempi.arrays import dlpack
from tempi.arrays.dlpack import capsule_pointer
from tempi.arrays.strides import c_strides
from tempi.cuda import stream as cuda_stream
from tempi.cuda.stream import LEGACY_DEFAULT_STREAM


class ArrayView(NamedTuple):
    """The memory of an array, valid as long as `owner` is held.

    Attributes
    ----------
    address : int
        Address of the element with all indices 0, which need not be the lowest.
    shape, strides : tuple of int
        Elements and bytes by dimension; strides may be negative or 0.
    dtype : numpy.dtype
        Type of one element. For types that NumPy does not have: void of the same size, or
        `dlpack.BFLOAT16_DTYPE`.
    readonly : bool
        True if the array's owner forbids writing.
    on_gpu : bool
        True if a GPU's stream may still be filling it: all with ``__cuda_array_interface__``, also of pinned
        memory, and DLPack's CUDA and managed memory.
    stream : int or None
        The stream with the work that fills it, numbered as in ``__cuda_array_interface__`` (1: legacy default
        stream, 2: per-thread default stream, else a handle); None: nothing to wait for.
    owner : object
        Keeps the memory alive and in its place: the array, or the buffer that it has exported.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    readonly: bool
    on_gpu: bool
    stream: int | None
    owner: object


def describe(array: object, name: str = "array") -> ArrayView:
    """The memory of an array, without copying any of it.

    Parameters
    ----------
    array : object
        A NumPy, CuPy or Numba array, or an object with ``__cuda_array_interface__``, the buffer protocol,
        ``__array_interface__`` or DLPack's methods.
    name : str
        The name of the argument in errors.

    Raises
    ------
    TypeError
        If it is none of these, or MPI cannot reach its memory.
    ValueError
        If the array is masked.
    """
    if isinstance(array, np.ndarray):
        if isinstance(array, np.ma.MaskedArray):
            raise _masked(name, "pass its filled() or its data")
        return _of_numpy(array)
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is not None:
        if interface.get("mask") is not None:
            raise _masked(name, "fill it, or pass its data")
        return _of_cuda(interface, array)
    host = _as_numpy(array)
    if host is not None:
        return _of_numpy(host)
    if hasattr(array, "__dlpack__"):
        return ArrayView(*dlpack.describe(array))
    raise wrong(
        name,
        array,
        "an array, with __cuda_array_interface__, a buffer, __array_interface__ or __dlpack__: pass a NumPy,"
        " CuPy or Numba array (numpy.asarray makes one)",
    )


def _masked(name: str, advice: str) -> ValueError:
    return ValueError(f"{name} is a masked array, and MPI does not transfer masks: {advice}")


def text_of(array: object) -> str:
    """An array in words without its contents: dtype, shape and kind of memory; else its type."""
    try:
        view = describe(array)
    except Exception:  # of any library: a text is never an error
        return f"an object of type {type(array).__name__}"
    memory = "GPU memory" if view.on_gpu else "host memory"
    return f"an array of {view.dtype}, shape {view.shape}, in {memory}"


def wait_for(view: ArrayView) -> None:
    """Let MPI calls come after the work that the array's producer has queued on its stream.

    Raises
    ------
    RuntimeError
        If CUDA reports an error, which may be one of the producer's own kernels.
    """
    if view.on_gpu and view.stream is not None:
        cuda_stream.wait_for(view.stream, view.address)


def stream_of(array: object) -> int | None:
    """`ArrayView.stream` of an array on a GPU. The array may return another stream at each call."""
    interface = getattr(array, "__cuda_array_interface__", None)
    return describe(array).stream if interface is None else _stream_in(interface)


class _ArrayInterface(ctypes.Structure):
    """PyArrayInterface, which ``__array_struct__`` points to."""

    _fields_ = (
        ("two", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
    )


def _of_numpy(array: np.ndarray[Any, np.dtype[Any]]) -> ArrayView:
    dtype = array.dtype
    readonly = not array.flags.writeable
    return ArrayView(_address(array, dtype), array.shape, array.strides, dtype, readonly, False, None, array)


def _address(array: np.ndarray[Any, np.dtype[Any]], dtype: np.dtype[Any]) -> int:
    """The address of the first element. ``__array_struct__`` is faster, but lists all fields."""
    if dtype.names:
        return array.ctypes.data
    capsule = array.__array_struct__
    return _ArrayInterface.from_address(capsule_pointer(capsule, None)).data or 0


def _of_cuda(interface: dict[str, Any], owner: object) -> ArrayView:
    address, readonly = interface["data"]
    shape = tuple(interface["shape"])
    dtype = _dtype(interface["typestr"])
    descr = interface.get("descr")
    if dtype.kind == "V" and descr and descr != [("", dtype.str)]:
        dtype = np.lib.format.descr_to_dtype(descr)
    strides = interface.get("strides")
    return ArrayView(
        address or 0,  # None if there are no elements
        shape,
        c_strides(shape, dtype.itemsize) if strides is None else tuple(strides),
        dtype,
        bool(readonly),
        on_gpu=True,
        stream=_stream_in(interface),
        owner=owner,
    )


def _stream_in(interface: dict[str, Any]) -> int | None:
    """The stream of an array. Before version 3, the interface has no stream: it is the default stream."""
    return interface.get("stream") if interface["version"] >= 3 else LEGACY_DEFAULT_STREAM


@lru_cache(maxsize=256)
def _dtype(typestr: str) -> np.dtype[Any]:
    return np.dtype(typestr)


def _as_numpy(array: object) -> np.ndarray[Any, np.dtype[Any]] | None:
    """The same memory as a NumPy array, or None. ``__array__`` is not called, because it may make a copy."""
    try:
        return np.asarray(memoryview(array))  # type: ignore[arg-type]
    except (TypeError, BufferError):  # BufferError: JAX, of types that the buffer protocol does not have
        return np.asarray(array) if hasattr(array, "__array_interface__") else None
