"""The GPUs of this machine, by queries of the CUDA driver. Without a driver there are no GPUs."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

_COMPUTE_CAPABILITY_MAJOR = 75  # CUdevice_attribute
_COMPUTE_CAPABILITY_MINOR = 76


@dataclass(frozen=True)
class Gpu:
    """One GPU."""

    name: str
    architecture: str
    memory_bytes: int


def _device(driver: ctypes.CDLL, ordinal: int) -> Gpu:
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    name, memory = ctypes.create_string_buffer(256), ctypes.c_size_t()
    driver.cuDeviceGet(ctypes.byref(device), ordinal)
    driver.cuDeviceGetName(name, len(name), device)
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    driver.cuDeviceGetAttribute(ctypes.byref(major), _COMPUTE_CAPABILITY_MAJOR, device)
    driver.cuDeviceGetAttribute(ctypes.byref(minor), _COMPUTE_CAPABILITY_MINOR, device)
    return Gpu(name.value.decode(), f"sm_{major.value}{minor.value}", memory.value)


def use_gpu(rank: int) -> None:
    """Make one of the GPUs this thread's current one, as programs do: GPU `rank` modulo the number of GPUs.

    Call it before MPI is initialised: UCX chooses its transports of GPU memory then.
    """
    found = gpus()
    if not found:
        return
    driver = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    driver.cuDeviceGet(ctypes.byref(device), rank % len(found))
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    driver.cuCtxSetCurrent(context)


def bus_address() -> str:
    """The PCI address of this thread's GPU, the same in all processes; "" without one."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return ""
    device, address = ctypes.c_int(), ctypes.create_string_buffer(32)
    if driver.cuCtxGetDevice(ctypes.byref(device)) != 0:
        return ""
    driver.cuDeviceGetPCIBusId(address, len(address), device)
    return address.value.decode()


def gpus() -> list[Gpu]:
    """All GPUs that CUDA's driver shows to this process. Initialises the driver, creates no context."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    return [_device(driver, ordinal) for ordinal in range(count.value)]
