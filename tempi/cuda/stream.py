"""Waits for CUDA streams through the CUDA driver; never initialises the driver."""

from __future__ import annotations

import ctypes
from functools import cache

from tempi._library import enabled, library

LEGACY_DEFAULT_STREAM = 1  # in __cuda_array_interface__, DLPack and the driver alike
_DEVICE_ORDINAL = 9  # CUpointer_attribute
_NO_DRIVER_WORK = (
    1,
    3,
    4,
)  # no CUDA pointer, driver not initialised, driver shut down: nothing can be queued


@cache
def _driver() -> ctypes.CDLL | None:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    address = ctypes.c_void_p
    driver.cuPointerGetAttribute.argtypes = (address, ctypes.c_int, ctypes.c_uint64)
    driver.cuStreamSynchronize.argtypes = (address,)
    driver.cuCtxPushCurrent_v2.argtypes = (address,)
    driver.cuCtxPopCurrent_v2.argtypes = (address,)
    return driver


def _check(code: int, what: str) -> None:
    if code != 0:
        raise RuntimeError(
            f"tempi: {what} failed with CUDA error {code} while waiting for the array's stream"
        )


@cache
def _primary_context(driver: ctypes.CDLL, ordinal: int) -> int:
    """The primary context of a device that the program uses already; held until the process ends."""
    device, context = ctypes.c_int(), ctypes.c_void_p()
    _check(driver.cuDeviceGet(ctypes.byref(device), ordinal), "cuDeviceGet")
    _check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
    return context.value or 0


def context_of(address: int) -> int | None:
    """The primary context of the device that owns `address`. None if no work can be queued for this memory.

    Raises
    ------
    RuntimeError
        If CUDA reports an error.
    """
    driver = _driver()
    if driver is None:
        return None
    ordinal = ctypes.c_int()
    code = driver.cuPointerGetAttribute(ctypes.byref(ordinal), _DEVICE_ORDINAL, address)
    if code in _NO_DRIVER_WORK:
        return None
    _check(code, "cuPointerGetAttribute")
    return _primary_context(driver, ordinal.value)


def wait_for(stream: int, address: int) -> None:
    """Start the MPI calls of this thread after the work of the stream that fills the memory at `address`.

    The GPU waits. If TEMPI does not handle the calls, the CPU waits.

    Raises
    ------
    RuntimeError
        If CUDA reports an error.
    """
    if enabled() and library().order_after_array(address, stream):
        return
    context = context_of(address)
    if context is not None:
        synchronize(stream, context)


def synchronize(stream: int, context: int) -> None:
    """Wait for `stream` of a context; 1 and 2 are its default streams.

    Raises
    ------
    RuntimeError
        If CUDA reports an error.
    """
    driver = _driver()
    assert driver is not None  # it has the context
    _check(driver.cuCtxPushCurrent_v2(context), "cuCtxPushCurrent")
    try:
        _check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize")
    finally:
        driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
