"""The rows and the table of ``tempi simulate reduce``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table

from tempi._legend import legend
from tempi.figures import size_text
from tempi.simulate.network import MICRO
from tempi.simulate.reduction import MOST_ON_NODE, Reduction
from tempi.simulate.report import number_text


@dataclass(frozen=True)
class ReductionRow:
    """A simulated number of nodes and of bytes, times in microseconds; None: not simulated."""

    nodes: int
    ranks: int
    bytes: int
    done_by: str
    node_us: float
    host_us: float
    votes_us: float
    tempi_us: float
    library_us: float | None
    speedup: float | None


def reduction_row(reduction: Reduction, n_bytes: int, compare: bool) -> ReductionRow:
    """The row of a reduction with TEMPI, and of the same by the library alone if `compare`."""
    parts = reduction.with_tempi(n_bytes)
    alone = reduction.alone(n_bytes).seconds if compare else None
    return ReductionRow(
        reduction.n_nodes,
        reduction.n_ranks,
        n_bytes,
        done_by=parts.done_by,
        node_us=parts.on_node / MICRO,
        host_us=parts.in_host_memory / MICRO,
        votes_us=parts.votes / MICRO,
        tempi_us=parts.seconds / MICRO,
        library_us=None if alone is None else alone / MICRO,
        speedup=alone / parts.seconds if alone is not None and parts.seconds > 0 else None,
    )


_COLUMNS = {
    "nodes": "number of nodes",
    "ranks": "number of ranks",
    "bytes": "size of the data of each rank (64 Mi: 64 × 2^20 bytes)",
    "node\nµs": "with TEMPI: kernels on each node, and copies to and from host memory",
    "host\nµs": "with TEMPI: the MPI library reduces in host memory",
    "votes\nµs": "with TEMPI: all ranks agree to use kernels, and agree that no kernel has failed",
    "TEMPI\nµs": "simulated time with TEMPI_REDUCE_NODES=1, in microseconds: the sum of these three",
    "alone\nµs": "simulated time without TEMPI: copies to and from host memory, and the MPI library",
    "speed-up": "time without TEMPI / time with TEMPI",
    "done by": "with TEMPI: kernels (one node), the library (small data on several nodes, one rank on each "
    f"node, or more than {MOST_ON_NODE}), or both",
}


def legend_of_reductions(_: Sequence[ReductionRow]) -> Table:
    """The meanings of the columns of `table_of_reductions`."""
    return legend(_COLUMNS)


def table_of_reductions(rows: Sequence[ReductionRow]) -> Table:
    """A line for each number of nodes and of bytes, in 80 columns."""
    table = Table(box=box.SIMPLE_HEAD, padding=0)  # ten columns of numbers, some of eight digits
    table.pad_edge = False
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name == "done by" else "right", no_wrap=True)
    for row in rows:
        times = (row.node_us, row.host_us, row.votes_us, row.tempi_us, row.library_us)
        counts = (str(row.nodes), str(row.ranks), size_text(row.bytes))
        table.add_row(*counts, *map(number_text, (*times, row.speedup)), row.done_by)
    return table
