"""Waiting for a stream makes the right driver calls in the right order, recorded by a stand-in driver."""

import numpy as np
import pytest

from tempi.arrays.array_view import describe, wait_for
from tempi.cuda import stream as cuda_stream

POINTER_OF_NOBODY, LAUNCH_FAILED = 1, 719
STREAM, ADDRESS, CONTEXT, ORDINAL = 77, 4096, 99, 3


class Driver:
    """Functions of the driver API by name; `codes` has the error codes of those that fail."""

    def __init__(self, **codes):
        self.codes = codes
        self.calls = []

    def _answer(self, name, *arguments):
        self.calls.append((name, *arguments))
        return self.codes.get(name, 0)

    def cuPointerGetAttribute(self, result, attribute, address):
        result._obj.value = ORDINAL
        return self._answer("pointer", address)

    def cuDeviceGet(self, result, ordinal):
        result._obj.value = ordinal
        return self._answer("device", ordinal)

    def cuDevicePrimaryCtxRetain(self, result, device):
        result._obj.value = CONTEXT
        return self._answer("context", device.value)

    def cuCtxPushCurrent_v2(self, context):
        return self._answer("push", context)

    def cuStreamSynchronize(self, stream):
        return self._answer("wait", stream)

    def cuCtxPopCurrent_v2(self, _):
        return self._answer("pop")


@pytest.fixture
def wait(monkeypatch):
    def wait_with(driver, array=None):
        monkeypatch.setattr(cuda_stream, "_driver", lambda: driver)
        wait_for(describe(Array(STREAM) if array is None else array))
        return driver.calls

    return wait_with


class Array:
    def __init__(self, stream):
        self.__cuda_array_interface__ = {
            "version": 3, "shape": (3,), "typestr": "<f4", "data": (ADDRESS, False), "stream": stream,
        }  # fmt: skip


def test_the_stream_is_waited_for_in_the_context_of_the_arrays_device(wait):
    retain = [("device", ORDINAL), ("context", ORDINAL)]
    around = [("push", CONTEXT), ("wait", STREAM), ("pop",)]
    driver = Driver()
    assert wait(driver) == [("pointer", ADDRESS), *retain, *around]
    driver.calls.clear()
    assert wait(driver) == [("pointer", ADDRESS), *around]  # the context is known now


def test_arrays_without_a_stream_are_not_waited_for(wait):
    assert wait(Driver(), Array(None)) == []
    assert wait(Driver(), np.zeros(3)) == []


def test_memory_that_is_not_cudas_is_not_waited_for(wait):
    assert wait(Driver(pointer=POINTER_OF_NOBODY)) == [("pointer", ADDRESS)]


def test_errors_of_the_producers_kernels_are_raised(wait):
    driver = Driver(wait=LAUNCH_FAILED)
    with pytest.raises(RuntimeError, match=r"cuStreamSynchronize failed with CUDA error 719"):
        wait(driver)
    assert driver.calls[-1] == ("pop",)
