"""MPI datatypes of array elements: their extents and their data bytes."""

import numpy as np
import pytest
from slices import DTYPES, HOST_DTYPES

pytestmark = pytest.mark.mpi_process(shim=False)


def data_bytes(dtype):
    """Bytes of an element that hold data."""
    ones = np.zeros(dtype.itemsize, bool)

    def mark(dtype, offset):
        if dtype.names is None:
            ones[offset : offset + dtype.itemsize] = True
        for name in dtype.names or ():
            mark(dtype.fields[name][0], offset + dtype.fields[name][1])

    mark(dtype, 0)
    return int(ones.sum())


@pytest.mark.parametrize("dtype", [np.dtype(dtype) for dtype in DTYPES + HOST_DTYPES], ids=str)
def test_size_and_extent(dtype):
    from tempi.arrays.element_types import byte_datatype, element_datatype

    for datatype in (element_datatype(dtype), byte_datatype(dtype)):
        assert datatype.Get_extent() == (0, dtype.itemsize)
        assert datatype.Get_size() == data_bytes(dtype)


def test_elements_of_one_dtype_share_their_datatype():
    from tempi.arrays.element_types import element_datatype

    assert element_datatype(np.dtype("c16")) is element_datatype(np.dtype(complex))


def test_numbers_are_the_types_of_mpi():
    from mpi4py import MPI

    from tempi.arrays.element_types import element_datatype

    assert element_datatype(np.dtype("f8")) == MPI.DOUBLE
    assert element_datatype(np.dtype("i4")) == MPI.INT32_T


@pytest.mark.parametrize("dtype", ["O", [("a", "i4"), ("b", "O")]], ids=["objects", "a field of objects"])
def test_python_objects_are_refused(dtype):
    from tempi.arrays.element_types import element_datatype

    with pytest.raises(TypeError, match=r"Python objects.*lower-case send and recv"):
        element_datatype(np.dtype(dtype))


def test_a_datatype_that_the_program_freed_is_made_anew_and_no_other_one():
    from tempi.arrays.element_types import byte_datatype, element_datatype

    pairs, longs = np.dtype("c16"), np.dtype("c8")
    for find in (element_datatype, byte_datatype):
        freed, other = find(pairs), find(longs)
        freed.Free()
        assert find(pairs).Get_size() == pairs.itemsize
        assert find(longs) is other
