"""Descriptions of arrays of every kind by tempi.arrays, and its errors for objects that are none."""

import array

import dlpack_objects as dl
import numpy as np
import pytest

from tempi.arrays.array_view import ArrayView, describe

BASE = np.arange(60.0).reshape(3, 4, 5)
SLICE = BASE[::-1, 1, ::2]


class Interface:
    """An object with ``__cuda_array_interface__``."""

    def __init__(self, **entries):
        self.__cuda_array_interface__ = {
            "version": 3, "shape": (3, 2), "strides": None, "typestr": "<f4", "data": (4096, False), **entries,
        }  # fmt: skip


def address_of(values):
    return values.__array_interface__["data"][0]


def as_described(values):
    return ArrayView(
        address_of(values), values.shape, values.strides, values.dtype, not values.flags.writeable, False, None, None
    )


@pytest.mark.parametrize("wrap", [lambda a: a, dl.OfNumpy, dl.OfNumpyOld, memoryview], ids=str)
@pytest.mark.parametrize("values", [BASE, SLICE, BASE[:0], np.array(3.0)], ids=["all", "slice", "empty", "scalar"])
def test_host_arrays_of_every_interface(wrap, values):
    found, wanted = describe(wrap(values)), as_described(values)
    assert found._replace(strides=(), address=0, owner=None) == wanted._replace(strides=(), address=0)
    if values.size:  # strides without elements mean nothing
        assert (found.strides, found.address) == (wanted.strides, wanted.address)


@pytest.mark.parametrize("wrap", [lambda a: a, dl.OfNumpy, memoryview], ids=["numpy", "dlpack", "buffer"])
def test_read_only_arrays_say_so(wrap):
    values = BASE.copy()
    values.flags.writeable = False
    assert describe(wrap(values)).readonly


def test_buffers_that_are_no_arrays():
    numbers = array.array("i", [1, 2, 3])
    found = describe(numbers)
    assert (found.address, found.shape, found.dtype) == (numbers.buffer_info()[0], (3,), np.dtype("i"))
    assert describe(b"abc").readonly


def test_cuda_array_interface():
    found = describe(made := Interface(stream=7))
    assert found == ArrayView(4096, (3, 2), (8, 4), np.dtype("f4"), False, True, 7, made)
    assert describe(Interface(strides=(-4, 12))).strides == (-4, 12)
    assert describe(Interface(data=(4096, True))).readonly
    assert describe(Interface(data=(None, False), shape=(0,))).address == 0


def test_cuda_array_interface_of_structures():
    dtype = np.dtype({"names": ["a", "b"], "formats": ["i1", "<f8"], "offsets": [0, 8], "itemsize": 24})
    assert describe(Interface(typestr=dtype.str, descr=dtype.descr)).dtype == dtype


def test_before_version_3_arrays_are_on_the_default_stream():
    assert describe(Interface(version=2)).stream == 1
    assert describe(Interface()).stream is None


@pytest.mark.parametrize(
    ("device", "on_gpu"), [(dl.CPU, False), (dl.CUDA_HOST, False), (dl.CUDA, True), (dl.CUDA_MANAGED, True)]
)
def test_dlpack_devices(device, on_gpu):
    """Arrays on a GPU are asked to make the legacy default stream wait; then that one has what they queued."""
    found = describe(made := dl.Handmade(4096, (3, 5), (-1, 2), device, byte_offset=64))
    stream = 1 if on_gpu else None
    assert found == ArrayView(4160, (3, 5), (-8, 16), np.dtype("f8"), False, on_gpu, stream, found.owner)
    assert found.owner[0] is made
    assert made.stream == (1 if on_gpu else None)


def test_dlpack_without_strides_is_contiguous():
    assert describe(dl.Handmade(4096, (3, 5))).strides == (40, 8)


def test_dlpack_types_that_numpy_lacks_are_bytes():
    assert describe(dl.Handmade(4096, (3,), code=dl.FLOAT8, bits=8)).dtype == np.dtype("V1")


def test_bfloat16_has_a_dtype_of_its_own():
    assert describe(dl.Handmade(4096, (3,), code=dl.BFLOAT, bits=16)).dtype == np.dtype([("bfloat16", "u2")])


@pytest.mark.parametrize(
    ("nothing", "shown"),
    [
        ([1, 2], "[1, 2]"),
        ([*range(10**6)], "[0, 1, 2, 3, 4, 5, ...]"),
        ([np.zeros((9, 9))] * 2, "of type list"),
        ("text", "'text'"),
        (None, "None"),
        (3, "3"),
        (object(), "of type object"),
    ],
    ids=["list", "long list", "list of arrays", "text", "None", "number", "object"],
)
def test_what_is_no_array(nothing, shown):
    with pytest.raises(TypeError) as raised:
        describe(nothing)
    assert str(raised.value).startswith(f"array is {shown}; it must be an array, with __cuda_array_interface__, ")
    assert "pass a NumPy, CuPy or Numba array" in str(raised.value)


def test_devices_that_are_not_known():
    with pytest.raises(TypeError, match=r"DLPack device type 8.*copy it there first"):
        describe(dl.Handmade(4096, (3,), device=dl.METAL))


def test_elements_that_are_no_bytes():
    with pytest.raises(TypeError, match="4 bits"):
        describe(dl.Handmade(4096, (3,), bits=4))


def test_masked_arrays():
    with pytest.raises(ValueError, match=r"array 3 is a masked array, and MPI does not transfer masks: fill it"):
        describe(Interface(mask=Interface()), "array 3")
    with pytest.raises(ValueError, match=r"array is a masked array, .*: pass its filled\(\) or its data"):
        describe(np.ma.masked_array([1.0, 2.0], mask=[True, False]))
