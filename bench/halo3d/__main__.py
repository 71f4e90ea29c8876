"""The time of a 3-D halo exchange: TEMPI, the MPI library alone, and code that is written by hand.

    python -m bench.halo3d                                  # 256³ points a rank, 8 doubles each, radius 3
    python -m bench.halo3d --ranks 1,2,4,8 --size 256:3:8 --size 32:1:1
    python -m bench.halo3d --bars

Every rank has 26 neighbours in a periodic grid. The ways take turns in several rounds, and after each way
every cell is checked. The ranks use the MPI of this Python's mpi4py: a run for each MPI library.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import monotonic

import click

from bench.common.commands import CONSOLE, RESULTS, is_open_mpi
from bench.common.figures import draw_halos
from bench.common.tables import machine_facts, write_csv
from bench.halo3d.grid import Size
from bench.halo3d.jobs import GROUPS, WAYS, Outcomes, Plan, Setup, measure
from bench.halo3d.report import checks_of, rows_of, show, show_checks
from tempi.cuda.gpus import gpus
from tempi.run.launchers import find_mpirun
from tempi.run.shims import any_shim

DEFAULT_SIZES = ("256:3:8", "32:1:1")
BAR_SIZES = {"gpu": ("256:3:8",), "host": ("32:1:1", "32:3:8", "64:3:8", "128:3:8")}


def parse_size(text: str) -> Size:
    """A size, or a message for the command line."""
    try:
        return Size.parse(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: {error}", param_hint="--size") from error


def parse_ranks(text: str) -> list[int]:
    """Numbers of ranks, or a message for the command line."""
    words = text.split(",")
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise click.BadParameter(f"{text!r}: numbers of ranks, such as 1,2,4", param_hint="--ranks")
    return [int(word) for word in words]


def parse_ways(text: str, memory: str) -> list[str]:
    """Names of ways that there are for this memory, or a message for the command line."""
    known = [way for group in GROUPS[memory] for way in group]
    if unknown := [way for way in text.split(",") if way not in known]:
        message = f"{', '.join(unknown)}: for {memory} memory there are {', '.join(known)}"
        raise click.BadParameter(message, param_hint="--ways")
    return text.split(",")


def setups_of(ranks: str | None, memory: str, n_gpus: int, bars: bool) -> list[Setup]:
    """The numbers of ranks and GPUs: for the bars one and two ranks a GPU, on 1, 2 and 4 of them."""
    if memory == "host":
        return [Setup(n) for n in parse_ranks(ranks or "1,2")]
    if bars and ranks is None:
        return [Setup(a_gpu * n, n) for n in (1, 2, 4) if n <= n_gpus for a_gpu in (1, 2)]
    return [Setup(n, min(n, n_gpus)) for n in parse_ranks(ranks or "1,2")]


def memory_and_gpus(memory: str, wanted: int | None) -> tuple[str, int]:
    """The memory of the data, and the number of GPUs."""
    found = len(gpus())
    memory = memory if memory != "auto" else "gpu" if found else "host"
    if memory == "gpu" and found < (wanted or 1):
        raise click.UsageError(f"{wanted or 1} GPUs are wanted, {found} found: try --memory host")
    return memory, (wanted or found) if memory == "gpu" else 0


def report(outcomes: Outcomes, plan: Plan, judged: bool, out: Path) -> bool:
    """Print tables and write files; True if all data were right."""
    rows = rows_of(outcomes)
    show(rows)
    if checks := checks_of(rows, plan.memory) if judged else []:
        show_checks(checks)
    facts = machine_facts(plan.mpirun, any_shim())
    stem = out / f"halo3d-{plan.memory}-{'openmpi' if is_open_mpi(plan.mpirun) else 'mpich'}"
    write_csv(stem.with_suffix(".csv"), rows, facts)
    place = facts["gpu"] if plan.memory == "gpu" else facts["cpu"]
    title = f"3-D halo exchange, {rows[0]['mpi']}"
    draw_halos(rows, stem.with_suffix(".png"), title, f"{stem.name}.csv, {place}")
    CONSOLE.print(f"written: {stem}.csv and .png", highlight=False)
    return not any(row["wrong_cells"] for row in rows)


@click.command(help=(__doc__ or "").split("\n\n")[0])
@click.option(
    "--memory", type=click.Choice(["auto", "gpu", "host"]), default="auto", help="Memory of the data."
)
@click.option("--ranks", help="Numbers of ranks, e.g. 1,2,4,8.  [default: 1,2]")
@click.option(
    "--gpus",
    "n_gpus",
    type=click.IntRange(1),
    help="Number of GPUs.  [default: all, at most one for each rank]",
)
@click.option(
    "--size",
    "sizes",
    multiple=True,
    metavar="EDGE[:RADIUS[:QUANTITIES]]",
    help=f"Points, radius, arrays; can be given several times.  [default: {' and '.join(DEFAULT_SIZES)}]",
)
@click.option("--ways", help=f"Ways to measure, separated by commas: {','.join(WAYS)}.  [default: all]")
@click.option(
    "--bars",
    is_flag=True,
    help="Use fixed numbers of ranks and sizes, and compare the times with limits.",
)
@click.option(
    "--rounds", type=click.IntRange(1), default=3, show_default=True, help="How often each way runs."
)
@click.option("--seconds", default=0.5, show_default=True, help="Time for one way in one round, in seconds.")
@click.option(
    "--limit", "limit_s", default=60.0, show_default=True, help="Time limit of one way, in seconds."
)
@click.option(
    "--thread-level",
    type=click.Choice(["single", "funneled", "serialized", "multiple"]),
    default="multiple",
    show_default=True,
    help="Thread level that the ranks request. Most C programs request single, mpi4py requests multiple.",
)
@click.option("--mpirun", help="Path of mpirun.  [default: in the folder of this Python, else in PATH]")
@click.option(
    "--launcher-args", default="", help="More options for mpirun, e.g. '--mca pml ucx -x LD_LIBRARY_PATH'."
)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="Folder for CSV and figure.")
def main(
    memory: str,
    ranks: str | None,
    n_gpus: int | None,
    sizes: Sequence[str],
    ways: str | None,
    bars: bool,
    rounds: int,
    seconds: float,
    limit_s: float,
    thread_level: str,
    mpirun: str | None,
    launcher_args: str,
    out: Path,
) -> None:
    start = monotonic()
    memory, found = memory_and_gpus(memory, n_gpus)
    chosen = parse_ways(ways, memory) if ways else WAYS
    wanted = [parse_size(text) for text in sizes or (BAR_SIZES[memory] if bars else DEFAULT_SIZES)]
    setups = setups_of(ranks, memory, found, bars)
    plan = Plan(mpirun or find_mpirun(), launcher_args, memory, seconds, limit_s, thread_level)
    with CONSOLE.status("the ranks are at work"):
        outcomes = measure(plan, setups, wanted, chosen, rounds, partial(CONSOLE.print, highlight=False))
    for failure in plan.failures:
        CONSOLE.print(failure, style="dim", markup=False, highlight=False)
    if not any(outcome.samples for outcome in outcomes.values()):
        raise click.ClickException("no way could be measured: see above")
    CONSOLE.print(f"measured in {monotonic() - start:.0f} s", highlight=False)
    if not report(outcomes, plan, bars, out):
        raise click.ClickException("some cells differ from their owners: see the tables")


if __name__ == "__main__":
    main(prog_name="python -m bench.halo3d")
