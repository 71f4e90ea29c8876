"""Decomposition of staggered and masked grids, compared with the points of grid_cases.py."""

from dataclasses import replace

import numpy as np
import pytest
from grid_cases import points_of, whole_shape
from grid_strategies import grids
from hypothesis import given
from hypothesis import strategies as st

from support.effort import examples
from tempi.halo.decomposition import Decomposition


def decomposition_of(grid, one):
    mask = None if grid.mask is None else np.reshape(grid.mask, grid.dims)
    return Decomposition(grid.shape, grid.dims, one.widths, grid.periods, stagger=one.stagger, mask=mask)


@examples(100)
@given(st.data(), st.integers(1, 6))
def test_blocks_are_the_own_points(data, n_ranks):
    grid = data.draw(grids(n_ranks))
    if grid.mask is not None:
        grid = replace(grid, periods=(False,) * len(grid.dims))
    for one in grid.fields:
        found = decomposition_of(grid, one)
        assert found.global_shape == whole_shape(grid, one)
        whole = np.arange(1, 1 + np.prod(found.global_shape)).reshape(found.global_shape)
        every = [found.scatter(whole, rank) for rank in range(n_ranks)]
        gathered = found.gather(every)
        assert (gathered[gathered > 0] == whole[gathered > 0]).all()
        assert grid.mask is not None or (gathered > 0).all()
        for rank, local in enumerate(every):
            points = points_of(grid, one, rank)
            assert local.shape == points.shape
            mine = whole[tuple(points.index[:, points.own])]
            assert (local[points.own] == mine).all()
            assert (gathered[tuple(points.index[:, points.own])] == mine).all()
            # Beside a missing block two ranks may have a point.
            assert grid.mask is not None or (local[~points.own] == 0).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"stagger": (1, 0, 0)}, "stagger is (1, 0, 0); it must have an entry for each of 2"),
        ({"stagger": 1, "width": 4}, "a point at each border of a cell need at least 5"),
        ({"mask": np.ones((2, 2), bool)}, "mask has shape (2, 2)"),
        (
            {"mask": [[True], [False]], "stagger": (1, 0), "periods": True},
            "cannot be staggered in a periodic dimension",
        ),
    ],
)
def test_errors(arguments, words):
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        Decomposition((8, 8), (2, 1), **arguments)
    assert words in str(raised.value)
