"""``tempi simulate``: the time of an exchange on a cluster that need not be there."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import track

from tempi._version import __version__
from tempi.figures import check_drawable
from tempi.simulate.arguments import COUNT, Numbers, Triple, of_cluster, scenario_of
from tempi.simulate.errors import SimulationError
from tempi.simulate.halo import Cells
from tempi.simulate.network import PRESETS, read_network
from tempi.simulate.placement import OF_RECORDED, PLACEMENTS
from tempi.simulate.plots import draw
from tempi.simulate.report import STANDARD_OUTPUT, Row, row_of, table_of, write_csv, write_json
from tempi.simulate.scenario import WAYS, Problem, Scenario
from tempi.simulate.timelines import read_timelines

WIDTH_OF_FILES = 160


@dataclass(frozen=True)
class Outputs:
    """The places of the results."""

    csv: Path | None
    json: Path | None
    plot: Path | None

    def check(self) -> None:
        """Raise RuntimeError early where a figure cannot be written."""
        if self.plot is not None:
            check_drawable(self.plot)

    def write(self, rows: Sequence[Row], title: str, facts: dict[str, str], console: Console) -> None:
        """Print the table, and write the files asked for."""
        console.print(table_of(rows, title))
        for path, write in ((self.csv, write_csv), (self.json, write_json)):
            if path is not None:
                write(path, rows, facts)
        if self.plot is not None:
            draw(rows, title, self.plot)


@click.group("simulate")
def main() -> None:
    """Predict the time of an exchange on a cluster.

    Example: tempi simulate halo --network summit --nodes 1..512

    The command simulates each message. The times of packing come from a profile (tempi measure). A file
    describes the network. The page docs/simulation.md explains the model.
    """


@main.command("halo")
@click.option(
    "--nodes",
    "n_nodes",
    type=Numbers(),
    default="1..64",
    show_default=True,
    help="Numbers of nodes: a list such as 1,2,4, or a range such as 1..64 (1, 2, 4, ... 64).",
)
@click.option(
    "--size",
    type=Triple(),
    metavar="ZxYxX",
    default="256",
    show_default=True,
    help="Cells of a rank along z, y and x.",
)
@click.option("--strong", is_flag=True, help="Strong scaling: --size is the whole grid.")
@click.option("--radius", type=COUNT, default=3, show_default=True, help="Width of the ghost cells.")
@click.option("--quantities", type=COUNT, default=8, show_default=True, help="Number of arrays.")
@click.option("--element-bytes", type=COUNT, default=8, show_default=True, help="Size of an element.")
@click.option(
    "--dims", type=Triple(), metavar="ZxYxX", help="Ranks along z, y and x. Default: as equal as possible."
)
@click.option(
    "--way",
    type=click.Choice(WAYS),
    default="isend",
    show_default=True,
    help="How the program exchanges data. isend: MPI_Isend of derived datatypes. halo: HaloExchange. "
    "pack: MPI_Pack, contiguous messages, MPI_Unpack.",
)
@click.option("--placement", type=click.Choice(PLACEMENTS), default="block", show_default=True,
              help="Placement of ranks on nodes. block: ranks fill one node after the other. "
                   "cyclic: rank i is on node i modulo the number of nodes. "
                   "cartesian: each node has a box of the grid of ranks. "
                   "tempi: TEMPI_PLACEMENT=1 and a graph topology with the bytes as weights. "
                   "tempi-grid: TEMPI_PLACEMENT=1 and MPI_Cart_create.")  # fmt: skip
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
    """Simulate a periodic 3-D halo exchange."""
    problem = Problem(size, not strong, radius, quantities, element_bytes, dims)
    words = "x".join(map(str, size))
    share = "in all" if strong else "a rank"
    title = f"{words} cells {share}, radius {radius}, {quantities} arrays of {element_bytes}-byte elements"

    def simulate(scenario: Scenario, compare: bool, console: Console) -> list[Row]:
        rows = []
        for n in track(n_nodes, "simulating", console=console, transient=True):
            halo = problem.on(n * scenario.network.ranks_per_node)
            outcome = scenario.of_halo(halo, True)
            alone = scenario.of_halo(halo, False) if compare else None
            cells = "x".join(str(-(-n // k)) for n, k in zip(halo.cells, halo.dims, strict=True))
            rows.append(row_of(n, outcome, alone, "x".join(map(str, halo.dims)), cells))
        return rows

    cluster["memory"] = cluster["memory"] or "gpu"
    _run(simulate, title, {"way": way, "placement": placement}, cluster)


@main.command("trace")
@click.argument("timelines", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--placement", type=click.Choice(OF_RECORDED), default="block", show_default=True,
              help="Placement of ranks on nodes. block: ranks fill one node after the other. "
                   "cyclic: rank i is on node i modulo the number of nodes. "
                   "tempi: as TEMPI_PLACEMENT=1.")  # fmt: skip
@of_cluster
def trace_command(timelines: tuple[Path, ...], placement: str, **cluster: Any) -> None:
    """Simulate the recorded messages of a job.

    TIMELINES are the files that TEMPI_TRACE wrote for the job.

    If the job has messages of GPU memory and of host memory, only the messages of GPU memory are simulated.
    With --memory gpu or --memory host, all messages are simulated as messages of this kind of memory.
    """
    try:
        found = read_timelines(timelines, cluster["memory"])
    except SimulationError as error:
        raise click.ClickException(str(error)) from error

    def simulate(scenario: Scenario, compare: bool, console: Console) -> list[Row]:
        if found.n_left_out:
            said = f"{found.n_left_out} messages of host memory are left out: --memory host simulates all"
            console.print(f"[yellow]{said}[/yellow]", highlight=False, soft_wrap=True)
        outcome = scenario.of_rounds(found.rounds, found.n_ranks, True)
        alone = scenario.of_rounds(found.rounds, found.n_ranks, False) if compare else None
        n_nodes = -(-found.n_ranks // scenario.network.ranks_per_node)
        return [row_of(n_nodes, outcome, alone, rounds=len(found.rounds))]

    title = f"recorded messages of {'GPU' if found.memory == 'gpu' else 'host'} memory"
    _run(simulate, title, {"placement": placement}, cluster | {"memory": found.memory})


@main.command("networks")
def networks_command() -> None:
    """Print the networks that come with TEMPI.

    The command also prints the source of each number.
    """
    console = Console(width=None if sys.stdout.isatty() else WIDTH_OF_FILES)
    for name in PRESETS:
        network = read_network(name)
        console.print(f"[bold]{name}[/bold]: {network.about}", highlight=False)
        for key in ("ranks_per_node", "gpus_per_node", "rails", "rail_gb_per_s", "latency_us", "topology",
                    "library_block_us", "profile"):  # fmt: skip
            source = network.sources.get(key, "")
            console.print(f"  {key}: {getattr(network, key)}  [dim]{source}[/dim]", highlight=False)


def _run(
    simulate: Callable[[Scenario, bool, Console], list[Row]],
    title: str,
    way: dict[str, str],
    cluster: dict[str, Any],
) -> None:
    """Simulate and write; errors end with one line."""
    outputs = Outputs(*(cluster.pop(name) for name in ("csv", "json", "plot")))
    is_for_programs = outputs.json == STANDARD_OUTPUT
    console = Console(width=None if sys.stdout.isatty() else WIDTH_OF_FILES, stderr=is_for_programs)
    try:
        outputs.check()
        scenario = scenario_of(way, cluster)
        compare = not cluster["no_library"] and _library_can(scenario, console)
        rows = simulate(scenario, compare, console)
        where = f"{scenario.network.name}, {scenario.network.ranks_per_node} ranks a node"
        outputs.write(rows, f"{title}, by {scenario.way}; {where}", facts_of(scenario), console)
    except (SimulationError, RuntimeError) as error:
        raise click.ClickException(str(error)) from error


def _library_can(scenario: Scenario, console: Console) -> bool:
    """True if the library alone can be simulated; else the reason is printed."""
    try:
        scenario.check_library()
    except SimulationError as error:
        console.print(f"[yellow]library alone: {error}[/yellow]", highlight=False, soft_wrap=True)
        return False
    return True


def facts_of(scenario: Scenario) -> dict[str, str]:
    """Facts about a simulation, for its files."""
    machine = scenario.fit.machine()
    return {
        "command": shlex.join([Path(sys.executable).name, *sys.orig_argv[1:]]),
        "tempi": __version__,
        "network": f"{scenario.network.name}: {scenario.network.about}",
        "profile": ", ".join(machine.get(key, "-") for key in ("host", "gpu", "mpi")),
        "simulated": "yes: no number here was measured",
    }
