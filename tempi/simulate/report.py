"""The results of simulations: a table for people, CSV and JSON for programs."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from io import StringIO
from typing import Any, ClassVar, Protocol

from rich import box
from rich.table import Table

from tempi._legend import legend
from tempi.simulate.exchange import Outcome

MICRO = 1e-6


class RowOfTable(Protocol):
    """The common columns of all commands, whose rows are dataclasses; None: not simulated."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def ranks(self) -> int:
        """Ranks of the job."""

    @property
    def tempi_us(self) -> float:
        """The time with TEMPI, in microseconds."""

    @property
    def library_us(self) -> float | None:
        """The time of the library alone, in microseconds."""

    @property
    def speedup(self) -> float | None:
        """Time without TEMPI / time with TEMPI."""


@dataclass(frozen=True)
class Row:
    """One simulated number of nodes, times in microseconds; None: not simulated."""

    nodes: int
    ranks: int
    dims: str
    cells: str
    rounds: int
    messages: int
    bytes_per_rank: float
    between_nodes: float
    tempi_us: float
    library_us: float | None
    speedup: float | None
    strategies: str


def row_of(
    n_nodes: int, with_tempi: Outcome, alone: Outcome | None, dims: str = "", cells: str = "", rounds: int = 1
) -> Row:
    """The row of an exchange with TEMPI, and of the same by the library alone, where it was simulated."""
    n_ranks = len(with_tempi.of_rank)
    return Row(
        nodes=n_nodes,
        ranks=n_ranks,
        dims=dims,
        cells=cells,
        rounds=rounds,
        messages=with_tempi.messages,
        bytes_per_rank=with_tempi.bytes / n_ranks,
        between_nodes=with_tempi.bytes_between_nodes / max(1, with_tempi.bytes),
        tempi_us=with_tempi.seconds / MICRO,
        library_us=None if alone is None else alone.seconds / MICRO,
        speedup=None if alone is None else alone.seconds / with_tempi.seconds,
        strategies=_words(with_tempi.strategies),
    )


def _words(strategies: Counter[str]) -> str:
    total = sum(strategies.values())
    return ", ".join(f"{name} {n / total:.0%}" for name, n in strategies.most_common())


_OF_HALO = {
    "grid": "ranks along z, y and x",
    "cells a\nrank": "cells of a rank along z, y and x (256³: 256 along each)",
}
_OF_RECORDED = {
    "rounds": "groups of messages; a group ends where the program waits",
    "messages": "number of messages of all ranks",
}
_OF_ALL = {
    "MB a\nrank": "data that a rank sends, in 10^6 bytes (mean of the ranks)",
    "off\nnode": "part of the data that goes to other nodes",
    "TEMPI\nµs": "simulated time with TEMPI, in microseconds",
    "alone\nµs": "simulated time of the MPI library without TEMPI, in microseconds",
    "speed-up": "time without TEMPI / time with TEMPI",
}
_STRATEGIES = {"strategies": "how the messages travel with TEMPI (docs/strategies.md)"}


def _numbers_of(rows: Sequence[Row]) -> dict[str, str]:
    """The columns with numbers behind the numbers of nodes and ranks, with their meanings."""
    return (_OF_HALO if _is_halo(rows) else _OF_RECORDED) | _OF_ALL


def _is_halo(rows: Sequence[Row]) -> bool:
    return all(row.dims for row in rows)


def legend_of(rows: Sequence[Row]) -> Table:
    """The meanings of the columns of `table_of`."""
    return legend(_numbers_of(rows) | _STRATEGIES)


def table_of(rows: Sequence[Row]) -> Table:
    """A line for each number of nodes, in 80 columns. Alone: the MPI library without TEMPI."""
    is_halo = _is_halo(rows)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.pad_edge = False
    for name in ("nodes", "ranks", *_numbers_of(rows)):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("strategies", overflow="fold", min_width=len("strategies"))
    for row in rows:
        sizes = (f"{row.bytes_per_rank / 1e6:.3g}", f"{row.between_nodes:.0%}")
        times = (number_text(row.tempi_us), number_text(row.library_us), number_text(row.speedup))
        what = (row.dims, _cube(row.cells)) if is_halo else (str(row.rounds), str(row.messages))
        strategies = row.strategies.removesuffix(" 100%")
        table.add_row(str(row.nodes), str(row.ranks), *what, *sizes, *times, strategies)
    return table


def _cube(cells: str) -> str:
    z, *others = cells.split("x")
    return f"{z}³" if set(others) == {z} else cells


def number_text(value: float | None) -> str:
    """A number with four digits or more; a dash for None."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def csv_of(rows: Sequence[RowOfTable], facts: Mapping[str, str]) -> str:
    """The rows, after the facts as comments."""
    text = StringIO(newline="")
    text.writelines(f"# {key}: {value}\n" for key, value in facts.items())
    writer = csv.DictWriter(text, fieldnames=list(asdict(rows[0])))
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return text.getvalue()


def json_of(rows: Sequence[RowOfTable], facts: Mapping[str, str]) -> str:
    """One object of the facts and the rows."""
    whole: dict[str, Any] = {**facts, "rows": [asdict(row) for row in rows]}
    return json.dumps(whole, indent=1) + "\n"
