"""How right and how fast ``tempi simulate`` is.

python -m bench.simulate paper | h200 | size | summit
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from bench.common.commands import CONSOLE, RESULTS
from bench.common.tables import machine_facts, number, write_csv
from bench.simulate import h200, paper, size, summit
from tempi.simulate.network import package_file

FIGURE = Path(__file__).resolve().parents[2] / "docs" / "figures" / "simulation-summit.png"


@click.group()
def main() -> None:
    """How right and how fast tempi simulate is."""


@main.command("paper")
@click.option("--plot", type=click.Path(path_type=Path), default=FIGURE, show_default=True)
def paper_command(plot: Path) -> None:
    """The paper's exchange on Summit, beside its published speed-ups."""
    found = list(paper.rows())
    table = Table(title="speed-up of the paper's exchange, simulated and published")
    for name in ("ranks", "variant", "library (ms)", "TEMPI (ms)", "speed-up", "published"):
        table.add_column(name, justify="right")
    for row in found:
        times = (number(row.library_us / 1e3), number(row.tempi_us / 1e3), number(row.speedup))
        table.add_row(str(row.ranks), row.variant, *times, number(row.published))
    CONSOLE.print(table)
    paper.write(found, RESULTS / "summit" / "simulated.csv", _facts())
    paper.draw(found, plot)


@main.command("h200")
def h200_command() -> None:
    """Halo exchanges on one node of H200: simulated beside measured."""
    found = h200.compare()
    write_csv(RESULTS / "h200" / "simulated.csv", [vars(row) for row in found], _facts())


@main.command("size")
@click.option("--nodes", type=click.Choice([str(n) for n in size.BARS]), multiple=True, default=["512"])
def size_command(nodes: tuple[str, ...]) -> None:
    """Seconds and memory of a simulation; one number of nodes a run tells its memory."""
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
