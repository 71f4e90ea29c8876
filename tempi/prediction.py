"""What a profile predicts for one message of a datatype, term by term, for people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from tempi import model
from tempi._library import library
from tempi.explanation import Explanation, explain
from tempi.model import Features
from tempi.profile import Profile, read
from tempi.profile_check import ProfileError
from tempi.profile_tables import machine_line

if TYPE_CHECKING:
    from mpi4py import MPI

Parts = dict[str, dict[str, float]]


def count_for(datatype: MPI.Datatype, n_bytes: int) -> int:
    """How many elements have at least `n_bytes` bytes."""
    return max(1, -(-n_bytes // max(1, datatype.Get_size())))


def host_parts(terms: model.Terms, features: Features, locality: str) -> Parts:
    """Seconds of the parts of one message of host memory: our packer against the library's."""
    wire = f"message.host.{'other_node' if locality == 'other_node' else 'same_node'}"
    names = {side: (f"pack.{side}", wire, f"unpack.{side}") for side in ("host", "library")}
    return {
        side: {
            name: terms[name].seconds(Features(features.bytes) if name == wire else features)
            for name in parts
        }
        for side, parts in names.items()
        if all(name in terms for name in parts)
    }


def predicted_parts(profile: Profile, transfer: Explanation, locality: str) -> Parts:
    """Seconds by strategy and term: of GPU memory, or of host memory where the profile is of no GPU."""
    if not profile.machine.has_gpu:
        return host_parts(profile.terms, transfer.features, locality)
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


def prediction_table(parts: Parts, title: str) -> Table:
    """A column for each of a message's parts, microseconds; the winner is marked."""
    totals = {strategy: sum(seconds.values()) for strategy, seconds in parts.items()}
    best = model.choose(totals)
    table = Table(title=title, title_justify="left")
    table.add_column("strategy")
    for name in ("pack", "message", "unpack", "together (us)", ""):
        table.add_column(name, justify="right")
    for strategy in sorted(totals, key=totals.__getitem__):
        by_kind = {term.partition(".")[0]: value for term, value in parts[strategy].items()}
        cells = [
            f"{1e6 * by_kind[kind]:.4g}" if kind in by_kind else "" for kind in ("pack", "message", "unpack")
        ]
        mark = "chosen" if strategy == best else f"{totals[strategy] / totals[best]:.2f} x" if best else ""
        style = "bold" if strategy == best else None
        table.add_row(strategy, *cells, f"{1e6 * totals[strategy]:.4g}", mark, style=style)
    return table


def print_prediction(datatype: MPI.Datatype, count: int, locality: str, path: Path | None) -> None:
    """Print each strategy's predicted time, and the winner."""
    found, profile = find_profile(path)
    transfer = explain(datatype, count)
    console, features = Console(), transfer.features
    memory = "GPU" if profile.machine.has_gpu else "host"
    console.print(f"predicted from {found}", highlight=False, soft_wrap=True)
    console.print(machine_line(profile.machine), highlight=False, soft_wrap=True)
    console.print(
        f"{features.bytes} B of {memory} memory in {features.blocks} blocks, {features.touched} B touched, "
        f"{features.pages} pages",
        highlight=False,
    )
    parts = predicted_parts(profile, transfer, locality)
    if not parts:
        raise ProfileError(f"{found} has no strategy for a peer on {locality}: it was not measured there")
    console.print(prediction_table(parts, f"one message, peer: {locality}"))
