"""Simulated beside measured: halo exchanges of host memory on hosts of namespaces, with slow links.

The profile is measured on the same hosts, by three ranks on two of them. The bandwidth of a link is the
profile's for long messages between hosts; no number is fitted to the exchanges.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click
from rich.progress import track
from rich.table import Table

from bench.common.commands import BENCH, CONSOLE, environment
from bench.common.hosts import limited_hosts, nodes_module
from bench.common.tables import read_csv
from tempi import _native
from tempi.run.launchers import find_mpirun
from tempi.simulate.network import CROSSBAR, GIGA, MICRO, Network
from tempi.simulate.profiles import read_profile
from tempi.simulate.scenario import Problem, Scenario

# The simulator's way, and whether TEMPI takes part.
WAYS = {"library": ("isend", False), "shim-isend": ("isend", True), "halo": ("halo", True)}
LONG_BYTES = 4 << 20
CHUNK_BYTES = 128 << 10  # flows of TCP take turns
COMMAND_SECONDS = 900.0  # beyond those asked for


@dataclass(frozen=True)
class Row:
    """An exchange; `measured_us` is the median of the slowest ranks' times."""

    hosts: int
    ranks_per_host: int
    size: str
    way: str
    mbit: int
    measured_us: float
    simulated_us: float
    ratio: float


def on_first(hosts: Any, command: Sequence[str], seconds: float = 0.0) -> None:
    """Run a command of this package on the first host; click.ClickException with its words if it fails."""
    here = ["env", "--chdir", str(BENCH.parent)]
    words = [*nodes_module("cluster").on_first(hosts), *here, *command]
    done = subprocess.run(
        words, capture_output=True, text=True, env=environment(), timeout=seconds + COMMAND_SECONDS
    )
    if done.returncode:
        raise click.ClickException(f"{shlex.join(words)} ended with {done.returncode}\n{done.stderr[-4000:]}")


def placed(hosts: Any, per_host: Sequence[int]) -> list[str]:
    """Options of the launcher. A host does not know that others share its cores: waiting ranks yield them."""
    options = nodes_module("cluster").placement(hosts, per_host, cyclic=False)
    return [*options, *(["--mca", "mpi_yield_when_idle", "1"] if nodes_module("cluster").IS_OPEN_MPI else [])]


def profile_of(hosts: Any, seconds: float) -> str:
    """The text of a profile with messages on a host and between two."""
    ranks = shlex.join([find_mpirun(), *placed(hosts, [2, 1]), "-n", "3"])
    folder = hosts.folder / "profile"
    words = ["measure", "--ranks-command", ranks, "--seconds", str(seconds), "--output", str(folder)]
    on_first(hosts, [sys.executable, "-m", "tempi", *words], seconds)
    (found,) = (each.read_text() for each in folder.glob("*.json"))
    return str(found)


def measured(
    hosts: Any, per_host: int, sizes: Sequence[str], seconds: float
) -> Iterator[tuple[str, str, float]]:
    """Size, way and time of each exchange."""
    n, folder = len(hosts.names), hosts.folder / "halo"
    arguments = shlex.join(placed(hosts, [per_host] * n))
    told = {
        "memory": "host",
        "ranks": n * per_host,
        "ways": ",".join(WAYS),
        "seconds": seconds,
        "out": folder,
    }
    options = [word for name, value in told.items() for word in (f"--{name}", str(value))]
    of_sizes = [word for size in sizes for word in ("--size", size)]
    program = [sys.executable, "-m", "bench.halo3d", "--launcher-args", arguments, *options, *of_sizes]
    on_first(hosts, program)
    (found,) = folder.glob("*.csv")
    for row in read_csv(found):
        size = ":".join(row[name] for name in ("edge", "radius", "quantities"))
        yield size, row["way"], float(row["median_us"])


def network_of(fit: _native.Fit, per_host: int) -> Network:
    """The hosts, whose links are as fast as long messages between them."""
    term = "message.host.other_node"
    empty, half, whole = (fit.seconds(term, n) for n in (0, LONG_BYTES // 2, LONG_BYTES))
    if empty is None or half is None or whole is None:
        raise click.ClickException("no messages between hosts were measured: give --profile-seconds")
    bandwidth = LONG_BYTES / 2 / (whole - half) / GIGA
    return Network(
        "hosts", "namespaces", per_host, 1, 1, bandwidth, empty / MICRO, {"kind": CROSSBAR}, profile=""
    )


def simulated_us(fit: _native.Fit, n: int, per_host: int, size: str, way: str) -> float:
    """The time that the simulator gives."""
    edge, radius, quantities = map(int, size.split(":"))
    name, with_tempi = WAYS[way]
    halo = Problem((edge,) * 3, True, radius, quantities).on(n * per_host)
    scenario = Scenario(network_of(fit, per_host), fit, name, "host", chunk_bytes=CHUNK_BYTES)
    return scenario.of_halo(halo, with_tempi).seconds / MICRO


def measure_profile(path: Path, mbit: int, seconds: float) -> None:
    """Write a profile of such hosts."""
    with limited_hosts(2, mbit) as hosts:
        text = profile_of(hosts, seconds)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def rows(
    layouts: Sequence[tuple[int, int]], sizes: Sequence[str], mbit: int, seconds: float, profile: Path
) -> list[Row]:
    """All exchanges, simulated from this profile."""
    fit = read_profile(str(profile))
    found = []
    for n, per_host in track(list(layouts), "measuring", console=CONSOLE, transient=True):
        with limited_hosts(n, mbit) as hosts:
            for size, way, us in measured(hosts, per_host, sizes, seconds):
                guess = simulated_us(fit, n, per_host, size, way)
                found.append(Row(n, per_host, size, way, mbit, us, guess, guess / us))
    return found


def show(found: Sequence[Row]) -> None:
    """Print the table, and the median error."""
    table = Table("hosts", "ranks a host", "size", "way", "measured (ms)", "simulated (ms)", "ratio")
    for row in found:
        times = (f"{us / 1e3:.4g}" for us in (row.measured_us, row.simulated_us))
        table.add_row(str(row.hosts), str(row.ranks_per_host), row.size, row.way, *times, f"{row.ratio:.2f}")
    CONSOLE.print(table)
    for between, words in ((False, "on one host"), (True, "on several")):
        errors = [abs(row.ratio - 1) for row in found if (row.hosts > 1) == between]
        if errors:
            CONSOLE.print(f"{words}: median error of {len(errors)}: {median(errors):.0%}")
