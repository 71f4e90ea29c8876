"""A profile as tables for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from tempi._legend import legend
from tempi.measure.doubts import is_vague
from tempi.measure.sampling import FLAGS
from tempi.model.fitting import half_grid_error
from tempi.model.measurement import Measurement, by_term
from tempi.model.profile import Profile

LEAST_BYTES_OF_RATE = 1 << 20  # the latency decides the time of smaller transfers
PART_OF_LARGEST = 0.25  # from which a size counts as one of the largest
NO_RATE = "–"
MEANINGS = {
    "term": "a part of a message (docs/strategies.md explains the names)",
    "rows": "number of measurements of the term",
    "with\nflag": "number of doubtful measurements among them; the reasons are below",
    "lines": "number of straight lines that fit the time, one for each range of sizes",
    "latency\nµs": "time of the smallest sizes, without the time for bytes and blocks, in microseconds",
    "most\nGB/s": "highest rate that was measured with the largest sizes: bytes / time, in 10^9 bytes a "
    f"second. {NO_RATE}: no size of 1 MiB or more, or its samples vary too much",
    "error": "difference of the fit and a measurement, relative to the measurement: the median",
    "90th": "the same difference: the 90th percentile",
    "half\ngrid": "median difference if each half of the measurements is predicted from the other half",
}


def _percent(part: float | None) -> str:
    return "" if part is None else f"{100 * part:.1f}%"


def _rate(rows: Sequence[Measurement]) -> str:
    """The highest rate of the largest sizes, from the times themselves.

    The coefficients of a fit give no rate: the bytes, the touched bytes and the blocks of a datatype grow
    together, and the fit divides their common time in an arbitrary way.
    """
    least = max(LEAST_BYTES_OF_RATE, PART_OF_LARGEST * max((row.bytes for row in rows), default=0))
    rates = [row.bytes / row.median_s for row in rows if row.bytes >= least and not is_vague(row)]
    return _number(1e-9 * max(rates)) if rates else NO_RATE


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
            _rate(rows),
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
