"""MPI_Allreduce of GPU memory: with TEMPI, and by a program that copies the data to host memory and back.

On one node, a kernel of each rank reduces a slice of the data. On several nodes, TEMPI_REDUCE_NODES makes
three steps (``src/collective/spanning_reduction.hpp``): kernels reduce the data of each node, the library
reduces the results of the nodes in host memory, and kernels copy the result to the ranks. A carrier is a rank
that takes part in the second step; here, all ranks are carriers. `docs/simulation.md` has the equations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tempi.model.features import PAGE_BYTES, Features, units
from tempi.model.terms import Term
from tempi.simulate.allreduce import LibraryAllreduce
from tempi.simulate.costs import split
from tempi.simulate.halo import check_ranks
from tempi.simulate.profiles import needed_term, terms_of
from tempi.simulate.scenario import Scenario

LEAST_BYTES = 512 << 10  # on several nodes (kLeastBytes, src/collective/spanning_reduction.hpp)
MOST_ON_NODE = 64  # ranks that kernels serve (kMostMembers, src/collective/consensus.hpp)
KERNELS, LIBRARY, BOTH, NOTHING = "kernels", "library", "both", "nothing"


@dataclass(frozen=True)
class Parts:
    """The time of a reduction in seconds.

    Attributes
    ----------
    done_by : str
        The kernels of TEMPI, the library, or both.
    on_node : float
        Kernels and copies.
    in_host_memory : float
        The library.
    votes : float
        Of all ranks, by the library.
    """

    done_by: str
    on_node: float = 0.0
    in_host_memory: float = 0.0
    votes: float = 0.0

    @property
    def seconds(self) -> float:
        """The sum of all parts."""
        return self.on_node + self.in_host_memory + self.votes


class Reduction:
    """MPI_Allreduce of doubles on all ranks of some nodes, which the ranks fill one after the other.

    Parameters
    ----------
    scenario : Scenario
        Of messages of host memory; its profile also has the terms of reductions and of packing.

    Raises
    ------
    SimulationError
        If there are too many ranks, or the profile lacks a term (this may be told later).
    """

    def __init__(self, scenario: Scenario, n_nodes: int) -> None:
        self._scenario, self._terms = scenario, terms_of(scenario.fit)
        self.n_nodes, self._per_node = n_nodes, scenario.network.ranks_per_node
        check_ranks(self.n_ranks)

    @property
    def n_ranks(self) -> int:
        """Ranks of the job."""
        return self.n_nodes * self._per_node

    def with_tempi(self, n_bytes: int) -> Parts:
        """The time with TEMPI and TEMPI_REDUCE_NODES=1."""
        if self._is_left_to_library(n_bytes):
            return self.alone(n_bytes)
        if self.n_nodes == 1:
            return Parts(KERNELS, self._latency + self._link_seconds(n_bytes))
        part = -(-n_bytes // self._per_node)
        steps = (self._step("pack.oneshot", n_bytes, part), self._step("unpack.oneshot", n_bytes, part))
        return Parts(BOTH, sum(steps), self._carriers.seconds(part), 2 * self._all.seconds(1))

    def alone(self, n_bytes: int) -> Parts:
        """The time of the library in host memory, with a copy before and a copy behind."""
        if self.n_ranks == 1:
            return Parts(NOTHING)
        copies = (sum(self._split(f"{side}.oneshot", n_bytes)) for side in ("pack", "unpack"))
        return Parts(LIBRARY, sum(copies), self._all.seconds(n_bytes))

    def _is_left_to_library(self, n_bytes: int) -> bool:
        is_small = self.n_nodes > 1 and n_bytes < LEAST_BYTES
        return is_small or not 1 < self._per_node <= MOST_ON_NODE

    def _step(self, copy: str, n_bytes: int, part: int) -> float:
        """A kernel of each carrier, which moves data over the links of the GPUs and to or from host memory at
        the same time. One of the two steps has half of the traffic that a reduction on one node has."""
        setup, work = self._split(copy, part)
        return setup + max(work, self._link_seconds(n_bytes) / 2)

    def _link_seconds(self, n_bytes: int) -> float:
        """Two ranks move all bytes over the link of each GPU, in each direction; n ranks move 2 (n-1) / n of
        these bytes."""
        of_two = max(0.0, self._on_node.seconds(Features(n_bytes)) - self._latency)
        return of_two * 2 * (self._per_node - 1) / self._per_node

    @cached_property
    def _on_node(self) -> Term:
        shares_gpus = self._per_node > self._scenario.network.gpus_per_node
        return needed_term(self._terms, f"reduce.{'same_gpu' if shares_gpus else 'other_gpu'}")

    @property
    def _latency(self) -> float:
        return self._on_node.seconds(Features(0))

    def _split(self, name: str, n_bytes: int) -> tuple[float, float]:
        """The set-up and the variable part of packing or unpacking contiguous bytes."""
        features = Features(n_bytes, 1, n_bytes, units(n_bytes, PAGE_BYTES))
        return split(self._terms, name, needed_term(self._terms, name).seconds(features), features)

    @cached_property
    def _all(self) -> LibraryAllreduce:
        return LibraryAllreduce(self._scenario, np.arange(self.n_ranks).reshape(1, -1), self.n_ranks)

    @cached_property
    def _carriers(self) -> LibraryAllreduce:
        """The carriers of equal place on all nodes are a group."""
        places = np.arange(self.n_ranks).reshape(self.n_nodes, self._per_node).T
        return LibraryAllreduce(self._scenario, places, self.n_ranks)
