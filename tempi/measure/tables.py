"""A profile as tables for people."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.table import Table

from tempi.measure.sampling import FLAGS
from tempi.model.fitting import half_grid_error
from tempi.model.measurement import by_term
from tempi.model.profile import Profile
from tempi.model.terms import Segment


def _percent(part: float | None) -> str:
    return "" if part is None else f"{100 * part:.1f}%"


def _rate(segment: Segment) -> str:
    return f"{1e-9 / segment.per_byte:.3g}" if segment.per_byte else ""


def term_table(profile: Profile) -> Table:
    """A line for each term: its cost, and the errors of its fit."""
    table = Table(title=profile.machine.summary, title_justify="left")
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
    """The terms, and the number of rows with each flag."""
    console.print(term_table(profile))
    flags = Counter(flag for row in profile.tables for flag in row.flags)
    for flag, n in sorted(flags.items()):
        console.print(f"{n} of {len(profile.tables)} rows {flag}: {FLAGS.get(flag, '')}", highlight=False)
