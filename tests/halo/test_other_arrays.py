"""HaloExchange.with_arrays: one pattern and many arrays."""

from dataclasses import replace

import halo_worker
import other_arrays_worker as worker
import pytest
from grid_strategies import NUMBERS, grids
from hypothesis import given
from hypothesis import strategies as st

from support.effort import examples
from support.messages import KINDS

FAKE = {"TEMPI_DEVICE": "fake"}


def drawn(data, n_ranks, kinds):
    """A grid, and the same one of arrays in other memory and with other strides."""
    grid = data.draw(grids(n_ranks, kinds, NUMBERS))
    other = []
    for one in grid.fields:
        kind, layout = data.draw(st.sampled_from(kinds)), data.draw(st.sampled_from(("C", "F", "back")))
        other.append(replace(one, field=replace(one.field, kind=kind, layouts=(layout,))))
    return grid, replace(grid, fields=tuple(other), seed=grid.seed + 500)


@pytest.mark.sample(3)
@pytest.mark.parametrize("kinds", [("host",), ("device", *KINDS)], ids=["host", "any memory"])
@pytest.mark.parametrize("n_ranks", [1, 2, 4])
@examples(20, shrinks=False)
@given(data=st.data())
def test_both_exchanges_at_once(ranks, n_ranks, kinds, data):
    job = ranks(n_ranks, preload=False) if kinds == ("host",) else ranks(n_ranks, **FAKE)
    job.call(worker.two_at_once, *drawn(data, n_ranks, kinds))


def test_arrays_of_one_exchange_each(ranks):
    """Tags and datatypes are used again."""
    assert max(ranks(2, preload=False).call(worker.many, 40)) == 2


def test_the_boundary_function_is_called_with_the_other_array(ranks):
    ranks(2, preload=False).call(worker.boundary)


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (worker.fewer_arrays, "ValueError", "the exchange has 2 arrays, not 1"),
        (
            worker.another_dtype,
            "ValueError",
            "differ from those of the exchange: dtypes ['float32'] instead of ['float64']",
        ),
        (worker.another_shape, "ValueError", "differ from those of the exchange: own cells (4, 5) instead of (4, 4)"),
        (worker.another_stagger, "ValueError", "differ from those of the exchange: own cells (3, 4) instead of (4, 4)"),
        (worker.of_a_freed_exchange, "RuntimeError", "the halo exchange is freed"),
    ],
)
def test_errors(ranks, make, kind, words):
    for name, text in ranks(2, preload=False).call(halo_worker.error_of, make):
        assert name == kind
        assert words in text
