"""The boxes of a layout move the bytes of the tree's plain walk to their place in type-map order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.effort import examples
from support.trees import byte_sequence, moves, random_bytes, trees
from tempi import _native as native
from tempi._native import blocks, dense, strided


def layout(tree):
    return native.layout(native.canonicalise(tree))


def assert_moves(boxes, expected):
    source, target = moves(boxes)
    np.testing.assert_array_equal(target, np.arange(len(expected)))  # dense, each byte once
    np.testing.assert_array_equal(source, expected)


@examples(1000)
@given(trees())
def test_boxes_move_the_bytes_of_the_walk(tree):
    assert_moves(layout(tree).boxes, byte_sequence(tree))


@examples(400)
@given(trees())
def test_bounds_and_size_are_those_of_the_walk(tree):
    found, bytes_ = layout(tree), byte_sequence(tree)
    assert found.size == len(bytes_)
    lower, upper = (bytes_.min(), bytes_.max() + 1) if len(bytes_) else (0, 0)
    assert (found.true_lower_bound, found.true_upper_bound) == (lower, upper)


@examples(1000)
@given(trees(), st.integers(0, 4), st.sampled_from((0, 1, 4, 8, 64, 100, -8)) | st.just(None))
def test_repeated_boxes_move_count_elements_an_extent_apart(tree, count, extent):
    found, once = layout(tree), byte_sequence(tree)
    extent = found.true_upper_bound if extent is None else extent
    expected = (np.arange(count)[:, None] * extent + once[None, :]).ravel()
    assert_moves(native.repeated(found.boxes, count, extent, found.size), expected)


@examples(500)
@given(trees())
def test_reversed_boxes_swap_the_two_sides(tree):
    for box in layout(tree).boxes:
        source, target = moves([box])
        back_source, back_target = moves([native.reversed(box)])
        assert sorted(zip(source, target, strict=True)) == sorted(zip(back_target, back_source, strict=True))


@examples(800)
@given(trees(), st.integers(0, 3), st.integers(0, 15))
def test_host_engine_packs_and_unpacks_what_the_boxes_say(tree, count, shift):
    found = layout(tree)
    extent = max(found.true_upper_bound, 0) + shift
    boxes = native.repeated(found.boxes, count, extent, found.size)
    once = byte_sequence(tree)
    offsets = (np.arange(count)[:, None] * extent + once[None, :]).ravel()
    origin = shift - (offsets.min() if len(offsets) else 0)
    memory = random_bytes(int(origin + (offsets.max() if len(offsets) else 0)) + 17)
    packed = np.full(found.size * count + 33, 0xEE, np.uint8)
    native.run_on_host(boxes, memory, origin, packed, shift)
    expected = np.full_like(packed, 0xEE)
    expected[shift : shift + len(offsets)] = memory[offsets + origin]
    np.testing.assert_array_equal(packed, expected)

    if len(np.unique(offsets)) == len(offsets):
        target = np.full_like(memory, 0xDD)
        native.run_on_host([native.reversed(box) for box in boxes], packed, shift, target, origin)
        wanted = np.full_like(memory, 0xDD)
        wanted[offsets + origin] = memory[offsets + origin]
        np.testing.assert_array_equal(target, wanted)


def test_sizes_above_2_gib_stay_exact():
    rows = strided(2**20, 2**16, strided(2**10, 8, dense(4)))
    found = layout(rows)
    assert found.size == 2**32
    assert found.true_upper_bound == (2**20 - 1) * 2**16 + (2**10 - 1) * 8 + 4
    (box,) = native.repeated(found.boxes, 3, 2**37, found.size)
    assert box.payload_bytes == 3 * 2**32


def test_offsets_above_2_gib_stay_exact():
    far = blocks([(2**33, dense(4)), (-(2**33), dense(8)), (0, strided(3, 2**32, dense(16)))])
    found = layout(far)
    assert (found.true_lower_bound, found.true_upper_bound) == (-(2**33), 2**33 + 16)
    np.testing.assert_array_equal(moves(found.boxes)[0], byte_sequence(far))


def test_a_dense_type_above_2_gib_is_one_box():
    found = layout(strided(2**31, 8, dense(8)))
    assert [(box.block_bytes, len(box.dims)) for box in found.boxes] == [(2**34, 0)]


def test_equal_blocks_at_irregular_places_share_one_table():
    found = layout(blocks([(at * 64, dense(8)) for at in (0, 1, 5, 3, 100)]))
    (box,) = found.boxes
    assert box.table_offsets == [0, 64, 320, 192, 6400]
    assert box.table_unit == 16
