"""Composed boxes move each byte of the sender's layout to the place of the same packed byte in the receiver's."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from support.effort import examples
from support.trees import byte_sequence, moves, trees
from tempi import _native as native
from tempi._native import blocks, dense, strided


def layout(tree):
    return native.layout(native.canonicalise(tree))


def boxes_and_bytes(tree, count, extent):
    found, once = layout(tree), byte_sequence(tree)
    offsets = (np.arange(count)[:, None] * extent + once[None, :]).ravel()
    return native.repeated(found.boxes, count, extent, found.size), offsets


def assert_composed(sent, received):
    (boxes, source), (to_boxes, target) = sent, received
    found = native.composed(boxes, to_boxes)
    if found is None:
        return False
    moved = moves(found)
    assert sorted(zip(*moved, strict=True)) == sorted(zip(source, target, strict=True))
    return True


@st.composite
def pairs(draw):
    """Two layouts of the same number of bytes: a tree inside of others, or its blocks moved."""
    tree = draw(trees().filter(lambda tree: tree.size > 0))
    count = draw(st.sampled_from((1, 2, 3, 4, 6)))
    outer = draw(st.sampled_from((1, 2, 3)))
    sent = strided(count * outer, tree.size + draw(st.sampled_from((0, 4, 24))), tree)
    inner = draw(st.just(tree) | st.just(dense(tree.size)))
    stride = inner.size + draw(st.sampled_from((0, 8, 16)))
    return sent, strided(outer, stride * count + draw(st.sampled_from((0, 32))), strided(count, stride, inner))


@examples(1500)
@given(pairs(), st.integers(1, 3), st.integers(0, 1))
def test_composed_layouts_are_right(pair, count, swaps):
    sent, received = reversed(pair) if swaps else pair
    assert_composed(
        boxes_and_bytes(sent, count, sent.size * 4 + 40), boxes_and_bytes(received, count, received.size * 4 + 8)
    )


@examples(800)
@given(trees(), st.integers(1, 4), st.sampled_from((1, 2, 3, 4)), st.sampled_from((1, 2, 4)))
def test_a_layout_composes_with_regular_ones_of_the_same_bytes(tree, count, blocks_of_target, gap):
    sent = boxes_and_bytes(tree, count, tree.size + 24)
    n_bytes = tree.size * count
    assume(n_bytes and n_bytes % blocks_of_target == 0)
    block = n_bytes // blocks_of_target
    received = boxes_and_bytes(strided(blocks_of_target, block + gap, dense(block)), 1, 0)
    assert_composed(sent, received)


@examples(800)
@given(trees(), st.integers(1, 4), st.integers(0, 10**6), st.integers(0, 10**6))
def test_consecutive_bytes_of_a_layout(tree, count, one, other):
    """Each at its place among the packed bytes that are cut out."""
    boxes, offsets = boxes_and_bytes(tree, count, tree.size + 24)
    begin, end = sorted(place % (len(offsets) + 1) for place in (one, other))
    found = native.bytes_between(boxes, begin, end)
    assume(found is not None)
    source, packed = moves(found)
    assert sorted(zip(packed, source, strict=True)) == list(enumerate(offsets[begin:end]))


@examples(800)
@given(trees(), st.integers(1, 4), st.integers(0, 10**6), st.integers(1, 10**6), st.sampled_from((1, 2, 4)))
def test_a_block_composes_with_consecutive_bytes_of_a_layout(tree, count, first, n, gap):
    """A contiguous message into a longer receive, or a partition of it."""
    boxes, offsets = boxes_and_bytes(tree, count, tree.size + 24)
    assume(len(offsets))
    begin = first % len(offsets)
    n_bytes = 1 + n % (len(offsets) - begin)
    filled = native.bytes_between(boxes, begin, begin + n_bytes)
    sent, source = boxes_and_bytes(dense(n_bytes), 1, n_bytes + gap)
    found = filled and native.composed(sent, filled)
    assume(found)
    assert sorted(zip(*moves(found), strict=True)) == sorted(zip(source, offsets[begin : begin + n_bytes], strict=True))


# Pairs that programs have: they must compose.
FACE_X = strided(6, 960, strided(10, 96, dense(8)))
FACE_Y = strided(6, 640, dense(80))
FACES = blocks([(0, strided(2000, 64, dense(8))), (240_000, strided(3000, 32, dense(4)))])
PAIRS = {
    "a face to itself": (FACE_X, FACE_X),
    "a face to another one": (FACE_X, FACE_Y),
    "a face to dense bytes": (FACE_Y, dense(480)),
    "dense bytes to a face": (dense(480), FACE_X),
    "a transposition": (
        strided(8, 8, strided(8, 64, dense(8))),
        strided(8, 64, strided(8, 8, dense(8))),
    ),
    "irregular to regular": (blocks([(i * i * 8, dense(8)) for i in range(12)]), strided(12, 24, dense(8))),
    "regular to irregular": (strided(12, 24, dense(8)), blocks([(i * i * 8, dense(8)) for i in range(12)])),
    "faces of a struct to dense bytes": (FACES, dense(28_000)),
    "dense bytes to faces of a struct": (dense(28_000), FACES),
    "faces of a struct to rows": (FACES, strided(3500, 24, dense(8))),
    "blocks that do not divide each other": (strided(100, 64, dense(12)), strided(150, 64, dense(8))),
    "a struct to the same": (
        strided(5, 64, blocks([(0, dense(8)), (24, dense(4))])),
        strided(5, 48, blocks([(0, dense(8)), (16, dense(4))])),
    ),
}


def test_layouts_of_programs_compose():
    for name, (tree, other) in PAIRS.items():
        assert assert_composed(boxes_and_bytes(tree, 1, 0), boxes_and_bytes(other, 1, 0)), name
        assert assert_composed(boxes_and_bytes(tree, 3, 8192), boxes_and_bytes(other, 3, 16384)), name


def test_many_blocks_that_do_not_divide_each_other_do_not_compose():
    twelve, eight = strided(2000, 64, dense(12)), strided(3000, 64, dense(8))
    assert native.composed(layout(twelve).boxes, layout(eight).boxes) is None
