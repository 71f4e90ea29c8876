"""MPI_Allreduce of an MPI library in host memory: the rounds of its algorithms, simulated as messages.

Glossary
    group   ranks that reduce their data together; all groups do this at the same time, and share all links
    place   the number of a rank in its group
    round   each rank sends at most one message, and receives at most one; the round ends at the last message

Example: in recursive doubling of 4 ranks, round 0 exchanges data between places 0 and 1, and between 2 and 3.
Round 1 exchanges data between places 0 and 2, and between 1 and 3.
"""

from __future__ import annotations

import numpy as np

from tempi.model.features import Features
from tempi.simulate.messages import Integers, contiguous
from tempi.simulate.profiles import needed_term, terms_of
from tempi.simulate.scenario import Scenario

HOST = "reduce.host"


class LibraryAllreduce:
    """Allreduces of groups of ranks by the library.

    Parameters
    ----------
    scenario : Scenario
        Of messages of host memory. The placement of the ranks is part of it.
    groups : integers of shape (groups, places)
        The ranks of each group.
    n_ranks : int
        Ranks of the job, in a group or not.

    Raises
    ------
    SimulationError
        If the profile lacks the term of the arithmetic.
    """

    def __init__(self, scenario: Scenario, groups: Integers, n_ranks: int) -> None:
        self._scenario, self._groups, self._n_ranks = scenario, groups, n_ranks
        self._arithmetic = needed_term(terms_of(scenario.fit), HOST)
        self._known: dict[int, float] = {}

    def seconds(self, n_bytes: int) -> float:
        """The time of the fastest algorithm, for this number of bytes on each rank."""
        if n_bytes not in self._known:
            self._known[n_bytes] = min(self.by_algorithm(n_bytes).values())
        return self._known[n_bytes]

    def by_algorithm(self, n_bytes: int) -> dict[str, float]:
        """The time of each algorithm; one place has nothing to do."""
        if self._n_places == 1:
            return {"nothing": 0.0}
        return {
            "recursive doubling": self._folded(n_bytes) + self._doubling(n_bytes),
            "Rabenseifner": self._folded(n_bytes) + self._halving(n_bytes),
            "ring": self._ring(n_bytes),
        }

    @property
    def _n_places(self) -> int:
        return int(self._groups.shape[1])

    @property
    def _n_rounds(self) -> int:
        """The rounds of recursive doubling, without those for places beyond a power of two."""
        return self._n_places.bit_length() - 1

    @property
    def _n_folded(self) -> int:
        """The places beyond a power of two."""
        return self._n_places - (1 << self._n_rounds)

    def _doubling(self, n_bytes: int) -> float:
        """Each round exchanges and combines all bytes."""
        rounds = sum(self._exchange(i, n_bytes) for i in range(self._n_rounds))
        return rounds + self._n_rounds * self._combine(n_bytes)

    def _halving(self, n_bytes: int) -> float:
        """Each round exchanges half of the bytes of the round before, and combines them (reduce-scatter). The
        same rounds in reverse order exchange the results (allgather)."""
        sizes = [_part(n_bytes, 2 << i) for i in range(self._n_rounds)]
        return sum(2 * self._exchange(i, size) + self._combine(size) for i, size in enumerate(sizes))

    def _ring(self, n_bytes: int) -> float:
        """Each place sends a part to the next place in all rounds; the first half of the rounds combines."""
        size, n_rounds = _part(n_bytes, self._n_places), self._n_places - 1
        places = np.arange(self._n_places)
        return n_rounds * (2 * self._round(places, np.roll(places, -1), size) + self._combine(size))

    def _folded(self, n_bytes: int) -> float:
        """Two rounds for the places beyond a power of two. In the first round, as many places give their data
        to a neighbour. In the last round, they get the result."""
        if self._n_folded == 0:
            return 0.0
        givers = 2 * np.arange(self._n_folded)
        return 2 * self._round(givers, givers + 1, n_bytes) + self._combine(n_bytes)

    def _exchange(self, i: int, n_bytes: int) -> float:
        """Pairs at the distance 2^i of those places that have not given their data away."""
        number = np.arange(1 << self._n_rounds)
        place = np.where(number < self._n_folded, 2 * number + 1, number + self._n_folded)
        return self._round(place, place[number ^ (1 << i)], n_bytes)

    def _round(self, source: Integers, target: Integers, n_bytes: int) -> float:
        """Messages from places to places, in all groups at the same time."""
        sources, targets = (self._groups[:, places].reshape(-1) for places in (source, target))
        messages = contiguous(sources, targets, np.full(len(sources), n_bytes))
        return self._scenario.of_rounds([messages], self._n_ranks, False).seconds

    def _combine(self, n_bytes: int) -> float:
        return self._arithmetic.seconds(Features(n_bytes))


def _part(n_bytes: int, n_parts: int) -> int:
    return -(-n_bytes // n_parts)
