"""Seconds and memory that a simulation takes: 3,072 ranks (the paper's), and 100,000."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass

from tempi.simulate.network import read_network
from tempi.simulate.profiles import read_profile
from tempi.simulate.scenario import Problem, Scenario

KIB_A_GIB = 1 << 20
BARS = {512: (60.0, 16.0), 16_667: (1800.0, 16.0)}  # nodes of 6 ranks: seconds, GiB


@dataclass(frozen=True)
class Row:
    """One simulated exchange, with TEMPI."""

    nodes: int
    ranks: int
    messages: int
    simulated_us: float
    seconds: float
    peak_gib: float
    allowed_s: float
    allowed_gib: float


def measure(nodes: int) -> Row:
    """Simulate the halo of 256³ points on so many nodes of Summit's kind, 26 messages a rank."""
    network = read_network("summit")
    begun = time.perf_counter()
    halo = Problem((256,) * 3).on(nodes * network.ranks_per_node)
    outcome = Scenario(network, read_profile(network.profile)).of_halo(halo, True)
    seconds = time.perf_counter() - begun
    peak_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIB_A_GIB
    return Row(nodes, halo.n_ranks, outcome.messages, outcome.seconds * 1e6, seconds, peak_gib, *BARS[nodes])
