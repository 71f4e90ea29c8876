"""One exchange of messages on a cluster: costs and paths of all messages, and the time until all have ended.

Glossary
    post    the program's call that starts a message; posts of a rank follow each other, receives first
    port    a rank's way out or in, that one message at a time takes
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tempi.model.features import Features
from tempi.model.terms import DIRECT, LOCALITIES
from tempi.simulate.costs import Cost, OneMessage
from tempi.simulate.engine import Plan, Times, run
from tempi.simulate.messages import Floats, Integers, Messages, order_within
from tempi.simulate.network import Network
from tempi.simulate.paths import NO_LINK, Fabric, Paths

SELF, SAME_GPU, OTHER_GPU, OTHER_NODE = range(len(LOCALITIES))
PORTS = 4  # of a rank: out and in, within the node and beyond it


@dataclass(frozen=True)
class Cluster:
    """Ranks on the nodes of a network.

    Attributes
    ----------
    node_of_rank : integers
    n_gpus : int
        Of a node; its ranks use them in turn.
    """

    network: Network
    node_of_rank: Integers
    n_gpus: int

    @property
    def n_ranks(self) -> int:
        """All ranks."""
        return len(self.node_of_rank)

    @property
    def n_nodes(self) -> int:
        """Nodes with ranks."""
        return int(self.node_of_rank.max()) + 1

    def localities(self, messages: Messages) -> Integers:
        """The locality of each message, an index of `LOCALITIES`."""
        gpu = order_within(self.node_of_rank) % self.n_gpus
        own, other = messages.source, messages.target
        near = np.where(gpu[own] == gpu[other], SAME_GPU, OTHER_GPU)
        far = np.where(self.node_of_rank[own] == self.node_of_rank[other], near, OTHER_NODE)
        return np.where(own == other, SELF, far)


@dataclass(frozen=True)
class Noise:
    """Random factors of the time on links: log-normal with this sigma, the same for the same seed."""

    sigma: float = 0.0
    seed: int = 0

    def factors(self, n: int) -> Floats:
        """A factor for each of n messages."""
        if self.sigma == 0:
            return np.ones(n)
        return np.random.default_rng(self.seed).lognormal(0.0, self.sigma, n)


@dataclass(frozen=True)
class Outcome:
    """The result of a simulated exchange.

    Attributes
    ----------
    seconds : float
        Until the last rank is done.
    of_rank : floats
        Until each rank is done.
    strategies : counter of str
        Messages by strategy.
    bytes, bytes_between_nodes : int
    messages : int
    """

    seconds: float
    of_rank: Floats
    strategies: Counter[str]
    bytes: int
    bytes_between_nodes: int
    messages: int


@dataclass(frozen=True)
class Exchange:
    """Messages that are all started at once, each rank's in their order.

    Parameters
    ----------
    cost_of : callable
        The cost of a message.
    call_s : float
        Time of each call that starts a send or a receive.
    starts_all : bool
        One call starts all messages of a rank.
    chunk_bytes : int or None
        Messages are cut into chunks, which take turns on links; None: whole messages do.
    """

    cluster: Cluster
    cost_of: Callable[[OneMessage], Cost]
    call_s: float = 0.0
    starts_all: bool = False
    chunk_bytes: int | None = None
    noise: Noise = field(default_factory=Noise)

    def run(self, messages: Messages) -> Outcome:
        """Simulate the exchange."""
        localities = self.cluster.localities(messages)
        costs, of_message = self._costs(messages, localities)
        times = run(self._plan(messages, localities, costs, of_message))
        return self._outcome(messages, localities, times, _strategies(costs, of_message))

    def _costs(self, messages: Messages, localities: Integers) -> tuple[list[Cost], Integers]:
        """The different costs, and the one of each message: few, however many messages there are."""
        m = messages
        rows = np.column_stack([m.bytes, m.blocks, m.touched, m.pages, m.contiguous, m.indexed, localities])
        different, of_message = np.unique(rows, axis=0, return_inverse=True)
        costs = [
            self.cost_of(OneMessage(Features(*row[:4]), bool(row[4]), bool(row[5]), LOCALITIES[row[6]]))
            for row in different.tolist()
        ]
        return costs, of_message.reshape(-1)

    def _plan(
        self, messages: Messages, localities: Integers, costs: list[Cost], of_message: Integers
    ) -> Plan:
        def column(name: str) -> Floats:
            return np.array([getattr(cost, name) for cost in costs], np.float64)[of_message]

        fabric = Fabric(self.cluster.network, self.cluster.node_of_rank)
        paths = fabric.paths(messages.source, messages.target)
        is_direct = np.array([cost.strategy == DIRECT for cost in costs], bool)[of_message]
        links, busy = self._hops(messages, paths, column("stream"), column("crosses") > 0)
        names = ("pack_setup", "pack_work", "unpack_setup", "unpack_work", "latency")
        return Plan(
            source=messages.source,
            target=messages.target,
            posted=self._posted(messages, is_direct),
            **{name: column(name) for name in names},
            links=links,
            busy=busy * self.noise.factors(len(messages))[:, None],
            n_chunks=self._chunks(messages, links),
            n_ranks=self.cluster.n_ranks,
            n_links=len(paths.seconds_per_byte) + PORTS * self.cluster.n_ranks,
        )

    def _hops(
        self, messages: Messages, paths: Paths, stream: Floats, crosses: NDArray[np.bool_]
    ) -> tuple[Integers, Floats]:
        """The ports of both ranks around the links between nodes, and the time that each is kept busy.

        Between nodes a message is as fast as the slowest of its stream and its links. The ports within the
        node and those to other nodes are different ones.
        """
        n_links, n_ranks = len(paths.seconds_per_byte), self.cluster.n_ranks
        leaves = (paths.links >= 0).any(axis=1)
        first = n_links + np.where(leaves, 2 * n_ranks, 0)
        out = np.where(crosses, first + messages.source, NO_LINK)
        into = np.where(crosses, first + n_ranks + messages.target, NO_LINK)
        of_links = np.append(paths.seconds_per_byte, 0.0)[paths.links] * messages.bytes[:, None]
        links = np.column_stack([out, paths.links, into])
        return links, np.column_stack([stream, of_links, stream])

    def _chunks(self, messages: Messages, links: Integers) -> Integers:
        """Chunks of each message; one where it crosses nothing."""
        if self.chunk_bytes is None:
            return np.ones(len(messages), np.int64)
        found = np.maximum(1, -(-messages.bytes // self.chunk_bytes))
        return np.where(links[:, 0] >= 0, found, 1)

    def _posted(self, messages: Messages, is_direct: NDArray[np.bool_]) -> Floats:
        """The end of each send's call, after all receives' calls. Direct messages start when a rank waits."""
        n_ranks = self.cluster.n_ranks
        if self.starts_all:
            return np.full(len(messages), self.call_s)
        receives = np.bincount(messages.target, minlength=n_ranks)
        sends = np.bincount(messages.source, minlength=n_ranks)
        own = order_within(messages.source) + 1
        calls = receives[messages.source] + np.where(is_direct, sends[messages.source], own)
        return np.asarray(calls * self.call_s, np.float64)

    def _outcome(
        self, messages: Messages, localities: Integers, times: Times, strategies: Counter[str]
    ) -> Outcome:
        of_rank = np.zeros(self.cluster.n_ranks)
        np.maximum.at(of_rank, messages.source, times.packed)
        np.maximum.at(of_rank, messages.target, times.done)
        return Outcome(
            seconds=float(of_rank.max(initial=0.0)),
            of_rank=of_rank,
            strategies=strategies,
            bytes=int(messages.bytes.sum()),
            bytes_between_nodes=int(messages.bytes[localities == OTHER_NODE].sum()),
            messages=len(messages),
        )


def _strategies(costs: list[Cost], of_message: Integers) -> Counter[str]:
    found: Counter[str] = Counter()
    for cost, n in zip(costs, np.bincount(of_message, minlength=len(costs)).tolist(), strict=True):
        found[cost.strategy] += n
    return found
