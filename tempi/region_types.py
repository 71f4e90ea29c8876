"""MPI datatypes of regions of arrays: what one message carries.

Both ends of a message walk through their cells in the same order, whatever the strides of their arrays are,
and call them the same words; then the type signatures agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd, prod

from mpi4py import MPI

from tempi.ghosts import Region

Walk = tuple[tuple[int, bool], ...]  # axes, the outermost loop first; True: from the last index down
Loop = tuple[int, int]  # count, stride in bytes

# Cells travel as words, not as what they mean to the program. The library only moves them; structures have no
# other name in MPI; and Open MPI moves complex numbers wrongly that do not lie at a multiple of their size.
_WORDS = {1: MPI.UINT8_T, 2: MPI.UINT16_T, 4: MPI.UINT32_T, 8: MPI.UINT64_T}


@dataclass(frozen=True)
class Strided:
    """Cells at regular distances.

    Attributes
    ----------
    address : int
        Of the cell with all indices 0, which need not be the lowest.
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
        """How many bytes the cells have."""
        return prod(self.shape) * self.cell_bytes

    @property
    def begin(self) -> int:
        """The lowest address; of no use where there are no cells."""
        return self.address + sum(
            min(0, (n - 1) * stride) for n, stride in zip(self.shape, self.strides, strict=True)
        )

    @property
    def end(self) -> int:
        """The first address above all cells; of no use where there are none."""
        reach = sum(max(0, (n - 1) * stride) for n, stride in zip(self.shape, self.strides, strict=True))
        return self.address + reach + self.cell_bytes

    def fastest_walk(self) -> Walk:
        """The order that goes through memory upwards, in the smallest steps."""
        order = sorted(range(len(self.shape)), key=lambda axis: -abs(self.strides[axis]))
        return tuple((axis, self.strides[axis] < 0) for axis in order)

    def loops(self, walk: Walk) -> tuple[int, list[Loop]]:
        """The address where a walk begins, and its loops, the outermost first."""
        address, loops = self.address, []
        for axis, is_reversed in walk:
            count, stride = self.shape[axis], self.strides[axis]
            address += (count - 1) * stride if is_reversed else 0
            loops.append((count, -stride if is_reversed else stride))
        return address, loops


Part = tuple[Strided, Walk]


def merged(loops: Iterable[Loop]) -> list[Loop]:
    """The same positions in the same order, in as few loops as can be."""
    found: list[Loop] = []
    for count, stride in loops:
        if count == 1:
            continue
        if found and found[-1][1] == count * stride:
            found[-1] = (found[-1][0] * count, stride)
        else:
            found.append((count, stride))
    return found


def strided_datatype(loops: Sequence[Loop], cell_bytes: int) -> MPI.Datatype:
    """The datatype of cells in nested loops, not committed."""
    word_bytes = gcd(cell_bytes, max(_WORDS))
    word = _WORDS[word_bytes]
    outer = merged([*loops, (cell_bytes // word_bytes, word_bytes)])
    n_words = outer.pop()[0] if outer and outer[-1][1] == word_bytes else 1  # neighbours in memory
    if not outer:
        return word.Create_contiguous(n_words)
    count, stride = outer.pop()
    made = word.Create_hvector(count, n_words, stride)
    for count, stride in reversed(outer):
        inner, made = made, made.Create_hvector(count, 1, stride)
        inner.Free()
    return made


@dataclass(frozen=True)
class Span:
    """The stretch of memory that datatypes count from: it begins and ends with cells of some array."""

    begin: int
    end: int

    @classmethod
    def of(cls, cells: Iterable[Strided]) -> Span:
        """From the lowest cell to the highest."""
        each = [one for one in cells if one.n_bytes]
        return cls(min((one.begin for one in each), default=0), max((one.end for one in each), default=0))

    @property
    def n_bytes(self) -> int:
        """How long it is, holes between arrays included."""
        return self.end - self.begin

    def buffer(self) -> MPI.buffer:
        """All of it, as MPI calls take it. It keeps no array alive."""
        return MPI.buffer.fromaddress(self.begin, self.n_bytes)

    def datatype(self, parts: Sequence[Part]) -> MPI.Datatype:
        """The committed datatype of all cells of all parts, one part after the other; as long as the span."""
        begins, types = [], []
        for cells, walk in parts:
            address, loops = cells.loops(walk)
            begins.append(address - self.begin)
            types.append(strided_datatype(loops, cells.cell_bytes))
        tight = MPI.Datatype.Create_struct([1] * len(types), begins, types)
        made = tight.Create_resized(0, self.n_bytes).Commit()
        for datatype in (*types, tight):
            datatype.Free()
        return made
