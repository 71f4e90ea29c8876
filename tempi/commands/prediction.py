"""The predictions that a profile makes for one message of a datatype, part by part, for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

import tempi.model
from tempi._library import library
from tempi.explanation import Explanation
from tempi.model.profile import Profile, read
from tempi.model.profile_check import ProfileError
from tempi.model.terms import DIRECT_STRATEGIES, LOCALITIES, NEAR_LOCALITIES, PEERS

if TYPE_CHECKING:
    from mpi4py import MPI

KINDS = ("pack", "message", "unpack")
RULE = "oneshot, or from 48 KiB device if the library is CUDA-aware"  # transfer/strategy.cpp


@dataclass(frozen=True)
class Prediction:
    """Seconds of one message by strategy, as the shim predicts them.

    Attributes
    ----------
    parts : mapping of str to mapping
        Strategy to term to seconds.
    totals : mapping of str to float
        Strategy to seconds.
    chosen : str or None
        The strategy that the shim takes.
    unmeasured : tuple of str
        Strategies that are taken before it, where both ends can, because no term of theirs says otherwise.
    reason : str
        Why it may be a slower one.
    """

    parts: Mapping[str, Mapping[str, float]]
    totals: Mapping[str, float]
    chosen: str | None
    unmeasured: tuple[str, ...] = ()
    reason: str = ""


def count_for(datatype: MPI.Datatype, n_bytes: int) -> int:
    """The number of elements that have at least `n_bytes` bytes."""
    return max(1, -(-n_bytes // max(1, datatype.Get_size())))


def on_host(profile: Profile, transfer: Explanation, peer: str) -> Prediction:
    """Predictions for a message of host memory: sent by the library, and packed by TEMPI."""
    message = (*transfer.features, transfer.indexed, peer)
    fit = profile.fit
    totals = fit.predict_on_host(*message)
    parts = {strategy: {"message": seconds} for strategy, seconds in totals.items()}
    chosen = "host" if fit.packing_wins(*message) else "library"
    return Prediction(parts, totals, chosen, reason="packing must be predicted 1.5 x faster")


def on_gpu(profile: Profile, transfer: Explanation, locality: str) -> Prediction:
    """Predictions for a message of GPU memory; none if the profile is of a machine without a GPU."""
    if not profile.machine.has_gpu:
        return Prediction({}, {}, None)
    aware = profile.machine.cuda_aware
    reaches_peer = locality in NEAR_LOCALITIES and not (transfer.contiguous and aware)
    message = (*transfer.features, transfer.contiguous, locality, aware, reaches_peer)
    fit = profile.fit
    totals = fit.predict(*message)
    unmeasured = tuple(name for name in DIRECT_STRATEGIES if reaches_peer and name not in totals)
    return Prediction(fit.parts(*message), totals, fit.choose(*message), unmeasured)


def find_profile(path: Path | None) -> tuple[Path, Profile] | None:
    """The requested profile, else the profile that the shim uses on this machine; None if there is none.

    MPI must be initialised, and CUDA where there are GPUs.

    Raises
    ------
    ProfileError
        If it is damaged, or the one asked for does not exist.
    """
    fit = path or library().profile()
    if not fit:
        return None
    if not Path(fit).name:
        raise ProfileError(f"{fit} cannot be read: Is a directory")
    found = Path(fit).with_suffix(".json")
    return found, read(found)


def prediction_table(prediction: Prediction, title: str) -> Table:
    """A table with a column for each part of a message, in microseconds; the chosen strategy is marked."""
    table = Table(title=title, title_justify="left")
    table.add_column("strategy")
    for name in (*KINDS, "total (us)", ""):
        table.add_column(name, justify="right")
    for strategy, total in sorted(prediction.totals.items(), key=lambda item: item[1]):
        by_kind = {term.partition(".")[0]: value for term, value in prediction.parts[strategy].items()}
        cells = [f"{1e6 * by_kind[kind]:.4g}" if kind in by_kind else "" for kind in KINDS]
        style = "bold" if strategy == prediction.chosen else None
        table.add_row(strategy, *cells, f"{1e6 * total:.4g}", _mark(prediction, strategy), style=style)
    return table


def _mark(prediction: Prediction, strategy: str) -> str:
    of_chosen = prediction.totals.get(prediction.chosen or "")
    if strategy == prediction.chosen:
        is_slower = of_chosen is not None and of_chosen > min(prediction.totals.values())
        return f"chosen: {prediction.reason}" if is_slower else "chosen"
    return f"{prediction.totals[strategy] / of_chosen:.2f} x" if of_chosen else ""


def shipped() -> list[Path]:
    """The profiles of other machines that come with the package."""
    package = Path(next(iter(tempi.model.__path__))).parent
    folders = (folder / "perfmodel" / "machines" for folder in (package, package.parent))
    return next((found for folder in folders if (found := sorted(folder.glob("*.json")))), [])


def print_rule(console: Console) -> None:
    """Print how messages travel without a profile, and which profiles --profile may name."""
    console.print(
        "This machine has no profile, so a fixed rule applies. GPU memory: direct between GPUs of a node, if "
        f"both ranks can; else {RULE}. Host memory: the MPI library packs.",
        highlight=False,
    )
    for path in shipped():
        console.print(f"shipped: --profile {path}", highlight=False, soft_wrap=True)
    console.print("[bold]tempi measure[/bold] measures this machine and writes a profile.", highlight=False)


def places_of(profile: Profile, transfer: Explanation, peer: str | None) -> dict[str, tuple[Prediction, str]]:
    """The predictions by kind of memory, each with the location of the peer. `peer`: the requested one.

    Raises
    ------
    ProfileError
        If the profile has no strategy for the peer asked for.
    """
    places = {}
    if peer is None or peer in LOCALITIES:
        places["GPU"] = (on_gpu(profile, transfer, peer or "same_gpu"), peer or "same_gpu")
    if peer is None or peer in PEERS:
        places["host"] = (on_host(profile, transfer, peer or "same_node"), peer or "same_node")
    return {memory: found for memory, found in places.items() if found[0].totals}


def known_places_of(
    known: tuple[Path, Profile], transfer: Explanation, peer: str | None
) -> dict[str, tuple[Prediction, str]]:
    """As `places_of`, but an error if there are none."""
    places = places_of(known[1], transfer, peer)
    if not places:
        raise ProfileError(
            f"{known[0]} has no strategy for a peer on {peer or 'this node'}: messages to it were not "
            "measured. tempi measure measures this node; tempi measure --hosts A,B measures two nodes"
        )
    return places


def predictions(transfer: Explanation, peer: str | None, path: Path | None) -> dict[str, Any]:
    """By memory: location of the peer, chosen strategy, seconds by strategy. Empty without a profile."""
    known = find_profile(path)
    places = known_places_of(known, transfer, peer) if known else {}
    return {
        memory: {"peer": where, "chosen": found.chosen, "seconds": dict(found.totals)}
        for memory, (found, where) in places.items()
    }


def print_prediction(transfer: Explanation, peer: str | None, path: Path | None) -> None:
    """Print the predicted time of each strategy, and the choice of the shim; without a profile the rule."""
    known = find_profile(path)
    if known is None:
        return print_rule(Console())
    found, profile = known
    console, features = Console(), transfer.features
    console.print(f"predicted from {found}", highlight=False, soft_wrap=True)
    console.print(profile.machine.summary, highlight=False, soft_wrap=True)
    places = known_places_of(known, transfer, peer)
    for memory, (prediction, where) in places.items():
        console.print(
            f"{features.bytes} B of {memory} memory in {features.blocks} blocks, {features.touched} B "
            f"touched, {features.pages} pages",
            highlight=False,
        )
        console.print(prediction_table(prediction, f"one message, peer: {where}"))
        if memory == "GPU" and prediction.unmeasured:
            console.print(
                f"{', '.join(prediction.unmeasured)}: not measured. If both ranks can, TEMPI uses it "
                "instead of the strategy above",
                highlight=False,
            )
