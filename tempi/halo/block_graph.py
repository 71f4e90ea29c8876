"""Blocks whose neighbours the program lists: grids that are no Cartesian grid of ranks. No MPI here.

Each rank lists its own neighbours by direction. All blocks have the same orientation: if rank 3 is above rank
0, rank 0 is below rank 3. A boundary may be periodic in one part only, and a corner may have three blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index

from tempi._arguments import integers
from tempi._words import counted
from tempi.halo.process_grid import Direction, opposite

Links = tuple[tuple[Direction, int], ...]  # in the order of directions


@dataclass(frozen=True)
class BlockGraph:
    """Ranks and their listed neighbours.

    Attributes
    ----------
    n_dims : int
    links : tuple of Links
        By rank.

    Raises
    ------
    ValueError
        If a rank lists a neighbour that does not list it.
    """

    n_dims: int
    links: tuple[Links, ...]

    def __post_init__(self) -> None:
        for rank, links in enumerate(self.links):
            for direction, peer in links:
                if (back := self.neighbour(peer, opposite(direction))) != rank:
                    raise ValueError(
                        f"rank {rank} lists rank {peer} in direction {direction}, but rank {peer} lists "
                        f"{'no rank' if back is None else f'rank {back}'} in direction {opposite(direction)}"
                    )

    @cached_property
    def _neighbours(self) -> list[dict[Direction, int]]:
        return [dict(links) for links in self.links]

    @cached_property
    def _exchanged(self) -> set[int]:
        """The dimensions along which a rank has a neighbour."""
        used = {direction for links in self.links for direction, _ in links}
        return {dimension for direction in used for dimension, step in enumerate(direction) if step}

    @property
    def size(self) -> int:
        """The number of ranks."""
        return len(self.links)

    @property
    def summary(self) -> str:
        """The number of ranks."""
        return f"{counted(self.size, 'rank')} with listed neighbours"

    def neighbour(self, rank: int, direction: Direction) -> int | None:
        """The rank that `rank` lists in a direction."""
        return self._neighbours[rank].get(direction)

    def exchanges(self, dimension: int) -> bool:
        """True if a rank has a neighbour along a dimension."""
        return dimension in self._exchanged

    def check_faces(self, own: Sequence[tuple[int, ...]]) -> None:
        """Check that neighbours have equally many cells along their common side; ValueError if not."""
        for rank, links in enumerate(self.links):
            for direction, peer in links:
                for dimension, step in enumerate(direction):
                    if not step and own[rank][dimension] != own[peer][dimension]:
                        raise ValueError(
                            f"ranks {rank} and {peer} are neighbours in direction {direction}, but own "
                            f"{own[rank][dimension]} and {own[peer][dimension]} cells along dimension "
                            f"{dimension}: neighbours' faces must fit"
                        )


def links_of(neighbours: Mapping[Direction, int], n_dims: int, n_ranks: int) -> Links:
    """The neighbours that a rank lists, checked.

    Raises
    ------
    TypeError
        If a direction is not a sequence of integers, or a rank is not an integer.
    ValueError
        If a direction or a rank does not exist.
    """
    found = {}
    for told, peer in neighbours.items():
        direction = integers("a direction in neighbours", told)
        if len(direction) != n_dims or not any(direction) or not set(direction) <= {-1, 0, 1}:
            raise ValueError(
                f"neighbours has the direction {told!r}; it must be -1, 0 or 1 for each of {n_dims} "
                "dimensions, and not 0 for all"
            )
        found[direction] = _rank(direction, peer, n_ranks)
    return tuple(sorted(found.items()))


def _rank(direction: Direction, peer: object, n_ranks: int) -> int:
    try:
        rank = index(peer)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"neighbours has {peer!r} in direction {direction}; it must be a rank") from None
    if not 0 <= rank < n_ranks:
        raise ValueError(
            f"neighbours has rank {rank} in direction {direction}; the communicator has "
            f"{counted(n_ranks, 'rank')}. Leave directions without a neighbour out"
        )
    return rank
