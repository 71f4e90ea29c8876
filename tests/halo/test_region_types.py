"""Datatypes of regions against NumPy: the packed bytes are the cells in the order of the walk."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI

from support.effort import examples
from tempi.halo.region_types import Span, Strided

pytestmark = pytest.mark.mpi_process(shim=False)


@st.composite
def arrays(draw):
    """An array of random bytes, sliced and turned at random."""
    n_axes = draw(st.integers(1, 4))
    cell_bytes = draw(st.sampled_from((1, 2, 3, 4, 8, 12, 16, 24)))
    shape = [draw(st.integers(1, 6)) for _ in range(n_axes)]
    contents = np.random.default_rng(draw(st.integers(0, 999))).integers(0, 256, (*shape, cell_bytes), np.uint8)
    array = contents.view(f"V{cell_bytes}")[..., 0]
    steps = tuple(slice(None, None, draw(st.sampled_from((1, 1, 2, -1, -2)))) for _ in shape)
    return array[steps].transpose(draw(st.permutations(range(n_axes))))


def strided(array):
    return Strided(array.__array_interface__["data"][0], array.shape, array.strides, array.itemsize)


def packed(span, parts):
    datatype = span.datatype(parts)
    found = np.zeros(datatype.Get_size(), np.uint8)
    datatype.Pack(span.buffer(), found, 0, MPI.COMM_SELF)
    datatype.Free()
    return found


@examples(300)
@given(arrays(), arrays(), st.randoms())
def test_cells_of_two_arrays_in_the_order_of_any_walks(first, second, drawn):
    every, expected = [], []
    for array in (first, second):
        walk = [(axis, drawn.random() < 0.5) for axis in range(array.ndim)]
        drawn.shuffle(walk)
        every.append(strided(array).walked(tuple(walk)))
        turned = array[tuple(slice(None, None, -1 if back else 1) for _, back in sorted(walk))]
        expected.append(turned.transpose([axis for axis, _ in walk]).tobytes())
    assert packed(Span.of(every), every).tobytes() == b"".join(expected)


@examples(300)
@given(arrays(), st.data())
def test_regions_are_slices(array, data):
    region = []
    for n in array.shape[: data.draw(st.integers(1, array.ndim))]:
        begin = data.draw(st.integers(0, n - 1))
        region.append(slice(begin, data.draw(st.integers(begin + 1, n))))
    cells = strided(array)[tuple(region)]
    assert packed(Span.of([cells]), [cells]).tobytes() == array[tuple(region)].tobytes()


@examples(300)
@given(arrays())
def test_the_fastest_walk_goes_upwards_in_the_smallest_steps(array):
    cells = strided(array)
    walked = cells.walked(cells.fastest_walk())
    assert list(walked.strides) == sorted(map(abs, cells.strides), reverse=True)
    assert Span.of([cells]) == Span.of([walked])


def test_as_few_loops_as_can_be():
    dense = strided(np.zeros((4, 5, 6))).datatype()
    rows = strided(np.zeros((4, 5, 7))[:, :, :6]).datatype()
    assert dense.decode()[1:] == ("CONTIGUOUS", {"count": 120})
    assert rows.decode()[1:] == ("HVECTOR", {"count": 20, "blocklength": 6, "stride": 56})
