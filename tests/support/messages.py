"""The two ends of a message: memory between guards, its expected contents, and statuses.

`End` is plain values, so that every rank can work out what the others send. `Image` adds the bytes, `Side` the memory.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from mpi4py import MPI

from support import constructors as c
from support import equal, memory
from support.building import Builder
from support.p2p import Form, Piece
from support.typemap import NAMED, Bytes, Named, Spec, message_map, reference_pack, reference_unpack

# Kinds of memory in the tests of messages; TESTS_SEND_KINDS="host" leaves the GPU's out.
KINDS = tuple(os.environ.get("TESTS_SEND_KINDS", ",".join(memory.KINDS)).split(","))
GUARD_BYTES = 64
LEAVES = ("INT", "DOUBLE", "BYTE")


@dataclass(frozen=True)
class End:
    kind: str
    spec: Spec
    count: int = 1
    seed: int = 0
    bottom: bool = False  # the address is in the datatype, and the call gets MPI_BOTTOM
    path: str = ""  # that the message takes by the case's claim; else outcomes.py derives it

    def later(self, rounds: int) -> End:
        """The same end with other bytes in it."""
        return replace(self, seed=self.seed + 1000003 * rounds)


@dataclass
class Carried:
    """A message: its ends, and the calls that send and receive it."""

    sent: End
    received: End
    send: str
    recv: str
    form: Form


class Image:
    def __init__(self, end: End, builder: Builder) -> None:
        self.end = end
        self.datatype = builder.build(end.spec).Commit()
        self.message = message_map(end.spec, end.count, builder.bounds)
        true = self.message.true_bounds
        self.origin = GUARD_BYTES - true.lower
        self.before: Bytes = np.random.default_rng(end.seed).integers(0, 256, true.extent + 2 * GUARD_BYTES, np.uint8)

    @property
    def size(self) -> int:
        return self.message.size

    def payload(self) -> Bytes:
        return reference_pack(self.message, self.before, self.origin)

    def payload_of(self, seed: int) -> Bytes:
        """With the contents of another seed."""
        contents = np.random.default_rng(seed).integers(0, 256, len(self.before), np.uint8)
        return reference_pack(self.message, contents, self.origin)

    def after(self, payload: Bytes) -> Bytes:
        """The bytes once a message, possibly a shorter one, has arrived."""
        expected = self.before.copy()
        reference_unpack(self.message, payload, expected, self.origin)
        return expected


class Side(Image):
    def __init__(self, end: End, builder: Builder) -> None:
        super().__init__(end, builder)
        self.buffer = memory.at_hand(end.kind, self.before)
        self._absolute: MPI.Datatype | None = None

    @property
    def piece(self) -> Piece:
        if not self.end.bottom:
            return Piece(self.buffer.address + self.origin, self.end.count, self.datatype)
        if self._absolute is None:
            address = self.buffer.address + self.origin
            self._absolute = MPI.Datatype.Create_struct([self.end.count], [address], [self.datatype]).Commit()
        return Piece(0, 1, self._absolute)

    def __del__(self) -> None:
        if getattr(self, "_absolute", None) is not None and not MPI.Is_finalized():
            self._absolute.Free()

    def refill(self, seed: int) -> None:
        self.before = np.random.default_rng(seed).integers(0, 256, len(self.before), np.uint8)
        self.buffer.write(self.before)

    def check_untouched(self) -> None:
        equal.check(self.buffer.read(), self.before, "a buffer that nobody may write was written")

    def check_received(self, payload: Bytes) -> None:
        equal.check(self.buffer.read(), self.after(payload), f"received bytes ({self.end.kind})")


def leaf_bytes(leaf: str) -> int:
    return NAMED[leaf][1]


def check_status(
    status: MPI.Status, source: int, tag: int, n_bytes: int, image: Image, leaf: str | None = None
) -> None:
    """Source, tag and the amounts received, in elements of the datatype and in basic elements `leaf`."""
    assert (status.Get_source(), status.Get_tag()) == (source, tag)
    assert status.Get_count(MPI.BYTE) == n_bytes, "bytes received"
    each = image.datatype.Get_size()
    if each:
        whole = n_bytes // each if n_bytes % each == 0 else MPI.UNDEFINED
        assert status.Get_count(image.datatype) == whole
    if each and leaf:
        assert status.Get_elements(image.datatype) == n_bytes // leaf_bytes(leaf)
    assert not status.Is_cancelled()


# Makers of datatypes that hold exactly `n` elements of `leaf`, so that any two of them match.


def _vector(leaf: Spec, n: int, random: random.Random) -> Spec:
    block = random.choice([b for b in (1, 2, 3, 4) if n % b == 0])
    return c.Vector(n // block, block, block + random.randint(1, 3), leaf)


def _indexed(leaf: Spec, n: int, random: random.Random) -> Spec:
    """An irregular table, not in ascending order, with a negative lower bound."""
    lengths, places, left, at = [], [], n, -7
    while left:
        length = min(left, random.randint(1, 3) * max(1, n // 2000))
        at += random.randint(0, 3)
        lengths.append(length)
        places.append(at)
        at, left = at + length, left - length
    order = random.sample(range(len(places)), len(places))
    return c.Indexed(tuple(lengths[i] for i in order), tuple(places[i] for i in order), leaf)


def _struct(leaf: Spec, n: int, random: random.Random) -> Spec:
    size, half = NAMED[leaf.name][1], n // 2  # type: ignore[attr-defined]
    gap = size * random.randint(1, 5)
    return c.Struct((1, n - half), (0, 2 * half * size + gap), (c.Vector(half, 1, 2, leaf), leaf))


def _subarray(leaf: Spec, n: int, random: random.Random) -> Spec:
    width = random.choice([b for b in (1, 2, 3, 4, 6) if n % b == 0])
    sizes, starts = (n // width + 2, width + 3), (random.randint(0, 2), random.randint(0, 3))
    return c.Subarray(sizes, (n // width, width), starts, "C", leaf)


def _shifted(leaf: Spec, n: int, random: random.Random) -> Spec:
    """A lower bound far from the data, and room between elements."""
    size = NAMED[leaf.name][1]  # type: ignore[attr-defined]
    inner = c.Hindexed((n,), (-3 * size,), leaf)
    return c.Resized(-8 * size, (n + 9) * size, inner)


MAKERS: dict[str, Callable[[Spec, int, random.Random], Spec]] = {
    "vector": _vector,
    "indexed": _indexed,
    "struct": _struct,
    "subarray": _subarray,
    "shifted": _shifted,
    "contiguous": lambda leaf, n, random: c.Contiguous(n, leaf),
}


def make_end(kind: str, maker: str, leaf: str, n: int, random: random.Random, **more: bool) -> End:
    """An end with `n` elements of `leaf`, split over as many elements of the datatype as divide it."""
    seed = random.getrandbits(31)
    if maker == "named":
        return End(kind, Named(leaf), n, seed, **more)
    count = random.choice([m for m in (1, 2, 3) if n % m == 0])
    return End(kind, MAKERS[maker](Named(leaf), n // count, random), count, seed, **more)


ALL_MAKERS = (*MAKERS, "named")
