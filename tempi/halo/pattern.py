"""What an exchange is apart from its arrays; several exchanges may share it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from mpi4py import MPI

from tempi.halo.agreement import Grid
from tempi.halo.boundary import Face, Sheet, faces_of
from tempi.halo.field import Field
from tempi.halo.pieces import Pieces, pieces_of
from tempi.halo.region_types import Strided
from tempi.halo.regions import Regions, exchanged_regions
from tempi.halo.setup import Arguments, Found, Wish

TAGS = 2  # of an exchange: its own, and that of its adjoint


@dataclass
class Pattern:
    """The regions that a rank exchanges.

    Attributes
    ----------
    comm : mpi4py.MPI.Intracomm
        For the messages of these exchanges alone; freed with the last one of them.
    arguments : Arguments
        Without arrays.
    """

    comm: MPI.Intracomm
    grid: Grid
    arguments: Arguments
    wish: Wish
    _sent: Regions = field(init=False)  # by rank: the number of an array, and a region of it
    _received: Regions = field(init=False)
    _tags: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        wish = self.wish
        self._sent, self._received = exchanged_regions(
            self.grid, self.comm.rank, wish.layouts, wish.own, wish.neighbours
        )

    def pieces(self, arrays: Sequence[Strided]) -> tuple[Pieces, Pieces]:
        """What this rank sends and receives of arrays."""
        walks = self.wish.walks
        return pieces_of(self._sent, walks, arrays), pieces_of(self._received, walks, arrays)

    def faces(self, fields: Sequence[Field], found: Sequence[Found]) -> list[Face]:
        """The faces that the boundary function is called with; none if there is no function."""
        if self.arguments.boundary is None:
            return []
        sheets = [
            Sheet(field.array, layout, one.axes, one.view.shape)
            for field, layout, one in zip(fields, self.wish.layouts, found, strict=True)
        ]
        return faces_of(self.grid, self.comm.rank, sheets, self.wish.own, self.wish.neighbours)

    def take_tag(self) -> int:
        """A tag that no other exchange has. All ranks make and free their exchanges in the same order."""
        tag = next(n for n in count(0, TAGS) if n not in self._tags)
        self._tags.add(tag)
        return tag

    def release(self, tag: int) -> None:
        """Give a tag back, and with the last one the communicator."""
        self._tags.remove(tag)
        if not self._tags:
            self.comm.Free()
