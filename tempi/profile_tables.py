"""A profile as tables for people."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.table import Table

from tempi.fitting import by_term, half_grid_error
from tempi.model import Machine, Segment
from tempi.profile import Profile
from tempi.sampling import FLAGS


def machine_line(machine: Machine) -> str:
    """The machine in one line."""
    gpus = f"{machine.gpus} x {machine.gpu} (driver {machine.driver})" if machine.has_gpu else "no GPU"
    aware = "CUDA-aware" if machine.cuda_aware else "not CUDA-aware"
    return f"{machine.host}: {gpus}, {machine.mpi}, {aware}"


def _percent(part: float | None) -> str:
    return "" if part is None else f"{100 * part:.1f}%"


def _rate(segment: Segment) -> str:
    return f"{1e-9 / segment.per_byte:.3g}" if segment.per_byte else ""


def term_table(profile: Profile) -> Table:
    """A line for each term: what it costs, and how well the fit tells."""
    table = Table(title=machine_line(profile.machine), title_justify="left")
    table.add_column("term", no_wrap=True)
    for name in ("rows", "flagged", "segments", "latency us", "GB/s at most", "error", "90th", "half grid"):
        table.add_column(name, justify="right")
    tables = by_term(profile.tables)
    for name, term in profile.terms.items():
        rows = tables.get(name, [])
        found = profile.residuals.get(name)
        table.add_row(
            name,
            str(len(rows)),
            str(sum(bool(row.flags) for row in rows) or ""),
            str(len(term.segments)),
            f"{1e6 * term.segments[0].latency:.3g}",
            _rate(term.segments[-1]),
            _percent(found.median if found else None),
            _percent(found.p90 if found else None),
            _percent(half_grid_error(rows)),
        )
    return table


def print_profile(profile: Profile, console: Console) -> None:
    """The terms, and how many rows have which flag."""
    console.print(term_table(profile))
    flags = Counter(flag for row in profile.tables for flag in row.flags)
    for flag, n in sorted(flags.items()):
        console.print(f"{n} of {len(profile.tables)} rows {flag}: {FLAGS.get(flag, '')}", highlight=False)
