"""MPI datatypes of regions of arrays: what one message carries.

Both ends of a message walk through their cells in the same order, whatever the strides of their arrays are, and call
them the same words; then the type signatures agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd

from mpi4py import MPI

from tempi.ghosts import Region

Walk = tuple[
    tuple[int, bool], ...
]  # axes from the outermost loop to the innermost; True: from the last index down
Loop = tuple[int, int]  # count, stride in bytes

# Cells travel as words, not as what they mean to the program: the library only moves them, structured types have no
# other name in MPI, and Open MPI moves complex numbers wrongly that do not lie at a multiple of their size.
_WORDS = {1: MPI.UINT8_T, 2: MPI.UINT16_T, 4: MPI.UINT32_T, 8: MPI.UINT64_T}


@dataclass(frozen=True)
class Strided:
    """Cells at regular distances.

    Attributes
    ----------
    address : int
        Of the first cell.
    shape, strides : tuple of int
        Strides in bytes.
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
    def is_empty(self) -> bool:
        """Whether there are no cells."""
        return 0 in self.shape or self.cell_bytes == 0

    def fastest_walk(self) -> Walk:
        """The order that goes through memory upwards, in the smallest steps."""
        order = sorted(range(len(self.shape)), key=lambda axis: -abs(self.strides[axis]))
        return tuple((axis, self.strides[axis] < 0) for axis in order)

    def loops(self, walk: Walk) -> tuple[int, list[Loop]]:
        """The address of the first cell of a walk and its loops, the outermost first."""
        address, loops = self.address, []
        for axis, is_reversed in walk:
            count, stride = self.shape[axis], self.strides[axis]
            address += (count - 1) * stride if is_reversed else 0
            loops.append((count, -stride if is_reversed else stride))
        return address, loops


def merged(loops: Iterable[Loop]) -> list[Loop]:
    """The same positions in fewer loops."""
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
    *outer, (n_words, stride) = merged([*loops, (cell_bytes // word_bytes, word_bytes)]) or [(1, word_bytes)]
    if stride != word_bytes:  # words that are not neighbours
        outer, n_words = [*outer, (n_words, stride)], 1
    if not outer:
        return word.Create_contiguous(n_words)
    count, stride = outer.pop()
    made = word.Create_hvector(count, n_words, stride)
    for count, stride in reversed(outer):
        inner, made = made, made.Create_hvector(count, 1, stride)
        inner.Free()
    return made


def message_datatype(parts: Sequence[tuple[Strided, Walk]]) -> MPI.Datatype:
    """The committed datatype of all cells of all parts, one part after the other, for use with ``MPI.BOTTOM``."""
    addresses, types = [], []
    for cells, walk in parts:
        address, loops = cells.loops(walk)
        addresses.append(address)
        types.append(strided_datatype(loops, cells.cell_bytes))
    made = MPI.Datatype.Create_struct([1] * len(types), addresses, types).Commit()
    for datatype in types:
        datatype.Free()
    return made
