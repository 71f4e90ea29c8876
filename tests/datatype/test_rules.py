"""Every rewrite rule keeps the byte sequence, and so does their sum."""

import numpy as np
import pytest
from hypothesis import given

from support.effort import examples
from support.trees import byte_sequence, trees
from tempi import _native as native
from tempi._native import blocks, dense, strided

RULES = dict(native.rules())

# A smallest tree for each rule to act on: a rule that never acts would pass every random test.
ACTS_ON = {
    "drop_empty": blocks([(0, dense(4)), (8, dense(0))]),
    "unroll_single": strided(1, 12, dense(4)),
    "fuse_dense": strided(3, 4, dense(4)),
    "fuse_loops": strided(3, 16, strided(2, 8, dense(4))),
    "hoist_offset": strided(3, 16, blocks([(4, dense(4))])),
    "unwrap_single": blocks([(0, strided(2, 8, dense(4)))]),
    "splice_lists": blocks([(0, dense(4)), (8, blocks([(0, dense(4)), (12, dense(8))]))]),
    "join_neighbours": blocks([(0, dense(4)), (4, dense(8))]),
    "find_loops": blocks([(0, dense(4)), (12, dense(4)), (24, dense(4))]),
}

INTS = dense(4)
# Trees that just miss a condition of the rule, which random trees seldom do.
LEAVES_ALONE = {
    "unroll_single": [strided(2, 12, INTS)],
    "fuse_dense": [strided(3, 3, INTS), strided(3, 5, INTS), strided(3, -4, INTS)],
    "fuse_loops": [strided(3, 12, strided(2, 8, INTS)), strided(3, 24, strided(2, 8, INTS))],
    "hoist_offset": [strided(3, 16, blocks([(4, INTS), (8, INTS)]))],
    "unwrap_single": [blocks([(4, strided(2, 8, INTS))])],
    "join_neighbours": [
        blocks([(0, INTS), (5, dense(8))]),
        blocks([(0, strided(3, 8, INTS)), (24, strided(2, 16, INTS))]),
        blocks([(0, strided(2, 16, INTS)), (32, strided(3, 8, INTS))]),
        blocks([(0, strided(3, 8, INTS)), (24, strided(2, 8, dense(2)))]),
        blocks([(0, strided(3, 8, INTS)), (20, strided(2, 8, INTS))]),
    ],
    "find_loops": [
        blocks([(0, INTS), (12, INTS), (25, INTS)]),
        blocks([(0, INTS), (12, INTS), (100, INTS), (111, INTS)]),
    ],
}


def test_every_rule_has_an_example():
    assert set(RULES) == set(ACTS_ON)


@pytest.mark.parametrize("name", RULES)
def test_rule_acts_on_its_example_and_keeps_the_bytes(name):
    tree = ACTS_ON[name]
    rewritten = RULES[name](tree)
    assert rewritten is not None
    assert not native.same(rewritten, tree)
    np.testing.assert_array_equal(byte_sequence(rewritten), byte_sequence(tree))


@pytest.mark.parametrize("name", LEAVES_ALONE)
def test_rule_leaves_near_misses_alone(name):
    for tree in LEAVES_ALONE[name]:
        assert RULES[name](tree) is None


@examples(1500)
@given(trees())
def test_every_rule_keeps_the_byte_sequence(tree):
    expected = byte_sequence(tree)
    for name, rule in RULES.items():
        rewritten = rule(tree)
        if rewritten is not None:
            assert rewritten.size == tree.size, name
            np.testing.assert_array_equal(byte_sequence(rewritten), expected, name)


@examples(1000)
@given(trees())
def test_canonical_form_keeps_the_byte_sequence(tree):
    canonical = native.canonicalise(tree)
    assert canonical.size == tree.size
    np.testing.assert_array_equal(byte_sequence(canonical), byte_sequence(tree))


@examples(400)
@given(trees())
def test_canonical_form_is_left_alone_by_every_rule(tree):
    canonical = native.canonicalise(tree)
    assert native.same(native.canonicalise(canonical), canonical)
    assert [name for name, rule in RULES.items() if rule(canonical) is not None] == []


@examples(500)
@given(trees(), trees())
def test_different_trees_have_different_hashes(a, b):
    if not native.same(a, b):
        assert a.hash != b.hash


@examples(500)
@given(trees())
def test_equal_trees_have_equal_hashes_and_bytes(tree):
    """A list of one piece, made twice."""
    a, b = (native.canonicalise(blocks([(0, tree), (tree.size + 100, dense(3))])) for _ in "ab")
    assert native.same(a, b)
    assert a.hash == b.hash
    np.testing.assert_array_equal(byte_sequence(a), byte_sequence(b))
