"""Exchanges of a halo, or of recorded messages, on a cluster, with TEMPI and by the library alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

import numpy as np

from tempi import _native
from tempi._words import counted
from tempi.model.features import Features
from tempi.simulate.costs import Cost, Costs, HostCosts, OneMessage
from tempi.simulate.errors import SimulationError
from tempi.simulate.exchange import Cluster, Exchange, Noise, Outcome
from tempi.simulate.halo import Cells, Halo, balanced_dims
from tempi.simulate.messages import Floats, Integers, Messages, together
from tempi.simulate.network import MICRO, Network
from tempi.simulate.placement import (
    OF_RECORDED,
    nodes_by_bricks,
    nodes_by_graph,
    nodes_by_grid,
    nodes_by_rule,
)
from tempi.simulate.profiles import completed, has_gpu, profiles_of_gpus

WAYS = ("isend", "halo", "pack")
MEMORIES = ("gpu", "host")


@dataclass(frozen=True)
class Scenario:
    """A program's way to exchange, and the cluster that it runs on.

    Attributes
    ----------
    fit : Fit
        Of the profile.
    way : str
        One of `WAYS`; see `tempi.simulate.exchange`.
    memory : str
        One of `MEMORIES`: of the program's data.
    placement : str
        See `tempi.simulate.placement`.
    call_us : float
        Time of each call that starts a send or a receive.
    strategy : str or None
        As TEMPI_STRATEGY; None: the predicted one.
    chunk_bytes : int or None
        Of the chunks that take turns on links; None: whole messages.
    """

    network: Network
    fit: _native.Fit
    way: str = "isend"
    memory: str = "gpu"
    placement: str = "block"
    call_us: float = 0.0
    strategy: str | None = None
    chunk_bytes: int | None = None
    noise: Noise = field(default_factory=Noise)

    def __post_init__(self) -> None:
        if self.memory == "gpu" and not has_gpu(self.fit):
            raise SimulationError(
                "the profile was measured on a machine without a GPU. For GPU memory, use --profile with one "
                f"of {', '.join(profiles_of_gpus())}, or with a profile of a machine with GPUs (tempi "
                "measure). For host memory, use --memory host"
            )
        if self.memory == "host" and self.way == "pack":
            raise SimulationError("--way pack is for GPU memory only: use --way isend for host memory")

    @cached_property
    def completed_fit(self) -> _native.Fit:
        """The fit with terms between nodes."""
        return completed(self.fit, self.network)

    def costs(self, with_tempi: bool) -> Callable[[OneMessage], Cost]:
        """The cost of a message of the program's memory."""
        if self.memory == "host":
            return HostCosts(self.completed_fit, with_tempi).of
        return self._on_gpu(with_tempi).of

    def check_library(self) -> None:
        """Raise SimulationError if the library alone cannot send this memory, or its time is not known."""
        if self.memory == "gpu":
            _ = self._on_gpu(False).block_seconds

    def of_halo(self, halo: Halo, with_tempi: bool) -> Outcome:
        """One exchange of a halo.

        Raises
        ------
        SimulationError
            If the profile, the network and the exchange do not fit together.
        """
        messages = halo.messages()
        cluster = self.cluster(halo.n_ranks, halo.dims, messages)
        if self.way == "pack":
            return self._packed(cluster, halo, with_tempi)
        # Without TEMPI a program has no HaloExchange; it sends the same datatypes.
        sent = messages.joined() if self.way == "halo" else messages
        return self._exchange(cluster, with_tempi).run(sent)

    def of_rounds(self, rounds: Iterable[Messages], n_ranks: int, with_tempi: bool) -> Outcome:
        """Recorded rounds of messages, one after the other."""
        every = list(rounds)
        cluster = self.cluster(n_ranks, None, together(every) if every else None)
        exchange = self._exchange(cluster, with_tempi)
        return total_of([exchange.run(each) for each in every])

    def cluster(self, n_ranks: int, dims: Cells | None, messages: Messages | None) -> Cluster:
        """The ranks on their nodes."""
        nodes = self._nodes(n_ranks, dims, messages)
        return Cluster(self.network, nodes, self.network.gpus_per_node)

    def _nodes(self, n_ranks: int, dims: Cells | None, messages: Messages | None) -> Integers:
        per_node = self.network.ranks_per_node
        given = nodes_by_rule(n_ranks, per_node, self.placement)
        if self.placement in ("block", "cyclic") or messages is None:
            return given
        if self.placement == "tempi":
            return nodes_by_graph(given, messages)
        if dims is None:
            raise SimulationError(
                f"recorded messages have no grid of ranks: use --placement {' or '.join(OF_RECORDED)}"
            )
        if self.placement == "tempi-grid":
            return nodes_by_grid(given, dims)
        return nodes_by_bricks(dims, min(per_node, n_ranks), messages)

    def _on_gpu(self, with_tempi: bool) -> Costs:
        return Costs(self.completed_fit, with_tempi, self.network.library_block_us, self.strategy)

    def _exchange(self, cluster: Cluster, with_tempi: bool) -> Exchange:
        return Exchange(
            cluster,
            self.costs(with_tempi),
            call_s=self.call_us * MICRO,
            starts_all=self.way == "halo",
            chunk_bytes=self.chunk_bytes,
            noise=self.noise,
        )

    def _packed(self, cluster: Cluster, halo: Halo, with_tempi: bool) -> Outcome:
        """MPI_Pack of each quantity and direction, a message a rank, MPI_Unpack; barriers between these."""
        costs = self._on_gpu(with_tempi)
        pieces = halo.messages(each_quantity=True)
        pack = _longest(pieces, pieces.source, halo, costs.pack_seconds)
        unpack = _longest(pieces, pieces.target, halo, costs.unpack_seconds)
        # In the order of ranks, as a graph communicator has its neighbours.
        sent = halo.messages().joined().packed().by_target()
        carried = self._exchange(cluster, with_tempi).run(sent)
        ends = pack + unpack
        return replace(carried, seconds=carried.seconds + ends, of_rank=carried.of_rank + ends)


