"""Numbers of the demo as its tables show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.table import Table


def new_table(title: str, first: str, *columns: str) -> Table:
    """A table with words in its first column, and numbers in the others."""
    table = Table(first, title=title, title_justify="left", title_style="bold")
    for column in columns:
        table.add_column(column, justify="right")
    return table


def shown(us: float) -> str:
    """Microseconds with three digits, or all before the point."""
    return f"{us:,.0f}" if us >= 100 else f"{us:.3g}"


AGREE = 1.25  # the two least times of several runs, if the machine was quiet in both


DISTURBED = (
    "disturbed: the times of two runs differ by more than 25 %, because other programs use this machine"
)


def notes(rows: Iterable[Ratio], *more: str) -> str:
    """What stands below a table: what its words mean."""
    is_told = any(ratio.times is None and ratio.why_none == "disturbed" for ratio in rows)
    disturbed = [DISTURBED] if is_told else []
    return "[dim]" + "\n".join(["; ".join(more), *disturbed]) + "[/dim]"


@dataclass(frozen=True)
class Ratio:
    """Times without and with TEMPI as a row shows them; None: it crashed, or was too slow.

    Attributes
    ----------
    disturbed : bool
        No two runs agree on the least time: the quotient would be that of other programs' work.
    """

    alone_us: float | None
    ours_us: float | None
    disturbed: bool = False

    @classmethod
    def of(cls, alone: Sequence[float], ours: Sequence[float]) -> Ratio:
        """From seconds of several runs: the least, which other programs have disturbed least."""
        alone_us, ours_us = (1e6 * min(seconds) if seconds else None for seconds in (alone, ours))
        return cls(alone_us, ours_us, disturbed=not (_agree(alone) and _agree(ours)))

    @property
    def times(self) -> float | None:
        """The quotient of the two numbers as they are shown; None if there is none, or it means nothing."""
        if self.alone_us is None or self.ours_us is None or self.disturbed:
            return None
        alone, ours = (float(shown(us).replace(",", "")) for us in (self.alone_us, self.ours_us))
        return alone / ours if ours else None

    @property
    def cells(self) -> tuple[str, str, str]:
        """For a table."""
        return _cell(self.alone_us), _cell(self.ours_us), self._last_cell()

    @property
    def why_none(self) -> str:
        """Why there is no quotient."""
        return "crashes" if self.alone_us is None or self.ours_us is None else "disturbed"

    def _last_cell(self) -> str:
        times = self.times
        if times is None:
            return "–" if self.why_none == "crashes" else f"[yellow]{self.why_none}[/yellow]"
        return f"[bold]{times:.1f}[/bold]" if times >= 1.15 else f"{times:.1f}"


def _agree(seconds: Sequence[float]) -> bool:
    least = sorted(seconds)[:2]
    return len(least) < 2 or least[1] <= AGREE * least[0]


def _cell(us: float | None) -> str:
    return "[red]crashes[/red]" if us is None else shown(us)
