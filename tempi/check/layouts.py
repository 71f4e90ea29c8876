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
        begins, lengths = self._blocks
        return np.repeat(begins - (np.cumsum(lengths) - lengths), lengths) + np.arange(self.n_bytes)

    @cached_property
    def span(self) -> int:
        """Bytes of memory that an element needs."""
        return int(self.places.max()) + 1

    @property
    def _face(self) -> tuple[int, int]:
        """Rows of each of two planes, and the bytes of a row."""
        return self.n_bytes // 256, 128

    @cached_property
    def _blocks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The offsets and the lengths of the blocks."""
        n = self.n_bytes
        if self.name == "contiguous":
            return np.array([0]), np.array([n])
        if self.name == "vector":
            return 24 * np.arange(n // 8), np.full(n // 8, 8)
        if self.name == "odd vector":  # the rest makes a last, shorter block
            begins = 11 * np.arange(-(-n // 7))
            return begins, np.minimum(7, n - 7 * np.arange(len(begins)))
        if self.name == "struct":  # fields of 12 and of 4 bytes in 20
            return np.add.outer(20 * np.arange(n // 16), [0, 16]).ravel(), np.resize([12, 4], n // 8)
        lengths = np.resize([24, 8, 40, 56], n // 32)  # 32 on average
        begins = np.cumsum(lengths + np.resize([8, 40, 16], len(lengths))) - lengths
        order = np.random.default_rng(n).permutation(len(lengths))  # the same on all ranks
        return begins[order], lengths[order]

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

        n = self.n_bytes
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
        begins, lengths = self._blocks
        return [MPI.BYTE.Create_hindexed(lengths.tolist(), begins.tolist())]
