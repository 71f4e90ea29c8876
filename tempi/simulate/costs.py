"""The strategy and the parts of a message, from the shim's own model.

Glossary
    set-up   the part of a term that does not grow with the message, a launch: once for all work of a batch
    stream   the part of a message on its way that grows with its bytes; keeps the two ranks' ports busy
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from tempi import _native
from tempi.model.features import Features
from tempi.model.terms import DIRECT, NEAR_LOCALITIES, NEED_CUDA_AWARE, packed_by_rule
from tempi.simulate.errors import SimulationError
from tempi.simulate.network import MICRO
from tempi.simulate.profiles import Terms, is_cuda_aware, needed_term, terms_of

LIBRARY, HOST, SELF = "library", "host", "self"
NOT_ON_A_NODE = (
    "the profile has no times of derived datatypes in host memory. Use a profile that has them: run tempi "
    "measure on this machine, and then this command without --profile. Or simulate messages of GPU memory "
    "(--memory gpu)"
)
NOT_BETWEEN_NODES = (
    "the profile has no times of derived datatypes in host memory between two nodes: run tempi measure "
    "--hosts A,B, where A and B are two nodes, and use its profile (--profile); or simulate one node only"
)


class Cost(NamedTuple):
    """Seconds of one message. `crosses`: the library carries its bytes, over the network or a port."""

    strategy: str
    pack_setup: float = 0.0
    pack_work: float = 0.0
    latency: float = 0.0
    stream: float = 0.0
    unpack_setup: float = 0.0
    unpack_work: float = 0.0
    crosses: bool = True


class OneMessage(NamedTuple):
    """A message by all that its cost depends on; `locality` as in `tempi.model.terms`."""

    features: Features
    contiguous: bool
    indexed: bool
    locality: str


class Costs:
    """Costs of messages of GPU memory.

    Parameters
    ----------
    fit : Fit
        Completed with terms between nodes.
    with_tempi : bool
        Else the library handles the datatypes of the program itself, a copy for each block.
    library_block_us : float or None
        The time of such a copy.
    strategy : str or None
        As the option TEMPI_STRATEGY; None: the predicted one.

    Raises
    ------
    SimulationError
        If the library alone cannot send GPU memory, or its time is not known.
    """

    def __init__(
        self, fit: _native.Fit, with_tempi: bool, library_block_us: float | None, strategy: str | None = None
    ) -> None:
        self._fit, self._terms = fit, terms_of(fit)
        self._aware = is_cuda_aware(fit)
        self._with_tempi, self._block_us, self._wish = with_tempi, library_block_us, strategy
        if not with_tempi and not self._aware:
            raise SimulationError(
                "the MPI library of the profile is not CUDA-aware, and cannot send GPU memory"
            )

    def of(self, message: OneMessage) -> Cost:
        """The cost of a message."""
        is_direct = self._with_tempi and self._wish in (None, DIRECT) and self._goes_direct(message)
        if message.contiguous and self._aware and not is_direct:
            return self._by_library(message)
        return self._by_strategy(message) if self._with_tempi else self._by_blocks(message)

    def pack_seconds(self, features: Features) -> float:
        """One call of MPI_Pack within GPU memory."""
        return self._packing_seconds("pack.device", features)

    def unpack_seconds(self, features: Features) -> float:
        """One call of MPI_Unpack within GPU memory."""
        return self._packing_seconds("unpack.device", features)

    def _packing_seconds(self, term: str, features: Features) -> float:
        return self._seconds(term, features) if self._with_tempi else self.block_seconds * features.blocks

    @cached_property
    def block_seconds(self) -> float:
        """The library's time for one block of GPU memory."""
        if self._block_us is None:
            raise SimulationError(
                "the network has no library_block_us, the time of the MPI library for a block of GPU memory: "
                "use --library-block-us, or --no-library"
            )
        return self._block_us * MICRO

    def strategy_of(self, message: OneMessage) -> str:
        """The strategy that the shim takes of a message that it packs (``src/transfer/strategy.cpp``)."""
        if self._wish not in (None, DIRECT):
            return str(self._wish) if self._aware or self._wish not in NEED_CUDA_AWARE else "oneshot"
        if self._goes_direct(message):
            return DIRECT
        rule = packed_by_rule(message.features.bytes, self._aware)
        return self._fit.choose(*self._question(message)) or rule

    def _goes_direct(self, message: OneMessage) -> bool:
        """A message that was not measured has no time here, though the shim takes it; one to oneself has."""
        if message.locality not in NEAR_LOCALITIES:
            return False
        if self._direct_to_self_is_estimated(message):
            return True
        if DIRECT not in self._fit.predict(*self._question(message), True):
            return False
        return self._wish == DIRECT or self._fit.choose(*self._question(message), True) == DIRECT

    def _question(self, message: OneMessage) -> tuple[int, int, int, int, bool, str, bool]:
        return (*message.features, message.contiguous, message.locality, self._aware)

    def _direct_to_self_is_estimated(self, message: OneMessage) -> bool:
        """A direct message to oneself that was not measured is one kernel, which does the work of packing and
        of unpacking."""
        needed = {"message.direct.other_gpu", "pack.device", "unpack.device"}
        is_known = "message.direct.self" in self._terms
        return message.locality == SELF and not is_known and needed <= set(self._terms)

    def _direct(self, message: OneMessage) -> Cost:
        """All that meet share a launch; the rest of each, its empty message too, adds up."""
        seconds = self._seconds(f"message.direct.{message.locality}", message.features)
        launch = min(seconds, self._seconds("launch", Features(0)))
        return Cost(DIRECT, launch, seconds - launch, crosses=False)

    def _direct_to_self(self, message: OneMessage) -> Cost:
        pack, unpack = (self._split(f"{side}.device", message.features) for side in ("pack", "unpack"))
        return Cost(DIRECT, max(pack[0], unpack[0]), pack[1] + unpack[1], crosses=False)

    def _by_library(self, message: OneMessage) -> Cost:
        latency, stream = self._on_the_way("device", message)
        return Cost(LIBRARY, latency=latency, stream=stream)

    def _by_blocks(self, message: OneMessage) -> Cost:
        """Each block is copied, one after the other, at both ends."""
        latency, stream = self._on_the_way("device", message)
        packing = self.block_seconds * message.features.blocks
        return Cost(LIBRARY, 0.0, packing, latency, stream, 0.0, packing)

    def _by_strategy(self, message: OneMessage) -> Cost:
        strategy = self.strategy_of(message)
        if strategy == DIRECT and self._direct_to_self_is_estimated(message):
            return self._direct_to_self(message)
        if strategy == DIRECT:
            return self._direct(message)
        pack, unpack = (self._split(f"{side}.{strategy}", message.features) for side in ("pack", "unpack"))
        latency, stream = self._on_the_way("device" if strategy == "device" else "host", message)
        return Cost(strategy, *pack, latency, stream, *unpack)

    def _on_the_way(self, memory: str, message: OneMessage) -> tuple[float, float]:
        """A rank and itself are taken to be two GPUs: terms of one were measured between two processes, which
        the GPU serves in turns. Bytes that a rank sends itself move at the rate within a GPU, though."""
        where = "other_gpu" if message.locality == SELF else message.locality
        place = "same_node" if memory == "host" and where == "other_gpu" else where
        bytes_only = Features(message.features.bytes)
        latency, stream = self._split(f"message.{memory}.{place}", bytes_only)
        if message.locality == SELF and f"message.{memory}.same_gpu" in self._terms:
            stream = self._split(f"message.{memory}.same_gpu", bytes_only)[1]
        return latency, stream

    def _seconds(self, name: str, features: Features) -> float:
        return needed_term(self._terms, name).seconds(features)

    def _split(self, name: str, features: Features) -> tuple[float, float]:
        return split(self._terms, name, self._seconds(name, features), features)