def _longest(pieces: Messages, ranks: Integers, halo: Halo, seconds_of: Callable[[Features], float]) -> float:
    """The longest time of any rank for all pieces of all quantities."""
    rows = np.column_stack([pieces.bytes, pieces.blocks, pieces.touched, pieces.pages])
    different, of_piece = np.unique(rows, axis=0, return_inverse=True)
    each: Floats = np.array([seconds_of(Features(*row)) for row in different.tolist()])
    of_rank = np.bincount(ranks, weights=each[of_piece.reshape(-1)], minlength=halo.n_ranks)
    return halo.quantities * float(of_rank.max())


def total_of(outcomes: list[Outcome]) -> Outcome:
    """Exchanges one after the other, all ranks waiting for the last of each."""
    if not outcomes:
        raise SimulationError("there are no messages to simulate")
    return Outcome(
        seconds=sum(each.seconds for each in outcomes),
        of_rank=np.sum([each.of_rank for each in outcomes], axis=0),
        strategies=sum((each.strategies for each in outcomes), Counter()),
        bytes=sum(each.bytes for each in outcomes),
        bytes_between_nodes=sum(each.bytes_between_nodes for each in outcomes),
        messages=sum(each.messages for each in outcomes),
    )


@dataclass(frozen=True)
class Problem:
    """A halo exchange whose number of ranks is open.

    Attributes
    ----------
    cells : tuple of int
        Along z, y and x: of each rank (weak scaling) or of the global grid (strong scaling).
    is_weak : bool
    dims : tuple of int or None
        Ranks along z, y and x; None: balanced.
    """

    cells: Cells
    is_weak: bool = True
    radius: int = 3
    quantities: int = 8
    element_bytes: int = 8
    dims: Cells | None = None

    def on(self, n_ranks: int) -> Halo:
        """The exchange of so many ranks; SimulationError if `dims` has another number."""
        dims = self.dims or balanced_dims(n_ranks)
        if prod(dims) != n_ranks:
            raise SimulationError(
                f"--dims is a grid of {counted(prod(dims), 'rank')}, but the job has {n_ranks:,}"
            )
        z, y, x = (n * k if self.is_weak else n for n, k in zip(self.cells, dims, strict=True))
        return Halo((z, y, x), dims, self.radius, self.quantities, self.element_bytes)
