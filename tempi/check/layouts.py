"""Datatypes of messages, and the bytes that they name: by MPI's definitions, without TEMPI."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

SIZES = {"1 KiB": 1 << 10, "64 KiB": 1 << 16, "2 MiB": 1 << 21}
NAMES = ("contiguous", "vector", "odd vector", "face", "indexed", "struct")
# Layouts of a message's two ends: alike, as they go straight between GPUs, and different.
MATCHES = [*zip(NAMES, NAMES, strict=True), *zip(NAMES, (*NAMES[1:], NAMES[0]), strict=True)]
_GAP = 3  # cells that a face leaves out on each side


@dataclass(frozen=True)
class Layout:
    """One element of a datatype with so many bytes of data; all are made of bytes, so that any two match.

    Attributes
    ----------
    name : str
        One of `NAMES`.
    n_bytes : int
        A power of two, from 1,024 on.
    """

    name: str
    n_bytes: int

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The offsets of all bytes, in the order in which MPI packs them."""
        if self.name == "face":
            rows, width = self._face
            full = np.arange(4 * rows * (width + 2 * _GAP)).reshape(4, rows, width + 2 * _GAP)
            return np.ravel(full[::2, :, _GAP:-_GAP])
        blocks = [np.arange(begin, begin + length) for begin, length in self._blocks]
        return np.concatenate(blocks)

    @cached_property
    def span(self) -> int:
        """Bytes of memory that an element needs."""
        return int(self.places.max()) + 1

    @property
    def _face(self) -> tuple[int, int]:
        """Rows of each of two planes, and the bytes of a row."""
        return self.n_bytes // 256, 128

    @cached_property
    def _blocks(self) -> list[tuple[int, int]]:
        """The offset and the length of each block."""
        n = self.n_bytes
        if self.name == "contiguous":
            return [(0, n)]
        if self.name == "vector":
            return [(24 * i, 8) for i in range(n // 8)]
        if self.name == "odd vector":  # the rest makes a last, shorter block
            return [(11 * i, 7) for i in range(n // 7)] + [(11 * (n // 7), n % 7)] * (n % 7 > 0)
        if self.name == "struct":  # fields of 12 and of 4 bytes in 20
            return [block for i in range(n // 16) for block in ((20 * i, 12), (20 * i + 16, 4))]
        lengths = np.resize([24, 8, 40, 56], n // 32)  # 32 on average
        begins = np.cumsum(lengths + np.resize([8, 40, 16], len(lengths))) - lengths
        order = np.random.default_rng(n).permutation(len(lengths))  # the same on all ranks
        return [(int(begins[i]), int(lengths[i])) for i in order]

    @contextmanager
    def datatype(self) -> Iterator[MPI.Datatype]:
        """The committed datatype, for as long as it is needed."""
        made = self._parts()
        try:
            yield made[-1].Commit()
        finally:
            for part in made:
                part.Free()

    def _parts(self) -> list[Any]:
        """The datatype, last, and those that it is made of."""
        from mpi4py import MPI

        blocks, n = self._blocks if self.name != "face" else [], self.n_bytes
        if self.name == "face":
            rows, width = self._face
            row = MPI.BYTE.Create_subarray([rows, width + 2 * _GAP], [rows, width], [0, _GAP])
            return [row, row.Create_hvector(2, 1, 2 * rows * (width + 2 * _GAP))]
        if self.name == "vector":
            return [MPI.BYTE.Create_hvector(n // 8, 8, 24)]
        if self.name == "struct":
            fields = MPI.Datatype.Create_struct([12, 4], [0, 16], [MPI.BYTE, MPI.BYTE])
            element = fields.Create_resized(0, 20)
            return [fields, element, element.Create_contiguous(n // 16)]
        begins, lengths = zip(*blocks, strict=True)
        return [MPI.BYTE.Create_hindexed(lengths, begins)]
