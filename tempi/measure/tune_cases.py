"""Transfers that launch parameters are tried on, and the choice of those for each parameter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mpi4py import MPI

WORDS = (1, 2, 4, 8, 16)
LARGE_BYTES = {1: 8 << 20, 2: 16 << 20, 4: 32 << 20, 8: 32 << 20, 16: 32 << 20}  # by word: 2 to 8 Mi of them
QUICK_PART = 4
FEW, MANY = 5, 24  # members of a struct: as many as fit kernel parameters, and more
FAR_BLOCKS = 1 << 17
IRREGULAR_GAPS, IRREGULAR_BLOCKS = 7, 1 << 17  # more words than are moved by a thread each, too


@dataclass(frozen=True)
class Case:
    """A datatype whose packing or unpacking is timed.

    Attributes
    ----------
    form : str
        "vector", "few" and "many" (structs of vectors), or "irregular" (at displacements from a list).
    word : int
        Alignment of everything in it, in bytes: the widest word that a thread may move.
    block, stride : int
        Bytes.
    bytes : int
        Payload, about.
    """

    form: str
    word: int
    block: int
    stride: int
    bytes: int

    @property
    def name(self) -> str:
        """For people."""
        size = f"{self.bytes >> 20} MiB" if self.bytes >> 20 else f"{self.bytes >> 10} KiB"
        return f"{self.form} {self.block} of {self.stride} B, {size}"

    def datatype(self) -> MPI.Datatype:
        """The caller frees it."""
        from mpi4py import MPI

        n_blocks = max(2, self.bytes // self.block)
        if self.form == "vector":
            return MPI.BYTE.Create_hvector(n_blocks, self.block, self.stride)
        if self.form == "irregular":
            return self._irregular(n_blocks)
        return self._struct(n_blocks, {"few": FEW, "many": MANY}[self.form])

    def _irregular(self, n_blocks: int) -> MPI.Datatype:
        from mpi4py import MPI

        places = np.arange(n_blocks, dtype=np.int64)
        gaps = places * places % IRREGULAR_GAPS * self.word
        displacements = places * (self.stride + IRREGULAR_GAPS * self.word) + gaps
        return MPI.BYTE.Create_hindexed_block(self.block, displacements.tolist())

    def _struct(self, n_blocks: int, n_members: int) -> MPI.Datatype:
        """Vectors one behind the other, no two alike: they stay boxes of their own."""
        from mpi4py import MPI

        each = max(2, n_blocks // n_members)
        strides = [self.stride + i * self.word for i in range(n_members)]
        members = [MPI.BYTE.Create_hvector(each, self.block, stride) for stride in strides]
        places = [each * sum(strides[:i]) for i in range(n_members)]
        made = MPI.Datatype.Create_struct([1] * n_members, places, members)
        for member in members:
            member.Free()
        return made


def _large(form: str, word: int, block: int, stride: int, part: int) -> Case:
    return Case(form, word, block * word, stride * word, LARGE_BYTES[word] // part)


def _irregular(word: int, block: int) -> Case:
    return Case("irregular", word, block * word, 16 * word, block * word * IRREGULAR_BLOCKS)


def _near(word: int, part: int) -> Iterator[Case]:
    yield _large("vector", word, 1, 2, part)
    yield _large("vector", word, 9, 16, part)


def _around_shallow(quick: bool) -> Iterator[Case]:
    """Sizes at which one word a thread turns into several: 64 Ki to 1 Mi words."""
    for power in (17, 19) if quick else (17, 18, 19, 20):
        for word in (4, 8):
            yield Case("vector", word, word, 2 * word, word << power)


def cases_of(knob: str, quick: bool) -> list[Case]:
    """The cases that a launch parameter is tried on.

    Parameters
    ----------
    quick : bool
        Fewer and smaller ones.
    """
    part = QUICK_PART if quick else 1
    family, _, word = knob.partition("_")
    if family == "deep":
        return [*_near(int(word), part), _large("few", int(word), 9, 16, part)]
    if family == "irregular":
        return [_irregular(int(word), block) for block in (3, 9)]
    if knob == "shallow_words":
        return list(_around_shallow(quick))
    far = [Case("vector", 16, block, 512, block * FAR_BLOCKS // part) for block in (16, 32)]
    small = [Case("vector", word, word, 4 * word, 1 << power) for word in (4, 16) for power in (10, 16)]
    wide = [*_near(16, part), *(_large(form, 16, 9, 16, part) for form in ("few", "many"))]
    if knob == "widest_far_word":
        return far
    if knob == "widest_word":
        return [*wide, *small]
    return [*wide, *_near(4, part), _irregular(8, 9), *far, *small][:: 2 if quick else 1]


def all_cases(knobs: Iterable[str], quick: bool) -> list[Case]:
    """The cases of all launch parameters, each once."""
    return list(dict.fromkeys(case for knob in knobs for case in cases_of(knob, quick)))
