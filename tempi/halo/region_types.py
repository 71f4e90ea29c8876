"""MPI datatypes of regions of arrays: the contents of one message.

Both ends of a message walk through their cells in the same order, whatever the strides of their arrays are,
and call them the same words; then the type signatures agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd, prod

from mpi4py import MPI

from tempi.arrays.loop_types import nested_datatype
from tempi.arrays.strides import Loop, below_first, loops_of, span
from tempi.halo.ghosts import Region

Walk = tuple[tuple[int, bool], ...]  # axes, the outermost loop first; True: from the last index down

# Cells travel as words, not as the program's types. The library only moves them; structures have no other
# name in MPI; and Open MPI moves complex numbers wrongly that do not lie at a multiple of their size.
_WORDS = {1: MPI.UINT8_T, 2: MPI.UINT16_T, 4: MPI.UINT32_T, 8: MPI.UINT64_T}


@dataclass(frozen=True)
class Strided:
    """Cells at regular distances.

    Attributes
    ----------
    address : int
        Address of the cell with all indices 0, which need not be the lowest.
    shape, strides : tuple of int
        Cells and bytes by axis.
    cell_bytes : int
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    cell_bytes: int

    def __getitem__(self, region: Region) -> Strided:
        """The cells of a region of the first axes."""
        offset = sum(part.start * stride for part, stride in zip(region, self.strides, strict=False))
        shape = (*(part.stop - part.start for part in region), *self.shape[len(region) :])
        return Strided(self.address + offset, shape, self.strides, self.cell_bytes)

    @property
    def n_bytes(self) -> int:
        """The size of the cells in bytes."""
        return prod(self.shape) * self.cell_bytes

    def fastest_walk(self) -> Walk:
        """The order that goes through memory upwards, in the smallest steps."""
        order = sorted(range(len(self.shape)), key=lambda axis: -abs(self.strides[axis]))
        return tuple((axis, self.strides[axis] < 0) for axis in order)

    def walked(self, walk: Walk) -> Strided:
        """The same cells, indexed in the order of a walk."""
        address, shape, strides = self.address, [], []
        for axis, is_reversed in walk:
            count, stride = self.shape[axis], self.strides[axis]
            address += (count - 1) * stride if is_reversed else 0
            shape.append(count)
            strides.append(-stride if is_reversed else stride)
        return Strided(address, tuple(shape), tuple(strides), self.cell_bytes)

    @property
    def begin(self) -> int:
        """The lowest address; meaningless if there are no cells."""
        return self.address - below_first(self._axes)

    @property
    def end(self) -> int:
        """The first address above all cells; meaningless if there are no cells."""
        return self.begin + span(self._axes, self.cell_bytes)

    @property
    def _axes(self) -> list[Loop]:
        return list(zip(self.shape, self.strides, strict=True))

    def datatype(self) -> MPI.Datatype:
        """The cells in the order of their indices, counted from `begin`; not committed."""
        word_bytes = gcd(self.cell_bytes, max(_WORDS))
        n_words = self.cell_bytes // word_bytes
        loops = loops_of((*self.shape, n_words), (*self.strides, word_bytes))
        in_a_row = loops.pop()[0] if loops and loops[-1][1] == word_bytes else 1
        return nested_datatype(loops, in_a_row, _WORDS[word_bytes])


@dataclass(frozen=True)
class Span:
    """The stretch of memory that datatypes count from: it begins and ends with cells of some array."""

    begin: int
    end: int

    @classmethod
    def of(cls, every: Iterable[Strided]) -> Span:
        """From the lowest cell to the highest."""
        cells = list(every)
        return cls(min((one.begin for one in cells), default=0), max((one.end for one in cells), default=0))

    @property
    def n_bytes(self) -> int:
        """Its length, holes between arrays included."""
        return self.end - self.begin

    def buffer(self) -> MPI.buffer:
        """All of it, as MPI calls take it. It keeps no array alive."""
        return MPI.buffer.fromaddress(self.begin, self.n_bytes)

    def datatype(self, parts: Sequence[Strided]) -> MPI.Datatype:
        """The committed datatype of all cells of all parts, one part after the other; as long as the span."""
        types = [part.datatype() for part in parts]
        begins = [part.begin - self.begin for part in parts]
        tight = MPI.Datatype.Create_struct([1] * len(types), begins, types)
        made = tight.Create_resized(0, self.n_bytes).Commit()
        for datatype in (*types, tight):
            datatype.Free()
        return made
