"""Arrays of different shapes, ghost widths of each array, masks and listed neighbours, compared with global arrays."""

import grid_worker as worker
import pytest
from grid_cases import Grid, GridField
from grid_strategies import grids
from halo_cases import Field
from hypothesis import given
from hypothesis import strategies as st

from support.effort import examples
from support.messages import KINDS

FAKE = {"TEMPI_DEVICE": "fake"}
ONE, TWO = ((1, 1),), ((1, 1), (1, 1))
THREE = ((1, 1), (1, 1), (1, 1))
LEFT = ((2, 0), (2, 0))
OPEN, RING = (False, False), (True, True)
CORNER = (True, True, True, False)  # of four places three have a rank


def of(widths, *staggers):
    return tuple(GridField(widths, stagger, Field(("<f8", "<f4")[i % 2])) for i, stagger in enumerate(staggers))


CELLS, FACES, NODES = (0, 0), ((1, 0), (0, 1)), (1, 1)
FACES_3D, EDGES_3D = ((1, 0, 0), (0, 1, 0), (0, 0, 1)), ((0, 1, 1), (1, 0, 1), (1, 1, 0))
STAGGERED = {
    "nodes of a line": Grid((3,), (10,), (False,), of(ONE, (1,))),
    "nodes of a ring": Grid((3,), (10,), (True,), of(ONE, (1,))),
    "nodes of a ring of one rank": Grid((1,), (4,), (True,), of(ONE, (1,))),
    "marker and cell": Grid((2, 2), (7, 6), OPEN, of(TWO, CELLS, *FACES)),
    "marker and cell, periodic": Grid((2, 2), (7, 6), RING, of(TWO, CELLS, *FACES)),
    "marker and cell, periodic along one dimension": Grid((4, 1), (9, 3), (False, True), of(TWO, CELLS, *FACES)),
    "nodes of a plane": Grid((2, 2), (5, 6), OPEN, of(TWO, NODES)),
    "nodes of a torus": Grid((2, 2), (5, 6), RING, of(TWO, NODES, CELLS)),
    "nodes without ghost cells": Grid((2, 2), (5, 6), OPEN, of(((0, 0), (0, 0)), NODES)),
    "upwind": Grid((2, 2), (8, 8), OPEN, of(LEFT, CELLS, NODES)),
    "a width for each array": Grid((2, 2), (8, 9), RING, (*of(TWO, CELLS), *of(((2, 3), (0, 1)), *FACES))),
    "nodes, faces only": Grid((2, 2), (5, 6), OPEN, of(TWO, NODES), "faces"),
    "Yee's cells": Grid((2, 2, 1), (4, 5, 3), (True, True, False), of(THREE, *FACES_3D, *EDGES_3D)),
    "C grid in three dimensions": Grid((1, 2, 2), (3, 4, 5), (False,) * 3, of(THREE, (0, 0, 0), *FACES_3D)),
    "nodes around a missing block": Grid((2, 2), (6, 6), OPEN, of(TWO, NODES, CELLS, *FACES), mask=CORNER),
    "nodes around a missing block of a torus": Grid((2, 2), (6, 6), RING, of(TWO, NODES, CELLS), mask=CORNER),
    "listed neighbours": Grid((2, 2), (6, 6), OPEN, of(TWO, NODES, CELLS), mask=CORNER, listed=True),
    "four dimensions": Grid((2, 1, 2, 1), (4, 3, 4, 2), (True,) * 4, of(((1, 1),) * 4, (0, 0, 0, 0), (1, 0, 0, 0))),
}


def n_ranks(grid):
    return int((grid.places >= 0).sum())


@pytest.mark.parametrize("name", STAGGERED)
@pytest.mark.parametrize("act", [worker.exchange, worker.accumulate], ids=["exchange", "adjoint"])
def test_staggered_grids(ranks, name, act):
    ranks(n_ranks(STAGGERED[name]), preload=False).call(act, STAGGERED[name])


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
@examples(30, shrinks=False)
@given(data=st.data())
def test_random_grids_without_the_shim(ranks, n_ranks, data):
    ranks(n_ranks, preload=False).call(worker.exchange, data.draw(grids(n_ranks)))


@pytest.mark.parametrize("n_ranks", [1, 2, 4, 6])
@examples(20, shrinks=False)
@given(data=st.data())
def test_random_grids_in_any_memory(ranks, n_ranks, data):
    ranks(n_ranks, **FAKE).call(worker.exchange, data.draw(grids(n_ranks, ("device", *KINDS))))


def test_a_boundary_that_is_periodic_in_one_part(ranks):
    ranks(2, preload=False).call(worker.partly_periodic)


def test_three_blocks_at_a_corner(ranks):
    ranks(3, preload=False).call(worker.three_blocks_at_a_corner)
