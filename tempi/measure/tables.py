"""A profile as tables for people."""

from __future__ import annotations

from collections import Counter

from rich import box
from rich.console import Console
from rich.table import Table

from tempi._legend import legend
from tempi.measure.sampling import FLAGS
from tempi.model.fitting import half_grid_error
from tempi.model.measurement import by_term
from tempi.model.profile import Profile
from tempi.model.terms import Segment

MEANINGS = {
    "term": "a part of a message (docs/strategies.md explains the names)",
    "rows": "number of measurements of the term",
    "with\nflag": "number of doubtful measurements among them; the reasons are below",
    "lines": "number of straight lines that fit the time, one for each range of sizes",
    "latency\nµs": "time of the smallest sizes, without the time for bytes and blocks, in microseconds",
    "most\nGB/s": "bandwidth of the largest sizes, without the time for blocks, in 10^9 bytes a second",
    "error": "difference of the fit and a measurement, relative to the measurement: the median",
    "90th": "the same difference: the 90th percentile",
    "half\ngrid": "median difference if each half of the measurements is predicted from the other half",
}


def _percent(part: float | None) -> str:
    return "" if part is None else f"{100 * part:.1f}%"


def _rate(segment: Segment) -> str:
    if not segment.per_byte:
        return ""
    return _number(1e-9 / segment.per_byte)


def _number(value: float) -> str:
    """Three digits or more, and never an exponent."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}" if value >= 1e-3 else "0"


def term_table(profile: Profile) -> Table:
    """A line for each term: its cost, and the errors of its fit. In 80 columns no number is divided."""
    # The divider of the columns is a space.
    table = Table(title=profile.machine.summary, title_justify="left", box=box.SIMPLE_HEAD, padding=0)
    table.pad_edge = False
    table.add_column("term", overflow="fold")
    for name in list(MEANINGS)[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    tables = by_term(profile.tables)
    for name, term in profile.terms.items():
        rows = tables.get(name, [])
        found = profile.residuals.get(name)
        table.add_row(
            name,
            str(len(rows)),
            str(sum(bool(row.flags) for row in rows) or ""),
            str(len(term.segments)),
            _number(1e6 * term.segments[0].latency),
            _rate(term.segments[-1]),
            _percent(found.median if found else None),
            _percent(found.p90 if found else None),
            _percent(half_grid_error(rows)),
        )
    return table


def print_profile(profile: Profile, console: Console) -> None:
    """The terms, the meanings of the columns, and the number of rows with each flag."""
    console.print(term_table(profile))
    console.print(legend(MEANINGS), highlight=False)
    console.print()
    flags = Counter(flag for row in profile.tables for flag in row.flags)
    for flag, n in sorted(flags.items()):
        meaning = FLAGS.get(flag, "")
        console.print(f"flag {flag}, {n} of {len(profile.tables)} rows: {meaning}", highlight=False)
