"""Buffers of collective calls: blocks of random datatypes between guards, in any memory."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from support import memory
from support.building import Builder
from support.collective_calls import Number, Numbers, Types
from support.messages import GUARD_BYTES, MAKERS
from support.typemap import Bytes, Named, Spec, message_map


@dataclass(frozen=True)
class Elements:
    """A datatype of `n_leaves` basic elements."""

    spec: Spec
    n_leaves: int


SIZES = (1, 2, 3, 4, 6, 12)  # basic elements of a datatype


def random_elements(draw: random.Random, leaf: str, n_leaves: int, each: int = 0) -> Elements:
    """Elements of which a whole number holds `n_leaves` basic ones; each has as many as said, if that is said."""
    each = each or draw.choice([n for n in SIZES if n_leaves % n == 0])
    maker = draw.choice([name for name in MAKERS if name != "struct" or each > 1])
    return Elements(Named(leaf) if each == 1 and draw.random() < 0.5 else MAKERS[maker](Named(leaf), each, draw), each)


class Layout:
    """A buffer's arguments, and the bytes that they reach."""

    arguments: tuple[object, ...]
    n_bytes: int
    origin: int
    blocks: list[NDArray[np.int64]]  # bytes of each, in the order of the type map, from the origin

    def _close(self, blocks: list[NDArray[np.int64]]) -> None:
        self.blocks = blocks
        every = np.concatenate([np.zeros(1, np.int64), *blocks])
        self.origin = GUARD_BYTES - int(every.min())
        self.n_bytes = int(every.max()) + 1 + self.origin + GUARD_BYTES

    def payload(self, contents: Bytes, i: int) -> Bytes:
        return contents[self.blocks[i] + self.origin]

    def fill(self, contents: Bytes, i: int, payload: Bytes) -> None:
        contents[self.blocks[i] + self.origin] = payload


def _bytes_of(elements: Elements, count: int, builder: Builder, displacement: int = 0) -> NDArray[np.int64]:
    return message_map(elements.spec, count, builder.bounds).byte_offsets() + displacement


class Uniform(Layout):
    """One count for all blocks, which follow each other."""

    def __init__(self, elements: Elements, n_leaves: int, n_blocks: int, builder: Builder) -> None:
        self.count = n_leaves // elements.n_leaves
        self.datatype = builder.build(elements.spec).Commit()
        self.arguments = (Number(self.count), self.datatype)
        step = self.count * builder.bounds(elements.spec).extent
        self._close([_bytes_of(elements, self.count, builder, i * step) for i in range(n_blocks)])


class Several(Layout):
    """Counts and displacements, in elements, by block; the blocks stand in any order, with gaps."""

    def __init__(self, elements: Elements, leaves: list[int], draw: random.Random, builder: Builder) -> None:
        counts = [n // elements.n_leaves for n in leaves]
        displacements, at = [0] * len(leaves), draw.randint(0, 2)
        for i in draw.sample(range(len(leaves)), len(leaves)):
            displacements[i] = at
            at += counts[i] + draw.randint(0, 2)
        self.datatype = builder.build(elements.spec).Commit()
        self.arguments = (Numbers(counts), Numbers(displacements), self.datatype)
        extent = builder.bounds(elements.spec).extent
        self._close([_bytes_of(elements, n, builder, at * extent) for n, at in zip(counts, displacements, strict=True)])


class SeveralTypes(Layout):
    """A datatype and a displacement in bytes by block."""

    def __init__(
        self, elements: list[Elements], leaves: list[int], is_wide: bool, draw: random.Random, builder: Builder
    ) -> None:
        counts = [n // one.n_leaves for n, one in zip(leaves, elements, strict=True)]
        displacements, at = [0] * len(leaves), 0
        for i in draw.sample(range(len(leaves)), len(leaves)):
            true = message_map(elements[i].spec, counts[i], builder.bounds).true_bounds
            displacements[i] = at - true.lower
            at += -(-true.extent // 8) * 8 + 8 * draw.randint(0, 2)
        types = [builder.build(one.spec).Commit() for one in elements]
        self.arguments = (Numbers(counts), Numbers(displacements, is_wide), Types(types))
        self._close([_bytes_of(*one, builder, at) for *one, at in zip(elements, counts, displacements, strict=True)])


class Held:
    """A layout in memory with contents."""

    def __init__(self, layout: Layout, kind: str, seed: int) -> None:
        self.layout, self.kind = layout, kind
        self.before: Bytes = np.random.default_rng(seed).integers(0, 256, layout.n_bytes, np.uint8)
        self.buffer = memory.at_hand(kind, self.before)

    @property
    def address(self) -> int:
        return self.buffer.address + self.layout.origin

    def refill(self, seed: int) -> None:
        self.before = np.random.default_rng(seed).integers(0, 256, self.layout.n_bytes, np.uint8)
        self.buffer.write(self.before)

    def read(self) -> Bytes:
        return self.buffer.read().copy()
