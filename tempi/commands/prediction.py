"""The predictions that a profile makes for one message of a datatype, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tempi import _native
from tempi._library import library, options
from tempi.explanation import Explanation
from tempi.model.machine import Machine
from tempi.model.profile_check import ProfileError
from tempi.model.terms import (
    DIRECT,
    HOST_STRATEGIES,
    LOCALITIES,
    NEAR_LOCALITIES,
    PEERS,
    on_host,
    packed_by_rule,
    terms_on_gpu,
)
from tempi.simulate.errors import SimulationError
from tempi.simulate.profiles import profile_names, read_profile

if TYPE_CHECKING:
    from mpi4py import MPI

DOUBT_OF_MESSAGE = 1.5  # kDoubtOfMessage, src/model/predict.hpp


class Known(NamedTuple):
    """A profile: its name as the user gave it, or its file; the machine; the fit."""

    name: str
    machine: Machine
    fit: _native.Fit


@dataclass(frozen=True)
class Prediction:
    """Seconds of one message by strategy, as the shim predicts them, and the choice of the shim.

    Attributes
    ----------
    memory : str
        "GPU" or "host".
    peer : str
        Location of the peer.
    parts : mapping of str to mapping
        Strategy to term to seconds; only strategies that were measured.
    totals : mapping of str to float
        Strategy to seconds.
    chosen : str
        The strategy that the shim takes. If it is "direct": for messages that can be direct.
    otherwise : str or None
        The strategy for messages that cannot be direct, if `chosen` is "direct".
    missing : mapping of str to tuple of str
        Strategy to its terms that the profile lacks; only strategies that the shim may take.
    reason : str
        Why `chosen` may be a slower one.
    """

    memory: str
    peer: str
    parts: Mapping[str, Mapping[str, float]]
    totals: Mapping[str, float]
    chosen: str
    otherwise: str | None = None
    missing: Mapping[str, tuple[str, ...]] | None = None
    reason: str = ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The strategies that the shim takes: of messages that can be direct, then of all others."""
        return (self.chosen, self.otherwise) if self.otherwise else (self.chosen,)

    @property
    def by_rule(self) -> bool:
        """True if a choice was not measured: a fixed rule decides."""
        return any(name not in self.totals for name in self.choices)


