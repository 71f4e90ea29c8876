"""Predictions as text for people: a table for each kind of memory, or the rule that applies instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.table import Table

from tempi._library import Option, options
from tempi._words import counted
from tempi.commands.prediction import (
    Known,
    Prediction,
    places_of,
    predicted,
    profile_option,
    why_no_profile,
)
from tempi.explanation import Explanation
from tempi.model.terms import DIRECT, LOCALITIES, NEAR_LOCALITIES, RULE_BYTES
from tempi.simulate.profiles import profile_names

KINDS = ("pack", "message", "unpack")
CHOOSING_OPTIONS = (
    "DISABLE",
    "NO_SEND",
    "NO_DIRECT",
    "STRATEGY",
    "DATATYPE_ONESHOT",
    "DATATYPE_DEVICE",
    "CONTIGUOUS_STAGED",
    "CUDA_AWARE",
)
# Options, each with the one that cancels it.
CANCELLED_BY = {
    "DATATYPE_ONESHOT": "DATATYPE_AUTO",
    "DATATYPE_DEVICE": "DATATYPE_AUTO",
    "CONTIGUOUS_STAGED": "CONTIGUOUS_AUTO",
}
CONDITIONS = (
    "A message is direct only under conditions (docs/strategies.md, Conditions). For example, both processes "
    "run TEMPI on the same node, and each can access the GPU of the other."
)


def us_text(seconds: float) -> str:
    """Microseconds with four digits, and never with an exponent."""
    us = 1e6 * seconds
    return f"{us:,.0f}" if us >= 1000 else f"{us:.4g}" if us >= 1e-3 else "< 0.001"


def prediction_table(prediction: Prediction) -> Table:
    """A table with a column for each part of a message, in microseconds; the choice is marked."""
    table = Table(title=f"one message, peer: {prediction.peer}; times in µs", title_justify="left")
    table.add_column("strategy")
    for name in (*KINDS, "total"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("choice of TEMPI")
    totals = prediction.totals

    def unmeasured_first(name: str) -> tuple[float, bool, str]:
        return totals.get(name, 0.0), name != prediction.chosen, name

    for strategy in sorted({*totals, *prediction.choices}, key=unmeasured_first):
        parts = prediction.parts.get(strategy, {})
        by_kind = {term.partition(".")[0]: value for term, value in parts.items()}
        cells = [us_text(by_kind[kind]) if kind in by_kind else "" for kind in KINDS]
        total = us_text(totals[strategy]) if strategy in totals else "not measured"
        style = "bold" if strategy in prediction.choices else None
        table.add_row(strategy, *cells, total, mark(prediction, strategy), style=style)
    return table


def mark(prediction: Prediction, strategy: str) -> str:
    """The choice, else the time in relation to that of the chosen strategy."""
    totals = prediction.totals
    if prediction.otherwise:
        if strategy == prediction.chosen:
            return "chosen if possible"
        if strategy == prediction.otherwise:
            return "chosen otherwise"
    elif strategy == prediction.chosen:
        is_slower = strategy in totals and totals[strategy] > min(totals.values())
        return f"chosen: {prediction.reason}" if is_slower and prediction.reason else "chosen"
    known = next((name for name in prediction.choices if name in totals), None)
    return f"{totals[strategy] / totals[known]:.3g} x {known}" if known else ""


def rule_lines(transfer: Explanation, memory: str, peer: str, aware: bool | None) -> Iterator[str]:
    """The rule for a message that was not measured. `aware`: of the MPI library; None: not known."""
    if memory == "host" and transfer.contiguous:
        yield "The MPI library always sends contiguous host memory (strategy library)."
    elif memory == "host":
        yield "The MPI library sends messages of host memory (strategy library)."
    elif peer in NEAR_LOCALITIES:
        yield "A message of GPU memory on one node is direct if possible. Otherwise TEMPI uses oneshot."
        yield CONDITIONS
    elif transfer.contiguous:
        yield from _with_aware_library(
            "The MPI library sends contiguous GPU memory to other nodes itself (strategy library)", aware
        )
    elif transfer.features.bytes >= RULE_BYTES:
        size = f"of at least {RULE_BYTES >> 10} KiB"
        yield from _with_aware_library(
            f"GPU memory to other nodes: TEMPI uses device for messages {size}", aware
        )
    else:
        yield f"GPU memory to other nodes: TEMPI uses oneshot for messages below {RULE_BYTES >> 10} KiB."


def _with_aware_library(text: str, aware: bool | None) -> Iterator[str]:
    if aware is None:
        yield f"{text}, if the library is CUDA-aware. Otherwise TEMPI uses oneshot."
    elif aware:
        yield f"{text}."
    else:
        yield "The MPI library is not CUDA-aware: TEMPI uses oneshot for GPU memory to other nodes."


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def print_rule(console: Console, transfer: Explanation, peer: str | None) -> None:
    """Print how messages travel without a profile, and which profiles --profile may name."""
    is_off = profile_option() == "none"
    reason = why_no_profile() if is_off else "This machine has no profile"
    _say(console, f"{reason}. TEMPI uses a fixed rule:")
    places = [*places_of(peer)]
    if peer is None:
        places.insert(1, ("GPU", LOCALITIES[-1]))
    for memory, where in places:
        for line in rule_lines(transfer, memory, where, None):
            _say(console, f"  {line}")
    if not is_off:
        _say(console, "tempi measure measures this machine and writes a profile.")
    _say(console, f"Profiles of other machines: --profile NAME, with NAME {' or '.join(profile_names())}.")


def _print_missing(console: Console, known: Known, found: Prediction) -> None:
    """Print the terms that the profile lacks, and how they are measured."""
    for strategy, terms in (found.missing or {}).items():
        _say(console, f"{strategy}: the profile has no term {', '.join(terms)}")
    if not found.missing:
        return
    names = [term for terms in found.missing.values() for term in terms]
    how = "tempi measure --hosts A,B" if any("other_node" in name for name in names) else "tempi measure"
    if any(name.startswith("message.device") for name in names):
        how += " --device-messages"
    where = " on a machine with GPUs" if found.memory == "GPU" and not known.machine.has_gpu else ""
    _say(console, f"{how}{where} measures {'this term' if len(set(names)) == 1 else 'these terms'}.")


def _print_one(console: Console, known: Known, transfer: Explanation, found: Prediction) -> None:
    features = transfer.features
    _say(
        console,
        f"{features.bytes:,} B of {found.memory} memory in {counted(features.blocks, 'block')}, "
        f"{features.touched:,} B touched, {counted(features.pages, 'page')}",
    )
    if found.totals:
        console.print(prediction_table(found))
    else:
        _say(console, f"peer {found.peer}: the profile has no measurements for this message")
    if found.by_rule and not (found.chosen == DIRECT and found.otherwise in found.totals):
        _say(console, "A fixed rule applies:")
        for line in rule_lines(transfer, found.memory, found.peer, known.machine.cuda_aware):
            _say(console, f"  {line}")
    elif found.chosen == DIRECT:
        _say(console, CONDITIONS)
    if found.chosen == DIRECT and DIRECT not in found.totals and found.totals:
        _say(console, "TEMPI also uses direct if the profile has no measurements of it.")
    _print_missing(console, known, found)


def choosing_options(rows: Iterable[Option]) -> list[Option]:
    """The options that change the choice: not at their default, and not cancelled by another one."""
    changed = {row.name: row for row in rows if row.value != row.default}
    return [row for name, row in changed.items()
            if name in CHOOSING_OPTIONS and CANCELLED_BY.get(name) not in changed]  # fmt: skip


def _print_options(console: Console) -> None:
    """Print the options that change the choice: the tables are for the defaults."""
    for option in choosing_options(options()):
        _say(console, f"TEMPI_{option.name}={option.value} is set. The choice above is without this option.")


def print_prediction(known: Known | None, transfer: Explanation, peer: str | None) -> None:
    """Print the predicted time of each strategy, and the choice of the shim; without a profile the rule."""
    console = Console()
    if known is None:
        print_rule(console, transfer, peer)
        _print_options(console)
        return
    _say(console, f"predicted from {known.name}")
    _say(console, known.machine.summary)
    for found in predicted(known, transfer, peer):
        _print_one(console, known, transfer, found)
    _print_options(console)
