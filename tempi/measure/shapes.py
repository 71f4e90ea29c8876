"""Shapes that are measured: blocks of bytes in up to three dimensions, in one or several boxes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from tempi.handles import handle_of
from tempi.model.features import PAGE_BYTES, SECTOR_BYTES, Features, units

if TYPE_CHECKING:
    from mpi4py import MPI


DOUBLE_BYTES = 8
UNEVEN_BYTES = 64  # by which the distances of boxes grow: equal ones would be another dimension


@dataclass(frozen=True)
class Shape:
    """`boxes` boxes of `planes` planes of `n_blocks` blocks.

    Attributes
    ----------
    n_blocks : int
        With several boxes at least 3: they have one more and one less in turn, since equal ones would be one.
    block, stride : int
        Bytes of a block, and from one block of a plane to the next; equal: one dense block.
    boxes : int
        1 or an even number.
    """

    n_blocks: int
    block: int
    stride: int
    planes: int = 1
    boxes: int = 1

    @classmethod
    def dense(cls, n_bytes: int) -> Shape:
        """One block."""
        return cls(1, n_bytes, n_bytes)

    @property
    def bytes(self) -> int:
        """Payload."""
        return self.boxes * self.planes * self.n_blocks * self.block

    @property
    def is_dense(self) -> bool:
        """True if it is one block."""
        return self.stride == self.block or self.bytes == self.block

    @property
    def is_indexed(self) -> bool:
        """True if a table has the blocks' offsets."""
        return False

    @property
    def blocks_of_boxes(self) -> list[int]:
        """The number of blocks in a plane of each box."""
        return [self.n_blocks + 1, self.n_blocks - 1] * (self.boxes // 2) or [self.n_blocks]

    @property
    def plane_stride(self) -> int:
        """Bytes from plane to plane; a block is left out between them, or they would be one plane."""
        return (self.n_blocks + 2) * self.stride

    @property
    def offsets(self) -> list[int]:
        """The bytes at which the boxes begin."""
        return [i * self.planes * self.plane_stride + UNEVEN_BYTES * (i * i // 2) for i in range(self.boxes)]

    def span_of_box(self, n_blocks: int) -> int:
        """Bytes from begin to end of a box whose planes have `n_blocks` blocks."""
        return (self.planes - 1) * self.plane_stride + (n_blocks - 1) * self.stride + self.block

    @property
    def span(self) -> int:
        """Bytes of memory from begin to end."""
        return self.offsets[-1] + self.span_of_box(self.blocks_of_boxes[-1])

    @property
    def features(self) -> Features:
        """Features as in ``src/pack/plan.cpp``, which may count other pages for many boxes."""
        if self.is_dense:
            return Features(self.bytes, 1, self.bytes, units(self.bytes, PAGE_BYTES))
        blocks = self.boxes * self.planes * self.n_blocks
        touched = blocks * min(self.stride, units(self.block, SECTOR_BYTES) * SECTOR_BYTES)
        return Features(self.bytes, blocks, touched, sum(map(self._pages_of_box, self.blocks_of_boxes)))

    def _pages_of_box(self, n_blocks: int) -> int:
        of_blocks = self.planes * n_blocks * units(self.block, PAGE_BYTES)
        return min(of_blocks, units(self.span_of_box(n_blocks), PAGE_BYTES))

    @contextmanager
    def datatype(self) -> Iterator[MPI.Datatype]:
        """The committed datatype, for as long as it is needed."""
        from mpi4py import MPI

        planes = [MPI.BYTE.Create_hvector(n, self.block, self.stride) for n in self.blocks_of_boxes]
        boxes = [plane.Create_hvector(self.planes, 1, self.plane_stride) for plane in planes]
        whole = MPI.Datatype.Create_struct([1] * self.boxes, self.offsets, boxes)
        try:
            yield whole.Commit()
        finally:
            for datatype in (*planes, *boxes, whole):
                datatype.Free()

    @contextmanager
    def handle(self) -> Iterator[int]:
        """The same as a C handle."""
        with self.datatype() as datatype:
            yield handle_of(datatype)


@dataclass(frozen=True)
class IndexedShape(Shape):
    """Blocks of doubles at random places, one in each `stride` bytes; sizes are multiples of 8."""

    @property
    def is_indexed(self) -> bool:
        """As in `Shape`."""
        return True

    @property
    def places(self) -> list[int]:
        """The doubles at which the blocks begin; the same ones for the same shape."""
        drawn = Random(self.n_blocks)
        room, stride = (self.stride - self.block) // DOUBLE_BYTES, self.stride // DOUBLE_BYTES
        return [i * stride + drawn.randint(0, room) for i in range(self.n_blocks)]

    @property
    def features(self) -> Features:
        """As in `Shape`, about: blocks may be neighbours."""
        touched = self.n_blocks * units(self.block, SECTOR_BYTES) * SECTOR_BYTES
        return Features(self.bytes, self.n_blocks, touched, self._pages_of_box(self.n_blocks))

    @contextmanager
    def datatype(self) -> Iterator[MPI.Datatype]:
        """As in `Shape`."""
        from mpi4py import MPI

        whole = MPI.DOUBLE.Create_indexed_block(self.block // DOUBLE_BYTES, self.places)
        try:
            yield whole.Commit()
        finally:
            whole.Free()