def count_for(datatype: MPI.Datatype, n_bytes: int) -> int:
    """The number of elements that have at least `n_bytes` bytes."""
    return max(1, -(-n_bytes // max(1, datatype.Get_size())))


def find_profile(name: str | None) -> Known | None:
    """The requested profile, else the profile that the shim uses on this machine; None if there is none.

    MPI must be initialised, and CUDA where there are GPUs.

    Parameters
    ----------
    name : str or None
        A .json or .fit file, or the name of a profile of the package.

    Raises
    ------
    ProfileError
        If it is damaged, or the one asked for does not exist.
    """
    if name is None and profile_option() not in ("auto", "none"):
        _check_path(profile_option())
    wanted = name if name is not None else library().profile()
    if not wanted and name is None:
        return None
    try:
        fit = read_profile(wanted)
    except SimulationError as error:
        known = ", ".join(profile_names())
        hint = "" if known in str(error) else f"; TEMPI comes with the profiles {known}"
        option = "--profile" if name is not None else "TEMPI_PROFILE"
        raise ProfileError(f"{option}: {error}{hint}") from error
    return Known(wanted, Machine.from_facts({"transports": "", **fit.machine()}), fit)


def profile_option() -> str:
    """The value of the option TEMPI_PROFILE."""
    return next(row.value for row in options() if row.name == "PROFILE")


def _check_path(path: str) -> None:
    """Raise ProfileError if the option TEMPI_PROFILE names no file."""
    if Path(path).exists():
        return
    hint = f"; use --profile {path}" if path in profile_names() else ""
    raise ProfileError(f"TEMPI_PROFILE={path}: there is no such file. TEMPI_PROFILE needs a path{hint}")


def why_no_profile() -> str:
    """The reason why this machine has no profile in use."""
    if profile_option() == "none":
        return "TEMPI_PROFILE=none switches profiles off"
    return "there is no profile of this machine: tempi measure makes one"


def on_gpu(known: Known, transfer: Explanation, peer: str) -> Prediction:
    """Predictions for a message of GPU memory, as in src/transfer/strategy.cpp with default options.

    There, a CUDA-aware library gets GPU memory only for peers on other nodes.
    """
    is_near = peer in NEAR_LOCALITIES
    aware = known.machine.cuda_aware and not is_near
    message = (*transfer.features, transfer.contiguous, peer, aware)
    is_of_library = aware and transfer.contiguous
    rule = "library" if is_of_library else packed_by_rule(transfer.features.bytes, aware)
    fit = known.fit
    totals = fit.predict(*message, is_near)
    packed = fit.choose(*message) if rule in totals and rule != "library" else rule
    needed = terms_on_gpu(transfer.contiguous, peer, aware, is_near)
    found = Prediction(
        "GPU", peer, fit.parts(*message, is_near), totals, packed or rule, missing=_missing(known, needed)
    )
    if not is_near or _direct_is_slower(totals):
        return found
    return replace(found, chosen=DIRECT, otherwise=found.chosen)


def _direct_is_slower(totals: Mapping[str, float]) -> bool:
    """True if both were measured, and the packed message is at least as fast."""
    others = [seconds for name, seconds in totals.items() if name != DIRECT]
    return DIRECT in totals and bool(others) and totals[DIRECT] >= min(others)


def on_host_memory(known: Known, transfer: Explanation, peer: str) -> Prediction:
    """Predictions for a message of host memory: sent by the library, and packed by TEMPI."""
    message = (*transfer.features, transfer.indexed, peer)
    totals = known.fit.predict_on_host(*message)
    parts = {strategy: {"message": seconds} for strategy, seconds in totals.items()}
    packs = not transfer.contiguous and known.fit.packing_wins(*message)
    strategies = () if transfer.contiguous else HOST_STRATEGIES
    needed = {name: (on_host(name, transfer.indexed, peer),) for name in strategies}
    reason = "the MPI library sends contiguous memory" if transfer.contiguous else (
        f"host must be predicted more than {DOUBT_OF_MESSAGE:g} x as fast"
    )  # fmt: skip
    chosen = "host" if packs else "library"
    return Prediction("host", peer, parts, totals, chosen, missing=_missing(known, needed), reason=reason)


def _missing(known: Known, needed: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    measured = known.fit.terms()
    lacking = {name: tuple(term for term in terms if term not in measured) for name, terms in needed.items()}
    return {name: terms for name, terms in lacking.items() if terms}


def places_of(peer: str | None, on_node: str = "same_gpu") -> Iterator[tuple[str, str]]:
    """The kinds of memory of the messages to predict, each with the location of the peer.

    Parameters
    ----------
    on_node : str
        The location of the peer of a message of GPU memory, if `peer` is None.
    """
    if peer is None or peer in LOCALITIES:
        yield "GPU", peer or on_node
    if peer is None or peer in PEERS:
        yield "host", peer or "same_node"


def predicted(known: Known, transfer: Explanation, peer: str | None) -> Iterator[Prediction]:
    """The predictions of a profile for the peer asked for, else for one on this node."""
    is_measured = "message.direct.other_gpu" in known.fit.terms()
    for memory, where in places_of(peer, "other_gpu" if is_measured else "same_gpu"):
        if memory == "host":
            yield on_host_memory(known, transfer, where)
        elif known.machine.has_gpu or peer is not None:
            yield on_gpu(known, transfer, where)


def predictions(known: Known | None, transfer: Explanation, peer: str | None) -> dict[str, Any]:
    """The predictions by memory, as JSON objects. Empty without a profile."""
    return {
        found.memory: {
            "peer": found.peer,
            "chosen": found.chosen,
            "otherwise": found.otherwise,
            "seconds": dict(found.totals),
            "missing_terms": sorted({term for terms in (found.missing or {}).values() for term in terms}),
        }
        for found in (predicted(known, transfer, peer) if known else ())
    }
