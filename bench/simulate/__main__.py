"""How exact and how fast ``tempi simulate`` is.

python -m bench.simulate paper | figure | h200 | hosts | size | summit
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from bench.common.commands import CONSOLE, RESULTS
from bench.common.tables import machine_facts, number, read_numbers, write_csv
from bench.simulate import h200, hosts, paper, size, summit
from tempi.run.launchers import find_mpirun
from tempi.run.shims import any_shim
from tempi.simulate.network import package_file

DATA = RESULTS / "summit" / "simulated.csv"
FIGURE = Path(__file__).resolve().parents[2] / "docs" / "figures" / "simulation-summit.png"


@click.group()
def main() -> None:
    """Measure how exact and how fast tempi simulate is."""


@main.command("paper")
@click.option("--plot", type=click.Path(path_type=Path), default=FIGURE, show_default=True)
def paper_command(plot: Path) -> None:
    """Compare the simulated exchange of the paper with the published speed-ups."""
    found = list(paper.rows())
    table = Table(title="speed-up of the paper's exchange, simulated and published")
    for name in ("ranks", "variant", "library (ms)", "TEMPI (ms)", "speed-up", "published"):
        table.add_column(name, justify="right")
    for row in found:
        times = (number(row.library_us / 1e3), number(row.tempi_us / 1e3), number(row.speedup))
        table.add_row(str(row.ranks), row.variant, *times, number(row.published))
    CONSOLE.print(table)
    paper.write(found, DATA, _facts())
    paper.draw(found, plot)


@main.command("figure")
@click.option("--plot", type=click.Path(path_type=Path), default=FIGURE, show_default=True)
def figure_command(plot: Path) -> None:
    """Draw the figure of the data file that `paper` writes."""
    paper.draw([paper.Row(**row) for row in read_numbers(DATA)], plot)


@main.command("h200")
def h200_command() -> None:
    """Compare simulated and measured halo exchanges on one node with H200s."""
    found = h200.compare()
    write_csv(RESULTS / "h200" / "simulated.csv", [vars(row) for row in found], _facts())


@main.command("hosts")
@click.option(
    "--hosts",
    "layouts",
    multiple=True,
    default=["1x1", "1x2", "2x1", "2x2", "3x1", "4x1"],
    show_default=True,
    help="hosts x ranks of each host",
)
@click.option(
    "--size",
    "sizes",
    multiple=True,
    default=["32:1:1", "64:3:1", "64:3:8"],
    show_default=True,
    help="edge:radius:quantities of a rank's cube",
)
@click.option("--mbit", default=200, show_default=True, help="most Mbit/s that each host sends; 0: no limit")
@click.option(
    "--seconds", default=1.0, show_default=True, help="time for each way in one of three rounds, in seconds"
)
@click.option(
    "--profile-seconds", default=300.0, show_default=True, help="time to measure the profile, in seconds"
)
@click.option(
    "--profile", type=click.Path(path_type=Path), help="use this profile of such hosts instead of a new one"
)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS / "latest", help="folder of the CSV")
def hosts_command(
    layouts: tuple[str, ...],
    sizes: tuple[str, ...],
    mbit: int,
    seconds: float,
    profile_seconds: float,
    profile: Path | None,
    out: Path,
) -> None:
    """Compare simulated and measured halo exchanges in host memory on Linux namespaces (needs root)."""
    numbers = [text.split("x") for text in layouts]
    if not all(len(words) == 2 and all(word.isdecimal() for word in words) for words in numbers):
        raise click.UsageError("--hosts: hosts and ranks of each, such as 2x1")
    pairs = [(int(n), int(per_host)) for n, per_host in numbers]
    if profile is None:
        profile = out / "profile-hosts.json"
        hosts.measure_profile(profile, mbit, profile_seconds)
    found = hosts.rows(pairs, sizes, mbit, seconds, profile)
    hosts.show(found)
    facts = {**_facts(), **machine_facts(find_mpirun(), any_shim())}
    write_csv(out / "simulated-hosts.csv", [vars(row) for row in found], facts)


@main.command("size")
@click.option("--nodes", type=click.Choice([str(n) for n in size.BARS]), multiple=True, default=["512"])
def size_command(nodes: tuple[str, ...]) -> None:
    """Measure run time and memory of a simulation. With several --nodes, the memory is the peak so far."""
    found = [size.measure(int(n)) for n in nodes]
    for row in found:
        CONSOLE.print(row)
        write_csv(RESULTS / "host" / f"simulate-{row.ranks}.csv", [vars(row)], _facts())


@main.command("summit")
def summit_command() -> None:
    """Fit Summit's profile again, and write it into the package."""
    summit.write_profile(package_file("summit.fit"))


def _facts() -> dict[str, str]:
    return {**machine_facts(), "simulated": "by tempi simulate; measured are columns that say so"}


if __name__ == "__main__":
    main(prog_name="python -m bench.simulate")
