"""The run of a command of ``tempi simulate``: the scenario, the rows, the table and the files."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from tempi._native import Fit
from tempi._options import STANDARD_OUTPUT, write_output
from tempi._version import __version__
from tempi._words import counted
from tempi.figures import check_drawable
from tempi.model.terms import NEED_CUDA_AWARE
from tempi.simulate.arguments import network_of, profile_name, scenario_of
from tempi.simulate.errors import SimulationError
from tempi.simulate.network import Network
from tempi.simulate.profiles import is_cuda_aware, read_profile
from tempi.simulate.report import RowOfTable, csv_of, json_of
from tempi.simulate.scenario import Scenario

WIDTH_OF_FILES = 160
R = TypeVar("R", bound=RowOfTable)
Item = TypeVar("Item")


@dataclass(frozen=True)
class Report(Generic[R]):
    """The functions that show rows: the table, the meanings of its columns, the figure."""

    table_of: Callable[[Sequence[R]], Table]
    legend_of: Callable[[Sequence[R]], Table]
    draw: Callable[[Sequence[R], str, Path], None]


@dataclass(frozen=True)
class Outputs:
    """The places of the results."""

    csv: Path | None
    json: Path | None
    plot: Path | None

    def check(self) -> None:
        """Raise RuntimeError early if the figure cannot be drawn, UsageError if two files are one."""
        if self.csv is not None and self.csv == self.json:
            raise click.UsageError(f"--csv and --json both write to {self.csv}: use another file for one")
        if self.plot is not None:
            check_drawable(self.plot)

    def write(
        self, report: Report[R], rows: Sequence[R], title: str, facts: Mapping[str, str], console: Console
    ) -> None:
        """Print the title, the table and the meanings of its columns, and write the files asked for."""
        console.print(title, highlight=False, markup=False, soft_wrap=True)
        console.print(report.table_of(rows))
        console.print(report.legend_of(rows), highlight=False)
        for path, text_of in ((self.csv, csv_of), (self.json, json_of)):
            if path is not None:
                _write(path, text_of(rows, facts))
        if self.plot is not None:
            report.draw(rows, title, self.plot)


def run(
    simulate: Callable[[Scenario, bool, Console], Sequence[R]],
    report: Report[R],
    title: str,
    way: dict[str, str],
    cluster: dict[str, Any],
) -> None:
    """Simulate and write; errors end with one line. `simulate` compares with the library alone if told so."""
    outputs = Outputs(*(cluster.pop(name) for name in ("csv", "json", "plot")))
    is_for_programs = STANDARD_OUTPUT in (outputs.csv, outputs.json)
    console = console_of(stderr=is_for_programs)
    try:
        outputs.check()
        network = network_of(cluster)
        profile = profile_name(network, cluster)
        scenario = scenario_of(way, cluster, network, profile)
        compare = not cluster["no_library"] and _library_can(scenario, console)
        for note in notes_on(scenario, cluster, compare):
            _warn(note, console)
        rows = simulate(scenario, compare, console)
        where = f"network {network.name}, {counted(network.ranks_per_node, 'rank')} on each node"
        lines = (title, where, f"profile {profile}")
        outputs.write(report, rows, "\n".join(lines), facts_of(scenario, profile), console)
    except (SimulationError, RuntimeError) as error:
        raise click.ClickException(str(error)) from error


def tracked(items: Sequence[Item], console: Console) -> Iterable[Item]:
    """The items, with a progress bar on a terminal. In a file, the bar would leave an empty line."""
    return track(items, "simulating", console=console, transient=True, disable=not console.is_terminal)


def console_of(stderr: bool = False) -> Console:
    """A console as wide as the terminal; files are wider."""
    return Console(width=None if sys.stdout.isatty() else WIDTH_OF_FILES, stderr=stderr)


def _library_can(scenario: Scenario, console: Console) -> bool:
    """True if the library alone can be simulated; else the reason is printed."""
    try:
        scenario.check_library()
    except SimulationError as error:
        _warn(f"The time without TEMPI is not simulated: {error}", console)
        return False
    return True


def _warn(said: str, console: Console) -> None:
    console.print(Text(said, style="yellow"), highlight=False, soft_wrap=True)


def _write(path: Path, text: str) -> None:
    try:
        write_output(path, text)
    except OSError as error:
        raise SimulationError(f"{path} cannot be written: {error.strerror}") from error


def notes_on(scenario: Scenario, options: Mapping[str, Any], compare: bool) -> Iterator[str]:
    """Notes: the options without an effect, and the machines that the times are of.

    Parameters
    ----------
    options : mapping of str
        The options of the command line.
    compare : bool
        True if the library alone is simulated, too.
    """
    if wish := scenario.strategy:
        if scenario.memory == "host":
            yield f"--strategy {wish} is for GPU memory. It has no effect on messages of host memory."
        elif wish in NEED_CUDA_AWARE and not is_cuda_aware(scenario.fit):
            yield (
                f"The MPI library of the profile is not CUDA-aware: TEMPI uses oneshot instead of {wish} "
                "(--strategy)."
            )
    if options.get("seed") and not options["sigma"]:
        yield "--seed has no effect without --noise."
    if not options["profile"]:
        return
    network = scenario.network
    own, other = _machine_of(scenario.fit), _machine_of_network(network)
    if own == other:
        return
    of_network = f"of the machine of the network {network.name} ({other})"
    has_block = scenario.memory == "gpu" and options.get("library_block_us") is None
    if compare and has_block:
        yield (
            f"The library's time for a block ({network.library_block_us:g} µs) is {of_network}. The other "
            f"times on a node are of the machine of the profile ({own}). The speed-up compares two machines."
        )
    else:
        yield (
            f"The links between nodes are {of_network}. The times on a node are of the machine of the "
            f"profile ({own})."
        )


def _machine_of_network(network: Network) -> str:
    try:
        return _machine_of(read_profile(network.profile))
    except SimulationError:
        return "unknown"


def _machine_of(fit: Fit) -> str:
    facts = fit.machine()
    return ", ".join(facts.get(key, "-") for key in ("gpu", "mpi"))


def facts_of(scenario: Scenario, profile: str) -> dict[str, str]:
    """Facts about a simulation, for its files."""
    machine = scenario.fit.machine()
    return {
        "command": shlex.join([Path(sys.executable).name, *sys.orig_argv[1:]]),
        "tempi": __version__,
        "network": f"{scenario.network.name}: {scenario.network.about}",
        "profile": f"{profile}: {', '.join(machine.get(key, '-') for key in ('host', 'gpu', 'mpi'))}",
        "simulated": "yes: no number here was measured",
    }
