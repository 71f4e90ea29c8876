"""Terms: the time of one part of a message, piecewise linear in the features of a transfer.

Choosing a datatype's strategy by measurements of the system is the idea of C. Pearson et al., "TEMPI: An
Interposed MPI Library with a Canonical Representation of CUDA-aware Datatypes", HPDC'21. Terms are listed
in `perfmodel/README.md`; `tempi.model.fitting` makes them from measurements; only `src/model/` evaluates
them.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from functools import cached_property

from tempi import _native
from tempi.model.features import Features

NAMES = frozenset(_native.term_names())
_ROWS = _native.strategy_rows()
STRATEGIES = tuple(name for name, packs, *_ in _ROWS if packs.startswith("kernel"))  # of GPU memory
DIRECT_STRATEGIES = tuple(name for name, packs, *_ in _ROWS if packs == "layout_to_layout")
NEED_CUDA_AWARE = frozenset(name for name, _, carries, *_ in _ROWS if carries == "device_memory")
NEAR_LOCALITIES = ("self", "same_gpu", "other_gpu")  # on the same node
LOCALITIES = (*NEAR_LOCALITIES, "other_node")
HOST_STRATEGIES = tuple(name for name, _, _, on_host, *_ in _ROWS if on_host)
PEERS = ("self", "same_node", "other_node")
(DIRECT,) = DIRECT_STRATEGIES
RULE_BYTES = 48 << 10  # kDeviceBytes, src/transfer/strategy.cpp


@dataclass(frozen=True)
class Segment:
    """One line of a term: seconds, and seconds for each byte, block, touched byte and page."""

    from_bytes: int
    latency: float
    per_byte: float
    per_block: float
    per_touched: float
    per_page: float


@dataclass(frozen=True)
class Term:
    """The time of one part of a message; the segments ascend, the first one begins at 0 bytes."""

    segments: tuple[Segment, ...]

    @cached_property
    def _lines(self) -> _native.Term:
        return _native.Term([astuple(segment) for segment in self.segments])

    def seconds(self, features: Features) -> float:
        """The time of a transfer with these features, as the shim evaluates it."""
        return self._lines.seconds(*features)


def terms_on_gpu(
    contiguous: bool, locality: str, cuda_aware: bool, reaches_peer: bool
) -> dict[str, tuple[str, ...]]:
    """The terms of a message of GPU memory by strategy, for the strategies that are possible.

    Parameters
    ----------
    cuda_aware : bool
        The MPI library may be handed GPU memory.
    reaches_peer : bool
        The message may be direct.
    """
    in_device = f"message.device.{'other_gpu' if locality == 'self' else locality}"
    in_host = f"message.host.{locality if locality in ('same_gpu', 'other_node') else 'same_node'}"
    found: dict[str, tuple[str, ...]] = {}
    if cuda_aware and contiguous:
        found["library"] = (in_device,)
    for name in STRATEGIES:
        if cuda_aware or name not in NEED_CUDA_AWARE:
            between = in_device if name in NEED_CUDA_AWARE else in_host
            found[name] = (f"pack.{name}", between, f"unpack.{name}")
    if reaches_peer:
        found |= {name: (f"message.{name}.{locality}",) for name in DIRECT_STRATEGIES}
    return found


def packed_by_rule(n_bytes: int, cuda_aware: bool) -> str:
    """The strategy of a packed message of GPU memory without measurements (src/transfer/strategy.cpp).

    Parameters
    ----------
    cuda_aware : bool
        The MPI library may be handed GPU memory.
    """
    return "device" if cuda_aware and n_bytes >= RULE_BYTES else "oneshot"


def on_host(strategy: str, indexed: bool, peer: str) -> str:
    """The term of a message of a derived datatype in host memory."""
    return f"message.{strategy}.{'indexed' if indexed else 'typed'}.{peer}"
