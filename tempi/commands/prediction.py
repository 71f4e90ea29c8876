"""The predictions that a profile makes for one message of a datatype, part by part, for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from tempi._library import library
from tempi.explanation import Explanation, explain
from tempi.model.profile import Profile, read
from tempi.model.profile_check import ProfileError
from tempi.model.terms import DIRECT_STRATEGIES, NEAR_LOCALITIES, PEERS

if TYPE_CHECKING:
    from mpi4py import MPI

KINDS = ("pack", "message", "unpack")


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
    """

    parts: Mapping[str, Mapping[str, float]]
    totals: Mapping[str, float]
    chosen: str | None
    unmeasured: tuple[str, ...] = ()


def count_for(datatype: MPI.Datatype, n_bytes: int) -> int:
    """The number of elements that have at least `n_bytes` bytes."""
    return max(1, -(-n_bytes // max(1, datatype.Get_size())))


def peer_of(locality: str) -> str:
    """Locality of a peer to a message of host memory."""
    return locality if locality in PEERS else "same_node"


def locality_of(peer: str) -> str:
    """Locality of a peer to a message of GPU memory."""
    return "other_gpu" if peer == "same_node" else peer


def on_host(profile: Profile, transfer: Explanation, peer: str) -> Prediction:
    """A message of host memory: handed to the library, and packed by TEMPI."""
    message = (*transfer.features, transfer.indexed, peer)
    fit = profile.fit
    totals = fit.predict_on_host(*message)
    parts = {strategy: {"message": seconds} for strategy, seconds in totals.items()}
    return Prediction(parts, totals, "host" if fit.packing_wins(*message) else "library")


def on_gpu(profile: Profile, transfer: Explanation, locality: str) -> Prediction:
    """A message of GPU memory; no strategy if the profile is of a machine without a GPU."""
    if not profile.machine.has_gpu:
        return Prediction({}, {}, None)
    aware = profile.machine.cuda_aware
    reaches_peer = locality in NEAR_LOCALITIES and not (transfer.contiguous and aware)
    message = (*transfer.features, transfer.contiguous, locality, aware, reaches_peer)
    fit = profile.fit
    totals = fit.predict(*message)
    unmeasured = tuple(name for name in DIRECT_STRATEGIES if reaches_peer and name not in totals)
    return Prediction(fit.parts(*message), totals, fit.choose(*message), unmeasured)


def find_profile(path: Path | None) -> tuple[Path, Profile]:
    """The profile asked for, else the one that the shim predicts from here.

    MPI must be initialised, and CUDA where there are GPUs.

    Raises
    ------
    ProfileError
        If there is none, or it is damaged.
    """
    fit = path or library().profile()
    if not fit:
        raise ProfileError(
            "no profile is of this machine: python -m tempi.measure makes one, --profile names another"
        )
    if not Path(fit).name:
        raise ProfileError(f"{fit} cannot be read: Is a directory")
    found = Path(fit).with_suffix(".json")
    return found, read(found)


def prediction_table(prediction: Prediction, title: str) -> Table:
    """A column for each of a message's parts, microseconds; the chosen strategy is marked."""
    table = Table(title=title, title_justify="left")
    table.add_column("strategy")
    for name in (*KINDS, "together (us)", ""):
        table.add_column(name, justify="right")
    for strategy, total in sorted(prediction.totals.items(), key=lambda item: item[1]):
        by_kind = {term.partition(".")[0]: value for term, value in prediction.parts[strategy].items()}
        cells = [f"{1e6 * by_kind[kind]:.4g}" if kind in by_kind else "" for kind in KINDS]
        style = "bold" if strategy == prediction.chosen else None
        table.add_row(strategy, *cells, f"{1e6 * total:.4g}", _mark(prediction, strategy), style=style)
    return table


def _mark(prediction: Prediction, strategy: str) -> str:
    if strategy == prediction.chosen:
        return "chosen"
    least = prediction.totals.get(prediction.chosen or "")
    return f"{prediction.totals[strategy] / least:.2f} x" if least else ""


def print_prediction(datatype: MPI.Datatype, count: int, locality: str, path: Path | None) -> None:
    """Print each strategy's predicted time, and the one that the shim takes."""
    found, profile = find_profile(path)
    transfer = explain(datatype, count)
    console, features = Console(), transfer.features
    console.print(f"predicted from {found}", highlight=False, soft_wrap=True)
    console.print(profile.machine.summary, highlight=False, soft_wrap=True)
    places = {
        "GPU": (on_gpu(profile, transfer, locality_of(locality)), locality_of(locality)),
        "host": (on_host(profile, transfer, peer_of(locality)), peer_of(locality)),
    }
    if not any(prediction.totals for prediction, _ in places.values()):
        raise ProfileError(f"{found} has no strategy for a peer on {locality}: it was not measured there")
    for memory, (prediction, where) in places.items():
        if prediction.totals:
            console.print(
                f"{features.bytes} B of {memory} memory in {features.blocks} blocks, {features.touched} B "
                f"touched, {features.pages} pages",
                highlight=False,
            )
            console.print(prediction_table(prediction, f"one message, peer: {where}"))
        if memory == "GPU" and prediction.unmeasured:
            console.print(
                f"{', '.join(prediction.unmeasured)}: not measured; taken first, where both ends can",
                highlight=False,
            )
