"""A halo exchange on several hosts, with ranks as launched and with TEMPI_PLACEMENT.

python -m bench.placement

The halos have different sizes in different directions. The hosts are Linux namespaces on this machine,
connected by a bridge (`tests/nodes/hosts.py`; needs root). A bridge is as fast as memory, so --mbit limits
what each host sends. The launcher places the ranks cyclically or in blocks. Each
round runs each of these two placements with each way to reorder the ranks.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import click
from rich.progress import track
from rich.table import Table

from bench.common.commands import BENCH, CONSOLE, RESULTS
from bench.common.hosts import limited_hosts, nodes_module
from bench.common.tables import machine_facts, write_csv
from tempi.run.shims import any_shim

RANK = BENCH / "placement" / "rank.py"
LAUNCHED = {"in turn": True, "in blocks": False}
# A host does not know that others share its cores.
YIELDING = ["OMPI_MCA_mpi_yield_when_idle=1"]
# The option, and the communicator of the exchange.
SETTINGS = {
    "as launched": ("0", "launched"),
    "library's reorder": ("0", "graph"),
    "TEMPI_PLACEMENT, graph": ("1", "graph"),
    "TEMPI_PLACEMENT, grid": ("1", "grid"),
}


def run(command: list[str], setting: str, arguments: list[str]) -> dict[str, Any]:
    """The row that rank 0 prints."""
    placement, how = SETTINGS[setting]
    variables = [f"TEMPI_PLACEMENT={placement}", f"LD_PRELOAD={any_shim()}", *YIELDING]
    program = [sys.executable, str(RANK), "--how", how, *arguments]
    words = [*command, "env", *variables, *program]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise click.ClickException(f"{setting} ended with {done.returncode}\n{done.stderr[-4000:]}")
    return dict(json.loads(lines[-1]))


def joined(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """One row for all rounds: the median of their medians."""
    times = [row["us"] for row in rows]
    spread = f"{min(times):.0f}-{max(times):.0f}"
    return {"dims": rows[0]["dims"], "bytes_between_hosts": rows[0]["bytes"], "us": statistics.median(times),
            "rounds_us": spread, "exchanges": sum(row["n"] for row in rows)}  # fmt: skip


@click.command(help=__doc__)
@click.option("--hosts", "n_hosts", default=4, show_default=True)
@click.option("--ranks-per-host", default=2, show_default=True)
@click.option(
    "--size", type=int, nargs=3, default=(512, 64, 16), show_default=True, help="Cells of a rank: z y x."
)
@click.option("--mbit", default=400, show_default=True, help="most Mbit/s that each host sends; 0: no limit.")
@click.option("--width", default=2, show_default=True)
@click.option(
    "--seconds", default=2.0, show_default=True, help="Time for one setting in one round, in seconds."
)
@click.option("--rounds", default=5, show_default=True)
@click.option("--out", type=Path, default=RESULTS / "latest", help="folder for placement.csv")
def main(
    n_hosts: int,
    ranks_per_host: int,
    size: tuple[int, ...],
    mbit: int,
    width: int,
    seconds: float,
    rounds: int,
    out: Path,
) -> None:
    cluster = nodes_module("cluster")
    arguments = ["--size", *map(str, size), "--width", str(width), "--seconds", str(seconds)]
    found: dict[tuple[str, str], list[dict[str, Any]]] = {key: [] for key in product(LAUNCHED, SETTINGS)}
    with limited_hosts(n_hosts, mbit) as hosts:
        for _, (launched, setting) in track(list(product(range(rounds), found)), console=CONSOLE):
            command = cluster.launcher(hosts, [ranks_per_host] * n_hosts, LAUNCHED[launched])
            number = ["-n", str(n_hosts * ranks_per_host)]
            found[launched, setting].append(run([*command, *number], setting, arguments))
    rows = [
        {"launched": one, "ranks": setting, "mbit_per_host": mbit, **joined(each)}
        for (one, setting), each in found.items()
    ]
    write_csv(out / "placement.csv", rows, machine_facts("mpirun", any_shim()))
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*(f"{value:.0f}" if isinstance(value, float) else str(value) for value in row.values()))
    CONSOLE.print(table)


if __name__ == "__main__":
    main(prog_name="python -m bench.placement")
