"""What a profile predicts for one message of a datatype, term by term, for people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from tempi import model
from tempi._library import library
from tempi.explanation import Explanation, explain
from tempi.model import PEERS
from tempi.profile import Profile, read
from tempi.profile_check import ProfileError
from tempi.profile_tables import machine_line

if TYPE_CHECKING:
    from mpi4py import MPI

Parts = dict[str, dict[str, float]]


def count_for(datatype: MPI.Datatype, n_bytes: int) -> int:
    """How many elements have at least `n_bytes` bytes."""
    return max(1, -(-n_bytes // max(1, datatype.Get_size())))


def peer_of(locality: str) -> str:
    """Locality of a peer to a message of host memory."""
    return locality if locality in PEERS else "other_node" if locality == "other_node" else "same_node"


def locality_of(peer: str) -> str:
    """Locality of a peer to a message of GPU memory."""
    return {"self": "same_gpu", "same_node": "other_gpu"}.get(peer, peer)


def host_parts(terms: model.Terms, transfer: Explanation, peer: str) -> Parts:
    """Seconds of one message of host memory: as the library does it, and packed by us."""
    found = model.predict_on_host(terms, transfer.features, transfer.indexed, peer)
    return {
        strategy: {model.on_host(strategy, transfer.indexed, peer): seconds}
        for strategy, seconds in found.items()
    }


def gpu_parts(profile: Profile, transfer: Explanation, locality: str) -> Parts:
    """Seconds of one message of GPU memory by strategy and term; none where the profile is of no GPU."""
    if not profile.machine.has_gpu:
        return {}
    aware = profile.machine.cuda_aware
    return model.predict_parts(profile.terms, transfer.features, transfer.contiguous, locality, aware)


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


def winner(totals: Mapping[str, float]) -> str | None:
    """The strategy that the shim chooses."""
    if set(totals) <= set(model.HOST_STRATEGIES) and "host" in totals:
        return "host" if model.packing_wins(totals) else "library"
    return model.choose(totals)


def prediction_table(parts: Parts, title: str) -> Table:
    """A column for each of a message's parts, microseconds; the winner is marked."""
    totals = {strategy: sum(seconds.values()) for strategy, seconds in parts.items()}
    best = winner(totals)
    table = Table(title=title, title_justify="left")
    table.add_column("strategy")
    for name in ("pack", "message", "unpack", "together (us)", ""):
        table.add_column(name, justify="right")
    for strategy in sorted(totals, key=totals.__getitem__):
        by_kind = {term.partition(".")[0]: value for term, value in parts[strategy].items()}
        cells = [
            f"{1e6 * by_kind[kind]:.4g}" if kind in by_kind else "" for kind in ("pack", "message", "unpack")
        ]
        style = "bold" if strategy == best else None
        total = f"{1e6 * totals[strategy]:.4g}"
        table.add_row(strategy, *cells, total, _mark(totals, strategy, best), style=style)
    return table


def _mark(totals: Mapping[str, float], strategy: str, best: str | None) -> str:
    if strategy == best:
        return "chosen"
    return f"{totals[strategy] / totals[best]:.2f} x" if best and best in totals else ""


def print_prediction(datatype: MPI.Datatype, count: int, locality: str, path: Path | None) -> None:
    """Print each strategy's predicted time, and the winner."""
    found, profile = find_profile(path)
    transfer = explain(datatype, count)
    console, features = Console(), transfer.features
    console.print(f"predicted from {found}", highlight=False, soft_wrap=True)
    console.print(machine_line(profile.machine), highlight=False, soft_wrap=True)
    places = {
        "GPU": (gpu_parts(profile, transfer, locality_of(locality)), locality_of(locality)),
        "host": (host_parts(profile.terms, transfer, peer_of(locality)), peer_of(locality)),
    }
    if not any(parts for parts, _ in places.values()):
        raise ProfileError(f"{found} has no strategy for a peer on {locality}: it was not measured there")
    for memory, (parts, where) in places.items():
        if parts:
            console.print(
                f"{features.bytes} B of {memory} memory in {features.blocks} blocks, {features.touched} B "
                f"touched, {features.pages} pages",
                highlight=False,
            )
            console.print(prediction_table(parts, f"one message, peer: {where}"))
