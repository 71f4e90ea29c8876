"""``tempi simulate reduce``: the time of MPI_Allreduce of GPU memory on a cluster."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import click
from rich.console import Console

from tempi.simulate.arguments import Numbers, of_cluster, of_nodes
from tempi.simulate.plots import draw_reductions
from tempi.simulate.reduction import Reduction
from tempi.simulate.reduction_report import (
    ReductionRow,
    legend_of_reductions,
    reduction_row,
    table_of_reductions,
)
from tempi.simulate.results import Report, run, tracked
from tempi.simulate.scenario import Scenario

DOUBLE_BYTES = 8
MOST_BYTES = DOUBLE_BYTES * ((1 << 31) - 1)  # as many doubles as an int can count
REPORT = Report(table_of_reductions, legend_of_reductions, draw_reductions)


@click.command("reduce")
@of_nodes
@click.option("--bytes", "sizes", type=Numbers(MOST_BYTES), default="8,1048576,67108864", show_default=True,
              help="Numbers of bytes on each rank: a list, or a range such as 1048576..67108864, in which "
                   "each number is twice the one before. Each number must be a multiple of 8. 1 MiB is "
                   "1048576, 64 MiB is 67108864.")  # fmt: skip
@partial(of_cluster, default_profile="the profile of the network")
def reduce_command(n_nodes: tuple[int, ...], sizes: tuple[int, ...], **cluster: Any) -> None:
    """Simulate MPI_Allreduce of doubles in GPU memory.

    Example: tempi simulate reduce --nodes 1..64 --bytes 67108864 --profile my-machine.json

    The command compares two jobs. With TEMPI and TEMPI_REDUCE_NODES=1, kernels reduce the data on each node,
    and the MPI library reduces the results of the nodes in host memory. Without TEMPI, the program copies the
    data to host memory and back, and the MPI library reduces the data of all ranks in host memory.

    The profile must have the times of reductions, which tempi measure measures.
    """
    if wrong := [n for n in sizes if n % DOUBLE_BYTES]:
        raise click.BadParameter(f"{wrong[0]} is not a multiple of {DOUBLE_BYTES}", param_hint="--bytes")

    def simulate(scenario: Scenario, compare: bool, console: Console) -> list[ReductionRow]:
        reductions = [Reduction(scenario, n) for n in n_nodes]
        cases = list(product(reductions, sizes))
        return [reduction_row(reduction, n, compare) for reduction, n in tracked(cases, console)]

    way = {"memory": "host"}  # of the messages of the library
    run(simulate, REPORT, "MPI_Allreduce of doubles in GPU memory", way, cluster)
