"""The plain walk, which TEMPI_VERIFY and all tests of rules and layouts trust, against the definition of the trees."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.effort import examples
from tempi import _native as native

OFFSETS = st.integers(-50, 50)


def dense(size):
    return native.dense(size), list(range(size))


def strided(count, stride, child):
    tree, offsets = child
    return native.strided(count, stride, tree), [i * stride + offset for i in range(count) for offset in offsets]


def blocks(pieces):
    offsets = [at + offset for at, (_, inner) in pieces for offset in inner]
    return native.blocks([(at, tree) for at, (tree, _) in pieces]), offsets


def extended(children):
    return st.builds(strided, st.integers(0, 4), OFFSETS, children) | st.builds(
        blocks, st.lists(st.tuples(OFFSETS, children), max_size=4)
    )


TREES = st.recursive(st.builds(dense, st.integers(0, 9)), extended, max_leaves=8)


@examples(1000)
@given(TREES)
def test_walk_visits_the_bytes_that_the_tree_stands_for(tree_and_offsets):
    tree, offsets = tree_and_offsets
    walked = [np.arange(at, at + n) for at, n in tree.walk()]
    np.testing.assert_array_equal(np.concatenate([*walked, np.zeros(0, np.int64)]), offsets)
    assert tree.size == len(offsets)
