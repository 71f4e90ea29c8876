"""The geometry of bench.halo3d against arrays cut from the global one, wrapped around by NumPy."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.halo3d.grid import DIRECTIONS, Place, Size, expected, fill, n_wrong, opposite, process_grid
from bench.halo3d.packing import received_packing, sent_packing
from support.effort import examples

RANKS = st.integers(1, 12)
SIZES = st.integers(1, 4).flatmap(
    lambda radius: st.builds(Size, st.integers(radius, 7), st.just(radius), st.integers(1, 3))
)


def places(n_ranks):
    return [Place(process_grid(n_ranks), rank) for rank in range(n_ranks)]


def padded_block(size, place):
    """The global array, continued periodically, at the place of this rank's padded array."""
    lengths = [n * size.edge for n in place.dims]
    whole = np.arange(size.quantities * prod(lengths), dtype=float).reshape(size.quantities, *lengths)
    around = np.pad(whole, [(0, 0)] + [(size.radius, size.radius)] * 3, mode="wrap")
    starts = [c * size.edge for c in np.unravel_index(place.rank, place.dims)]
    return around[(slice(None), *(slice(start, start + size.padded) for start in starts))]


@given(SIZES, RANKS)
@examples(40)
def test_every_cell_is_expected_to_hold_its_owners_index(size, n_ranks):
    for place in places(n_ranks):
        np.testing.assert_array_equal(np.stack(list(expected(size, place, np))), padded_block(size, place))


@given(SIZES, RANKS)
@examples(40)
def test_boxes_sent_to_the_neighbours_fill_all_ghost_cells(size, n_ranks):
    arrays = [np.empty(size.shape) for _ in range(n_ranks)]
    for place, data in zip(places(n_ranks), arrays, strict=True):
        fill(data, size, place, np)
    for place, data in zip(places(n_ranks), arrays, strict=True):
        for direction in DIRECTIONS:
            target = arrays[place.neighbour(direction)]
            target[(slice(None), *size.ghosts(opposite(direction)))] = data[(slice(None), *size.sent(direction))]
    assert [n_wrong(data, size, place, np) for place, data in zip(places(n_ranks), arrays, strict=True)] == [
        0
    ] * n_ranks


def test_cells_that_were_not_received_and_spoilt_ones_are_counted():
    size, place = Size(4, 1, 2), Place((1, 1, 1), 0)
    data = np.empty(size.shape)
    fill(data, size, place, np)
    assert n_wrong(data, size, place, np) == 2 * (6**3 - 4**3)
    data[1, 2, 2, 2] += 1
    assert n_wrong(data, size, place, np) == 2 * (6**3 - 4**3) + 1


@given(SIZES, RANKS)
@examples(40)
def test_what_a_rank_packs_for_another_is_what_that_one_unpacks(size, n_ranks):
    for place in places(n_ranks):
        sent = sent_packing(size, place)
        assert sum(message.n_bytes for message in sent.messages) == 8 * size.total_elements
        for message in sent.messages:
            receiver = Place(place.dims, message.peer)
            arriving = received_packing(size, receiver)
            (found,) = [other for other in arriving.messages if other.peer == place.rank]
            assert found.n_bytes == message.n_bytes
            assert directions(arriving, found) == directions(sent, message)


def directions(packing, message):
    """Directions of the boxes in a message, and their offsets in it."""
    end = message.start + message.n_bytes
    boxes = zip(packing.order, packing.starts, strict=True)
    return [(direction, start - message.start) for direction, start in boxes if message.start <= start < end]


@pytest.mark.parametrize(
    ("ranks", "dims"), [(1, (1, 1, 1)), (2, (2, 1, 1)), (4, (2, 2, 1)), (8, (2, 2, 2)), (12, (3, 2, 2))]
)
def test_ranks_form_a_grid_that_is_nearly_a_cube(ranks, dims):
    assert process_grid(ranks) == dims


def test_the_papers_exchange_moves_73_7_mib_a_rank():
    assert 8 * Size(256, 3, 8).total_elements / 2**20 == pytest.approx(73.7, abs=0.05)


@pytest.mark.parametrize("text", ["", "x", "8:", "0", "8:0", "8:1:1:1", "2:3"])
def test_a_size_that_makes_no_sense_is_refused(text):
    with pytest.raises(ValueError, match=r"EDGE|invalid literal|fit"):
        Size.parse(text)
