"""HaloExchange.accumulate: sums compared with global arrays, and <Hx, y> with <x, H^T y>."""

import grid_worker as worker
import pytest
from grid_strategies import NUMBERS, grids
from hypothesis import given
from hypothesis import strategies as st

from support.effort import examples
from support.messages import KINDS

FAKE = {"TEMPI_DEVICE": "fake"}


@pytest.mark.sample(2)
@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
@examples(30, shrinks=False)
@given(data=st.data())
def test_ghost_cells_are_added_to_their_owners(ranks, n_ranks, data):
    ranks(n_ranks, preload=False).call(worker.accumulate, data.draw(grids(n_ranks, dtypes=NUMBERS)))


@pytest.mark.sample(2)
@pytest.mark.parametrize("n_ranks", [1, 2, 4, 6])
@examples(20, shrinks=False)
@given(data=st.data())
def test_ghost_cells_in_any_memory_are_added(ranks, n_ranks, data):
    grid = data.draw(grids(n_ranks, ("device", *KINDS), NUMBERS))
    ranks(n_ranks, **FAKE).call(worker.accumulate, grid)


@pytest.mark.parametrize("n_ranks", [1, 2, 4])
@examples(30, shrinks=False)
@given(data=st.data())
def test_products(ranks, n_ranks, data):
    """The definition of the adjoint: <Hx, y> = <x, H^T y> for all x and y."""
    grid = data.draw(grids(n_ranks, dtypes=NUMBERS[3:]))
    for left, right in ranks(n_ranks, preload=False).call(worker.products, grid):
        assert left == right
