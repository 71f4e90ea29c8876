"""Random trees of tempi._native, the byte sequences they stand for, and an interpreter of boxes written for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from numpy.typing import NDArray

from support.typemap import Int64s, TypeMap
from tempi import _native as native

MAX_BYTES = 4096


def byte_sequence(tree: Any) -> Int64s:
    """The offset of every payload byte in type-map order, from the plain walk."""
    runs = np.array(tree.walk(), np.int64).reshape(-1, 2)
    return TypeMap(runs[:, 0], runs[:, 1]).byte_offsets()


# Few different numbers: strides that meet block sizes are what the rewrite rules look for.
_NUMBERS = st.sampled_from((0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96))
_SIGNED = st.builds(lambda n, sign: n * sign, _NUMBERS, st.sampled_from((1, 1, 1, -1)))
_COUNTS = st.sampled_from((1, 2, 3, 4, 1, 2, 3, 0, 5))


@st.composite
def _strided(draw: DrawFn, child: Any) -> Any:
    count = draw(_COUNTS)
    stride = draw(_SIGNED | st.just(child.size) | st.just(2 * child.size))
    return native.strided(count, stride, child)


@st.composite
def _blocks(draw: DrawFn, child: Any) -> Any:
    others = st.just(child) | st.builds(native.dense, _NUMBERS)
    pieces, at = [], draw(_SIGNED)
    step = draw(_SIGNED | st.just(child.size))
    for _ in range(draw(st.sampled_from((1, 2, 3, 4, 6, 0)))):
        tree = draw(others)
        pieces.append((at, tree))
        at += draw(st.just(step) | st.just(tree.size) | _SIGNED)
    return native.blocks(pieces)


@st.composite
def trees(draw: DrawFn) -> Any:
    tree = native.dense(draw(_NUMBERS))
    for _ in range(draw(st.sampled_from((1, 2, 3, 2, 4, 5, 0)))):
        wrapped = draw(draw(st.sampled_from((_strided, _blocks)))(tree))
        if wrapped.size <= MAX_BYTES:
            tree = wrapped
    return tree


def _side(box: Any, side: str) -> Int64s:
    """The offset of each byte on one side of a box, dims[0] innermost."""
    places = getattr(box, f"{side}_offset") + np.arange(box.block_bytes, dtype=np.int64)
    for d, dim in enumerate(box.dims):
        steps = np.arange(dim.count, dtype=np.int64) * getattr(dim, f"{side}_stride")
        if box.table_offsets is not None and box.table_dim == d and box.table_side == side:
            steps = np.array(box.table_offsets, np.int64)
            assert len(steps) == dim.count
        places = (steps[:, None] + places[None, :]).ravel()
    return places


def moves(boxes: list[Any]) -> tuple[Int64s, Int64s]:
    """Source and destination offset of every byte that the boxes move, in the order of the destination."""
    empty = [np.zeros(0, np.int64)]
    source = np.concatenate([_side(box, "src") for box in boxes] or empty)
    target = np.concatenate([_side(box, "dst") for box in boxes] or empty)
    order = np.argsort(target, kind="stable")
    return source[order], target[order]


def random_bytes(size: int, seed: int = 1) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)
