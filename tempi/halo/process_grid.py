"""Ranks in a Cartesian grid, numbered as MPI_Cart_create numbers them. No MPI here.

Glossary
    direction   one of -1, 0, 1 for each dimension: the position of a neighbour
    coords      a rank's place in the grid, one number for each dimension
    periodic    beyond the last rank of a dimension comes the first
    mask        the places of the grid that have a rank; the ranks are numbered in the order of these places
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from math import prod
from operator import index
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from tempi._arguments import array_of, integer, length_of, shown, wrong

MAX_DIMENSIONS = 6  # a rank of six dimensions has 728 neighbours

Neighbours = Literal["all", "faces"]
Direction = tuple[int, ...]


class Topology(Protocol):
    """Which rank has the block beside a rank's own."""

    @property
    def n_dims(self) -> int:
        """The number of dimensions."""

    @property
    def size(self) -> int:
        """The number of ranks."""

    @property
    def summary(self) -> str:
        """All of it, in words."""

    def neighbour(self, rank: int, direction: Direction) -> int | None:
        """The rank in a direction, which may be itself; None if there is none."""

    def exchanges(self, dimension: int) -> bool:
        """True if ranks may have neighbours along a dimension."""


def directions(n_dims: int, neighbours: Neighbours = "all") -> Iterator[Direction]:
    """The directions of the neighbours: in three dimensions 26, or the 6 of those that share a face.

    Raises
    ------
    ValueError
        If `neighbours` is neither "all" nor "faces".
    """
    if neighbours not in ("all", "faces"):
        expected = "'all' or 'faces', or a dict of the ranks by direction"
        raise ValueError(f"neighbours is {shown(neighbours)}; it must be {expected}")
    for direction in product((-1, 0, 1), repeat=n_dims):
        n_steps = sum(map(abs, direction))
        if n_steps == 1 or (n_steps > 1 and neighbours == "all"):
            yield direction


def opposite(direction: Direction) -> Direction:
    """The direction back."""
    return tuple(-step for step in direction)


def flags_of(name: str, told: int | Sequence[int], n_dims: int) -> tuple[bool, ...]:
    """One flag for each dimension.

    Parameters
    ----------
    name : str
        What an error calls it.
    told : int or sequence of int
        False or True, or 0 or 1, for all dimensions or for each.

    Raises
    ------
    TypeError
        If it is none of these.
    """
    each: Sequence[int] = (told,) * n_dims if length_of(told) is None else told  # type: ignore[assignment]
    try:
        flags = [int(one) if isinstance(one, np.bool_) else index(one) for one in each]
        if not set(flags) <= {0, 1}:
            raise TypeError
        return tuple(map(bool, flags))
    except TypeError:
        raise wrong(name, told, "a bool (0 or 1), or one for each dimension") from None


def places_of(mask: ArrayLike, dims: Sequence[int]) -> tuple[int, ...]:
    """The places of a grid where `mask` is True, counted with the last dimension fastest.

    Raises
    ------
    TypeError
        If it is not an array of bool.
    ValueError
        If its shape is not `dims`, it has no place, or its rows have different lengths.
    """
    array = array_of("mask", mask)
    if array.dtype != bool:
        raise TypeError(f"mask is of dtype {array.dtype}; it must be an array of bool, True where a rank is")
    if array.shape != tuple(dims):
        raise ValueError(f"mask has shape {array.shape}; it must have one entry for each place of {dims}")
    if not array.any():
        raise ValueError("mask is False everywhere: it leaves no place for a rank")
    return tuple(np.flatnonzero(array).tolist())


@dataclass(frozen=True)
class ProcessGrid:
    """A Cartesian grid of ranks.

    Attributes
    ----------
    dims : tuple of int
        Ranks in each of the dimensions, at most `MAX_DIMENSIONS`.
    periods : tuple of bool
        Whether each dimension is periodic.
    places : tuple of int, optional
        The places that have a rank, as `places_of` returns them; None: all.

    Raises
    ------
    ValueError
        If the grid has no dimension, too many or an empty one, or `periods` has another length.
    """

    dims: tuple[int, ...]
    periods: tuple[bool, ...]
    places: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.dims) <= MAX_DIMENSIONS:
            raise ValueError(f"dims is {self.dims}; a grid has 1 to {MAX_DIMENSIONS} dimensions")
        if min(self.dims) < 1:
            raise ValueError(f"dims is {self.dims}; every dimension needs at least one rank")
        if len(self.periods) != len(self.dims):
            raise ValueError(
                f"periods is {self.periods}; it must have one entry for each of dims {self.dims}"
            )

    @property
    def n_dims(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @property
    def size(self) -> int:
        """The number of ranks."""
        return prod(self.dims) if self.places is None else len(self.places)

    @property
    def summary(self) -> str:
        """Ranks along each dimension, and the periodic dimensions."""
        dims = " x ".join(map(str, self.dims))
        periodic = [str(dimension) for dimension, flag in enumerate(self.periods) if flag]
        along = f", periodic along {', '.join(periodic)}" if periodic else ""
        ranks = "rank" if self.dims == (1,) else "ranks"
        return f"grid of {dims} {ranks}{along}" if self.places is None else f"mask of {dims} places{along}"

    @property
    def mask_name(self) -> str:
        """Equal for equal masks, however many places they have."""
        if self.places is None:
            return "no mask"
        digest = sha256(np.array(self.places, np.int64).tobytes()).hexdigest()
        return f"a mask with {len(self.places)} ranks and the SHA-256 {digest[:16]}"

    def coords(self, rank: int) -> tuple[int, ...]:
        """The coordinates of a rank; the last dimension varies fastest.

        Raises
        ------
        TypeError
            If `rank` is not an integer.
        ValueError
            If there is no such rank.
        """
        rank = integer("rank", rank)
        if not 0 <= rank < self.size:
            ranks = f"ranks 0 to {self.size - 1}" if self.size > 1 else "rank 0 only"
            raise ValueError(f"rank is {rank}; the {self.summary} has {ranks}")
        place = rank if self.places is None else self.places[rank]
        found = []
        for n in reversed(self.dims):
            place, at = divmod(place, n)
            found.append(at)
        return tuple(reversed(found))

    def rank(self, coords: Sequence[int]) -> int | None:
        """The rank at `coords`, which wrap around in periodic dimensions; None where there is no rank."""
        place = 0
        for at, n, is_periodic in zip(coords, self.dims, self.periods, strict=True):
            if not (is_periodic or 0 <= at < n):
                return None
            place = place * n + at % n
        if self.places is None:
            return place
        rank = bisect_left(self.places, place)
        return rank if rank < len(self.places) and self.places[rank] == place else None

    def neighbour(self, rank: int, direction: Direction) -> int | None:
        """The rank next to `rank`, which may be itself; None beyond the grid."""
        return self.rank([at + step for at, step in zip(self.coords(rank), direction, strict=True)])

    def exchanges(self, dimension: int) -> bool:
        """True if ranks have neighbours along a dimension."""
        return self.dims[dimension] > 1 or self.periods[dimension]
