"""Ranks in a Cartesian grid, numbered as MPI_Cart_create numbers them. No MPI here.

Glossary
    direction   one of -1, 0, 1 for each dimension: the position of a neighbour
    coords      a rank's place in the grid, one number for each dimension
    periodic    beyond the last rank of a dimension comes the first
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from operator import index
from typing import Literal

import numpy as np

MAX_DIMENSIONS = 3
_BOOL = (bool, np.bool_)

Neighbours = Literal["all", "faces"]
Direction = tuple[int, ...]


def directions(n_dims: int, neighbours: Neighbours = "all") -> Iterator[Direction]:
    """The directions of the neighbours: up to 26, or only those that share a face, up to 6.

    Raises
    ------
    ValueError
        If `neighbours` is neither "all" nor "faces".
    """
    if neighbours not in ("all", "faces"):
        raise ValueError(f"neighbours is {neighbours!r}; it must be 'all' or 'faces'")
    for direction in product((-1, 0, 1), repeat=n_dims):
        n_steps = sum(map(abs, direction))
        if n_steps == 1 or (n_steps > 1 and neighbours == "all"):
            yield direction


def opposite(direction: Direction) -> Direction:
    """The direction back."""
    return tuple(-step for step in direction)


def integers(name: str, values: Sequence[int]) -> tuple[int, ...]:
    """The entries of a sequence of integers of any type; TypeError, which calls it `name`, if it is none."""
    try:
        if any(isinstance(value, _BOOL) for value in values):
            raise TypeError
        return tuple(int(index(value)) for value in values)
    except TypeError:
        raise TypeError(f"{name} is {values!r}; it must be a sequence of integers") from None


def periods_of(periods: bool | Sequence[bool], n_dims: int) -> tuple[bool, ...]:
    """One flag for each dimension: True if it is periodic.

    Parameters
    ----------
    periods : bool or sequence of bool
        For all dimensions or for each; 0 and 1 will do.

    Raises
    ------
    TypeError
        If it is none of these.
    """
    each: Sequence[bool] = (periods,) * n_dims if length_of(periods) is None else periods  # type: ignore[assignment]
    try:
        flags = [int(one) if isinstance(one, np.bool_) else index(one) for one in each]
        if not set(flags) <= {0, 1}:
            raise TypeError
        return tuple(map(bool, flags))
    except TypeError:
        raise TypeError(f"periods is {periods!r}; it must be a bool, or one for each dimension") from None


def length_of(told: object) -> int | None:
    """The number of entries of an argument; None if it is one for all dimensions."""
    try:
        return len(told)  # type: ignore[arg-type]
    except TypeError:
        return None


@dataclass(frozen=True)
class ProcessGrid:
    """A Cartesian grid of ranks.

    Attributes
    ----------
    dims : tuple of int
        Ranks in each of one to three dimensions.
    periods : tuple of bool
        Whether each dimension is periodic.

    Raises
    ------
    ValueError
        If the grid has no or more than three dimensions or an empty one, or `periods` has another length.
    """

    dims: tuple[int, ...]
    periods: tuple[bool, ...]

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
        return prod(self.dims)

    def coords(self, rank: int) -> tuple[int, ...]:
        """The coordinates of a rank; the last dimension varies fastest.

        Raises
        ------
        ValueError
            If there is no such rank.
        """
        if not 0 <= rank < self.size:
            raise ValueError(f"rank is {rank}; a grid of {self.dims} has ranks 0 to {self.size - 1}")
        found = []
        for n in reversed(self.dims):
            rank, at = divmod(rank, n)
            found.append(at)
        return tuple(reversed(found))

    def rank(self, coords: Sequence[int]) -> int | None:
        """The rank at `coords`, which wrap around in periodic dimensions; None outside of the grid."""
        rank = 0
        for at, n, is_periodic in zip(coords, self.dims, self.periods, strict=True):
            if not (is_periodic or 0 <= at < n):
                return None
            rank = rank * n + at % n
        return rank

    def neighbour(self, rank: int, direction: Direction) -> int | None:
        """The rank next to `rank`, which may be itself; None beyond the grid."""
        return self.rank([at + step for at, step in zip(self.coords(rank), direction, strict=True)])

    def exchanges(self, dimension: int) -> bool:
        """True if ranks have neighbours along a dimension."""
        return self.dims[dimension] > 1 or self.periods[dimension]
