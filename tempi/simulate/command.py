"""``tempi simulate``: the time of an exchange on a cluster that need not be there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from tempi._words import counted
from tempi.simulate.arguments import COUNT, Triple, of_cluster, of_messages, of_nodes
from tempi.simulate.doubts import doubts_of
from tempi.simulate.errors import SimulationError
from tempi.simulate.halo import Cells
from tempi.simulate.network_table import print_networks
from tempi.simulate.placement import OF_RECORDED, PLACEMENTS
from tempi.simulate.plots import draw
from tempi.simulate.reduce_command import reduce_command
from tempi.simulate.report import Row, legend_of, row_of, table_of
from tempi.simulate.results import Report, console_of, run, tracked
from tempi.simulate.scenario import WAYS, Problem, Scenario
from tempi.simulate.timelines import read_timelines

REPORT = Report(table_of, legend_of, draw)


@click.group("simulate")
def main() -> None:
    """Predict the time of exchanges and reductions on a cluster.

    Example: tempi simulate halo --network summit --nodes 1..512

    The command simulates each message. It needs no cluster and no GPU. It has two inputs: a network
    (the description of a cluster, see tempi simulate networks), and a profile (the measured times of a
    machine, see tempi measure). The page docs/simulation.md explains the model.
    """


@main.command("halo")
@of_nodes
@click.option(
    "--size",
    type=Triple(),
    metavar="ZxYxX",
    default="256",
    show_default=True,
    help="Number of cells of each rank along z, y and x. One number is for all three.",
)
@click.option(
    "--strong",
    is_flag=True,
    help="Strong scaling: --size is the size of the whole grid, which is divided among the ranks.",
)
@click.option(
    "--radius", type=COUNT, default=3, show_default=True, help="Number of ghost cells on each side."
)
@click.option(
    "--quantities",
    type=COUNT,
    default=8,
    show_default=True,
    help="Number of arrays that are exchanged together.",
)
@click.option(
    "--element-bytes",
    type=COUNT,
    default=8,
    show_default=True,
    help="Size of an element of an array, in bytes.",
)
@click.option(
    "--dims",
    type=Triple(),
    metavar="ZxYxX",
    help="Number of ranks along z, y and x. Default: as equal as possible.",
)
@click.option(
    "--way",
    type=click.Choice(WAYS),
    default="isend",
    show_default=True,
    help="How the program exchanges data. isend: MPI_Isend of derived datatypes. halo: tempi.HaloExchange. "
    "pack: MPI_Pack, contiguous messages, MPI_Unpack.",
)
@click.option("--placement", type=click.Choice(PLACEMENTS), default="block", show_default=True,
              help="Placement of ranks on nodes. block: ranks fill one node after the other. "
                   "cyclic: rank i is on node i modulo the number of nodes. "
                   "cartesian: each node has a brick of the grid of ranks. "
                   "tempi: as with TEMPI_PLACEMENT=1 and MPI_Dist_graph_create, with the bytes as weights. "
                   "tempi-grid: as with TEMPI_PLACEMENT=1 and MPI_Cart_create.")  # fmt: skip
@of_messages
@of_cluster
def halo_command(
    n_nodes: tuple[int, ...],
    size: Cells,
    strong: bool,
    radius: int,
    quantities: int,
    element_bytes: int,
    dims: Cells | None,
    way: str,
    placement: str,
    **cluster: Any,
) -> None:
    """Simulate a periodic 3-D halo exchange.

    The cells of a 3-D grid are divided among the ranks. Each rank sends the cells at its boundary in 26
    directions. The result is a table with a row for each number of nodes.
    """
    problem = Problem(size, not strong, radius, quantities, element_bytes, dims)
    words = "x".join(map(str, size))
    share = "in all" if strong else "on each rank"
    arrays = f"{counted(quantities, 'array')} of {element_bytes}-byte elements"
    title = f"halo exchange, {words} cells {share}, radius {radius}, {arrays}, --way {way}"

    def simulate(scenario: Scenario, compare: bool, console: Console) -> list[Row]:
        rows = []
        for n in tracked(n_nodes, console):
            halo = problem.on(n * scenario.network.ranks_per_node)
            outcome = scenario.of_halo(halo, True)
            alone = scenario.of_halo(halo, False) if compare else None
            cells = "x".join(str(-(-n // k)) for n, k in zip(halo.cells, halo.dims, strict=True))
            rows.append(row_of(n, outcome, alone, "x".join(map(str, halo.dims)), cells))
        return rows

    cluster["memory"] = cluster["memory"] or "gpu"
    run(simulate, REPORT, title, {"way": way, "placement": placement}, cluster)


@main.command("trace")
@click.argument("timelines", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--placement", type=click.Choice(OF_RECORDED), default="block", show_default=True,
              help="Placement of ranks on nodes. block: ranks fill one node after the other. "
                   "cyclic: rank i is on node i modulo the number of nodes. "
                   "tempi: as with TEMPI_PLACEMENT=1 and MPI_Dist_graph_create.")  # fmt: skip
@of_messages
@of_cluster
def trace_command(timelines: tuple[Path, ...], placement: str, **cluster: Any) -> None:
    """Simulate the recorded messages of a job.

    Example: tempi run -o trace=run.json -- mpirun -n 4 ./program; tempi simulate trace run.json

    TIMELINES are the files that the option TEMPI_TRACE wrote for the job. The time between the messages, in
    which the program computes, is not simulated.

    If the job has messages of GPU memory and of host memory, only the messages of GPU memory are simulated.
    With --memory gpu or --memory host, all messages are simulated as messages of this kind of memory.
    """
    try:
        found = read_timelines(timelines, cluster["memory"])
    except SimulationError as error:
        raise click.ClickException(str(error)) from error

    def simulate(scenario: Scenario, compare: bool, console: Console) -> list[Row]:
        for said in doubts_of(found):
            console.print(f"[yellow]{said}[/yellow]", highlight=False, soft_wrap=True)
        outcome = scenario.of_rounds(found.rounds, found.n_ranks, True)
        alone = scenario.of_rounds(found.rounds, found.n_ranks, False) if compare else None
        n_nodes = -(-found.n_ranks // scenario.network.ranks_per_node)
        return [row_of(n_nodes, outcome, alone, rounds=len(found.rounds))]

    title = f"recorded messages of {'GPU' if found.memory == 'gpu' else 'host'} memory"
    run(simulate, REPORT, title, {"placement": placement}, cluster | {"memory": found.memory})


main.add_command(reduce_command)


@main.command("networks")
def networks_command() -> None:
    """Print the networks that come with TEMPI.

    The command prints what each number of a network is, its value, and where the value comes from.
    """
    print_networks(console_of())
