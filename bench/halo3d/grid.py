"""The geometry of a 3-D halo exchange, and every cell's expected value after it: plain index arithmetic.

A rank owns `edge`³ points of each quantity, in an array that is `radius` points wider on every side: its
ghost cells, which hold the points of the 26 neighbours. The grid is periodic, so a rank may be its own
neighbour. Axes are z, y, x. A direction is a step of -1, 0 or 1 along each. The points that travel in
direction d are the sender's outermost ones there; they arrive in the receiver's ghost cells in direction -d.

Independent of `tempi.HaloExchange`, which is checked against it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

Direction = tuple[int, int, int]
Box = tuple[slice, slice, slice]
DIRECTIONS = tuple((z, y, x) for z, y, x in product((-1, 0, 1), repeat=3) if (z, y, x) != (0, 0, 0))
BYTES_A_VALUE = 8
NOT_RECEIVED = -1.0


@dataclass(frozen=True)
class Size:
    """The data of a rank: `edge`³ points of `quantities` doubles each, ghost cells `radius` wide."""

    edge: int
    radius: int = 3
    quantities: int = 8

    @classmethod
    def parse(cls, text: str) -> Size:
        """``EDGE[:RADIUS[:QUANTITIES]]``, for example ``256:3:8``.

        Raises
        ------
        ValueError
            If it is no such text, or describes no exchange.
        """
        numbers = [int(word) for word in text.split(":")]
        if not 1 <= len(numbers) <= 3 or min(numbers) < 1:
            raise ValueError("a size is EDGE[:RADIUS[:QUANTITIES]], for example 256:3:8")
        size = cls(*numbers)
        if size.radius > size.edge:
            raise ValueError(f"ghost cells {size.radius} wide do not fit {size.edge} points of a neighbour")
        return size

    def __str__(self) -> str:
        return f"{self.edge}:{self.radius}:{self.quantities}"

    @property
    def padded(self) -> int:
        """Points along an axis with the ghost cells."""
        return self.edge + 2 * self.radius

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Shape of a rank's array: quantity, z, y, x."""
        return (self.quantities, self.padded, self.padded, self.padded)

    def counts(self, direction: Direction) -> tuple[int, int, int]:
        """Points along z, y and x of the box that travels in a direction."""
        z, y, x = (self.radius if step else self.edge for step in direction)
        return (z, y, x)

    def elements(self, direction: Direction) -> int:
        """Doubles of the message that travels in a direction."""
        return self.quantities * prod(self.counts(direction))

    @property
    def total_elements(self) -> int:
        """Doubles that a rank sends in one exchange."""
        return sum(self.elements(direction) for direction in DIRECTIONS)

    def sent(self, direction: Direction) -> Box:
        """The owned points that travel in a direction."""
        first = {-1: self.radius, 0: self.radius, 1: self.edge}
        return self._box(direction, first)

    def ghosts(self, direction: Direction) -> Box:
        """The ghost cells that lie in a direction."""
        first = {-1: 0, 0: self.radius, 1: self.radius + self.edge}
        return self._box(direction, first)

    def _box(self, direction: Direction, first: dict[int, int]) -> Box:
        starts = [first[step] for step in direction]
        z, y, x = (slice(a, a + n) for a, n in zip(starts, self.counts(direction), strict=True))
        return (z, y, x)


def opposite(direction: Direction) -> Direction:
    """The opposite direction."""
    z, y, x = direction
    return (-z, -y, -x)


def process_grid(ranks: int) -> tuple[int, int, int]:
    """Ranks along z, y and x, as nearly a cube as possible: 4 are 2 x 2 x 1."""
    thirds = (
        (z, y, ranks // (z * y))
        for z in range(1, ranks + 1)
        for y in range(1, z + 1)
        if ranks % (z * y) == 0 and ranks // (z * y) <= y
    )
    return min(thirds, key=sum)


@dataclass(frozen=True)
class Place:
    """A rank's place in the process grid, where ranks count x fastest, as MPI's Cartesian ones do."""

    dims: tuple[int, int, int]
    rank: int

    @property
    def coordinates(self) -> tuple[int, int, int]:
        """Coordinates along z, y and x."""
        rest, x = divmod(self.rank, self.dims[2])
        return (*divmod(rest, self.dims[1]), x)

    def neighbour(self, direction: Direction) -> int:
        """The rank in a direction."""
        z, y, x = ((c + step) % n for c, step, n in zip(self.coordinates, direction, self.dims, strict=True))
        return (z * self.dims[1] + y) * self.dims[2] + x


def expected(size: Size, place: Place, xp: Any) -> Iterator[Any]:
    """The expected contents of the whole padded array, by quantity: the global index of every cell's owner.

    `xp` is NumPy or CuPy. Doubles hold these indices exactly (below 2⁵³).
    """
    lengths = [n * size.edge for n in place.dims]
    steps = (lengths[1] * lengths[2], lengths[2], 1)
    z, y, x = (
        ((c * size.edge - size.radius + xp.arange(size.padded)) % length * step).astype(float)
        for c, length, step in zip(place.coordinates, lengths, steps, strict=True)
    )
    one = z[:, None, None] + y[:, None] + x
    for quantity in range(size.quantities):
        yield one + float(quantity * prod(lengths))


def fill(data: Any, size: Size, place: Place, xp: Any) -> None:
    """The owned points hold their index, the ghost cells nothing that they could have received."""
    data[...] = NOT_RECEIVED
    owned = (slice(size.radius, size.radius + size.edge),) * 3
    for values, wanted in zip(data, expected(size, place, xp), strict=True):
        values[owned] = wanted[owned]


def n_wrong(data: Any, size: Size, place: Place, xp: Any) -> int:
    """The number of wrong cells, ghosts included, after an exchange."""
    wanted = expected(size, place, xp)
    return sum(int((values != want).sum()) for values, want in zip(data, wanted, strict=True))
