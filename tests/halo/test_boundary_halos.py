"""Boundary conditions as functions on the faces that have no neighbour."""

from dataclasses import replace

import boundary_worker as worker
import pytest
from grid_cases import Grid, GridField
from grid_strategies import grids
from halo_cases import Field
from hypothesis import given
from hypothesis import strategies as st

from support import needs
from support.effort import examples

WIDTHS = ((1, 2), (2, 1))
DTYPES = ("u1", "<i2", "<f4", "<c16", "S3", "<M8[s]", ">i4")  # NumPy does not copy the padding of structures


@pytest.mark.parametrize("mode", ["edge", "symmetric"])
@pytest.mark.parametrize("n_ranks", [1, 2, 4])
@examples(30, shrinks=False)
@given(data=st.data())
def test_ghost_cells_are_those_of_numpys_pad(ranks, n_ranks, mode, data):
    grid = replace(data.draw(grids(n_ranks, dtypes=DTYPES)), neighbours="all")
    if grid.mask is not None:  # the whole array is no box
        grid = replace(grid, mask=None, listed=False, dims=(n_ranks, *(1,) * (len(grid.dims) - 1)))
        grid = replace(grid, shape=tuple(5 * k for k in grid.dims))
    ranks(n_ranks, preload=False).call(worker.compare_with_pad, grid, mode)


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
@examples(30, shrinks=False)
@given(data=st.data())
def test_what_messages_fill_is_left_alone(ranks, n_ranks, data):
    ranks(n_ranks, preload=False).call(worker.fill_with_zeros, data.draw(grids(n_ranks, dtypes=DTYPES)))


def test_the_faces_and_their_order(ranks):
    """By dimension, the low side first, array after array; the second array has its axes turned."""
    fields = GridField(WIDTHS, (0, 0)), GridField(WIDTHS, (1, 0), Field(axes=(2, 0), further=(3,)))
    first, second = ranks(2, preload=False).call(worker.calls, Grid((2, 1), (8, 4), (False, False), fields))
    across = [(0, 1, "low", 1), (1, 1, "low", 0), (0, 1, "high", 1), (1, 1, "high", 0)]
    assert first == [(0, 0, "low", 0), (1, 0, "low", 2), *across]
    assert second == [(0, 0, "high", 0), (1, 0, "high", 2), *across]


def test_a_periodic_grid_has_no_faces(ranks):
    grid = Grid((2, 1), (8, 4), (True, True), (GridField(WIDTHS, (0, 1)),))
    assert ranks(2, preload=False).call(worker.calls, grid) == [[], []]


@needs.fake_device("arrays of the fake device")
@pytest.mark.parametrize("options", [{}, {"TEMPI_STRATEGY": "direct"}], ids=["packed", "direct"])
def test_a_function_that_queues_its_work(ranks, options):
    ranks(2, TEMPI_DEVICE="fake", **options).call(worker.on_a_stream)


def test_an_error_of_the_function_leaves_the_exchange_usable(ranks):
    assert ranks(1, preload=False).call(worker.failing_function) == [("of the function", True)]


def test_layers_that_an_array_does_not_have(ranks):
    (found,) = ranks(1, preload=False).call(worker.layers)
    words = [f"layer {number}: the array has 6 layers along axis 0" for number in (-3, 4)]
    words.append("number is 'first'; it must be an integer")
    assert found == words * 2
