"""The meanings of the columns of a table, in lines below it."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table


def legend(meanings: Mapping[str, str]) -> Table:
    """A line for each column: its name, as in the heading, and its meaning."""
    lines = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0), style="dim")
    lines.add_column(no_wrap=True)
    lines.add_column(overflow="fold")
    for name, meaning in meanings.items():
        lines.add_row(name.replace("\n", " "), meaning)
    return lines