def split(terms: Terms, name: str, seconds: float, features: Features) -> tuple[float, float]:
    """A term's time as (latency, the rest)."""
    found = [segment for segment in terms[name].segments if segment.from_bytes <= features.footprint]
    latency = min(found[-1].latency, seconds)
    return latency, seconds - latency


class HostCosts:
    """Costs of messages of host memory: a profile's term of a whole message, less a contiguous one's way
    between nodes, is the processors' work, half at each end. A contiguous message is all on its way.

    Parameters
    ----------
    fit : Fit
        Completed with terms between nodes.
    with_tempi : bool
        Else every message is the library's.
    """

    def __init__(self, fit: _native.Fit, with_tempi: bool) -> None:
        self._fit, self._terms, self._with_tempi = fit, terms_of(fit), with_tempi

    def of(self, message: OneMessage) -> Cost:
        """The cost of a message."""
        peer = {"same_gpu": "same_node", "other_gpu": "same_node"}.get(message.locality, message.locality)
        if message.contiguous:
            return self._carried(f"message.host.{'same_node' if peer == 'self' else peer}", message)
        predicted: Mapping[str, float] = self._fit.predict_on_host(*message.features, message.indexed, peer)
        packs = self._with_tempi and self._fit.packing_wins(*message.features, message.indexed, peer)
        strategy = HOST if packs else LIBRARY
        if strategy not in predicted:
            raise SimulationError(NOT_BETWEEN_NODES if peer == "other_node" else NOT_ON_A_NODE)
        way = Cost(strategy)
        if peer == "other_node":
            way = self._carried("message.host.other_node", message)._replace(strategy=strategy)
        work = max(0.0, predicted[strategy] - way.latency - way.stream)
        return way._replace(pack_work=work / 2, unpack_work=work / 2)

    def _carried(self, name: str, message: OneMessage) -> Cost:
        features = Features(message.features.bytes)
        seconds = needed_term(self._terms, name).seconds(features)
        latency, stream = split(self._terms, name, seconds, features)
        return Cost(LIBRARY, latency=latency, stream=stream)
