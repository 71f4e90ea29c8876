"""The links that a message between nodes takes: its rail out, the switches' links, the rail in.

The links of a fat tree's leaf upwards count as one, which is what routing that spreads packets makes of them;
so does the bundle between two groups of a dragonfly, which messages take directly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tempi.simulate.messages import Floats, Integers
from tempi.simulate.network import DRAGONFLY, FAT_TREE, GIGA, Network

NO_LINK = -1


@dataclass(frozen=True)
class Paths:
    """The links of some messages.

    Attributes
    ----------
    links : integers of shape (messages, hops)
        In the order in which a message takes them; `NO_LINK` where it takes fewer.
    seconds_per_byte : floats
        Of each link.
    """

    links: Integers
    seconds_per_byte: Floats


class Fabric:
    """The links of a network of so many nodes.

    Parameters
    ----------
    node_of_rank : integers
        The node of each rank.
    """

    def __init__(self, network: Network, node_of_rank: Integers) -> None:
        self._network = network
        self._node = node_of_rank
        self._n_nodes = int(node_of_rank.max()) + 1
        self._rail = self._rails(node_of_rank)

    def _rails(self, nodes: Integers) -> Integers:
        """The rail of each rank: the ranks of a node share its rails evenly, in order."""
        order = np.argsort(nodes, kind="stable")
        begins = np.searchsorted(nodes[order], np.arange(self._n_nodes))
        number = np.empty(len(nodes), np.int64)
        number[order] = np.arange(len(nodes)) - begins[nodes[order]]
        on_node = np.bincount(nodes, minlength=self._n_nodes)[nodes]
        return np.asarray(number * self._network.rails // on_node, np.int64)

    def paths(self, source: Integers, target: Integers) -> Paths:
        """The links of messages from ranks to ranks, no links within a node."""
        n_rails = self._n_nodes * self._network.rails
        own, other = self._node[source], self._node[target]
        out = own * self._network.rails + self._rail[source]
        into = n_rails + other * self._network.rails + self._rail[target]
        between, of_switches = self._switches(own, other)
        between = np.where(between == NO_LINK, NO_LINK, between + 2 * n_rails)
        links = np.column_stack([out, between, into])
        links[own == other] = NO_LINK
        of_rails = np.full(2 * n_rails, 1 / self._network.rail_bandwidth)
        return Paths(links, np.concatenate([of_rails, of_switches]))

    def _switches(self, own: Integers, other: Integers) -> tuple[Integers, Floats]:
        """The links between the rails, numbered from 0, and the seconds that a byte takes on each."""
        topology = self._network.topology
        if topology["kind"] == FAT_TREE:
            return self._of_leaves(own, other, int(topology["nodes_per_leaf"]), float(topology["taper"]))
        if topology["kind"] == DRAGONFLY:
            bandwidth = float(topology["group_link_gb_per_s"]) * GIGA
            return self._of_groups(own, other, int(topology["nodes_per_group"]), bandwidth)
        return np.empty((len(own), 0), np.int64), np.empty(0)

    def _of_leaves(
        self, own: Integers, other: Integers, per_leaf: int, taper: float
    ) -> tuple[Integers, Floats]:
        n_leaves = -(-self._n_nodes // per_leaf)
        ups, downs = own // per_leaf, n_leaves + other // per_leaf
        links = np.column_stack([ups, downs])
        links[ups == downs - n_leaves] = NO_LINK
        bandwidth = per_leaf * self._network.rails * self._network.rail_bandwidth / taper
        return links, np.full(2 * n_leaves, 1 / bandwidth)

    def _of_groups(
        self, own: Integers, other: Integers, per_group: int, bandwidth: float
    ) -> tuple[Integers, Floats]:
        n_groups = -(-self._n_nodes // per_group)
        links = (own // per_group) * n_groups + other // per_group
        links[own // per_group == other // per_group] = NO_LINK
        return links.reshape(-1, 1), np.full(n_groups**2, 1 / bandwidth)
