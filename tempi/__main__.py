"""The command line: ``python -m tempi run | info | explain | measure | lib | bench``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tempi._library import lib_path
from tempi._version import __version__
from tempi.benchmarks import main as bench_command
from tempi.explanation import MOST_COUNT, ExplainError, explain
from tempi.gpus import gpus
from tempi.measure import main as measure_command
from tempi.model import LOCALITIES, PEERS
from tempi.prediction import count_for, print_prediction
from tempi.profile_check import ProfileError
from tempi.running import main as run_command
from tempi.shims import LIBRARIES

if TYPE_CHECKING:
    from mpi4py import MPI


@click.group()
@click.version_option(__version__, prog_name="tempi")
def main() -> None:
    """Make MPI derived datatypes fast: tempi run -- mpirun -n 4 ./program"""


@main.command("lib")
@click.option(
    "--abi", type=click.Choice(list(LIBRARIES)), help="Of the program's MPI; default: of the MPI found."
)
def lib_command(abi: str | None) -> None:
    """Print the path of libtempi.so, for LD_PRELOAD."""
    try:
        click.echo(lib_path(abi))
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error


@main.command("info")
def info_command() -> None:
    """How TEMPI was built, the MPI and the GPUs found, and every option."""
    from tempi.info import print_info

    try:
        print_info()
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error


def evaluate(expression: str) -> MPI.Datatype:
    """The datatype that a Python expression gives, e.g. ``MPI.DOUBLE.Create_vector(16, 4, 8)``."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise click.ClickException(f"mpi4py cannot be loaded: {error}") from error
    try:
        value = eval(expression, {"MPI": MPI})
    except Exception as error:
        raise click.BadParameter(f"{expression}: {type(error).__name__}: {error}") from error
    if not isinstance(value, MPI.Datatype):
        raise click.BadParameter(f"{expression} is a {type(value).__name__}, not an MPI datatype")
    return value


@main.command("explain")
@click.argument("expression")
@click.option("--count", default=1, show_default=True, type=click.IntRange(0, MOST_COUNT), help="Elements.")
@click.option("--bytes", "n_bytes", type=click.IntRange(1, MOST_COUNT), help="Payload, instead of --count.")
@click.option(
    "--peer", type=click.Choice([*LOCALITIES, *PEERS[:2]]), help="Predict a message's time to a peer there."
)
@click.option("--profile", type=click.Path(path_type=Path), help="From this one, not the one in use here.")
def explain_command(
    expression: str, count: int, n_bytes: int | None, peer: str | None, profile: Path | None
) -> None:
    """Show how the datatype that EXPRESSION gives is handled, and what a message of it would take.

    EXPRESSION is Python, in which MPI is mpi4py's: 'MPI.DOUBLE.Create_vector(16, 4, 8)'.
    """
    datatype = evaluate(expression)
    n_elements = count if n_bytes is None else count_for(datatype, n_bytes)
    gpus()  # begins to use CUDA, as the program would: launches are then shown as they are made on this GPU
    try:
        explain(datatype, n_elements).print()
        if peer or profile or n_bytes is not None:
            print_prediction(datatype, n_elements, peer or LOCALITIES[0], profile)
    except (ExplainError, ProfileError, RuntimeError) as error:
        raise click.ClickException(str(error)) from error


main.add_command(measure_command, "measure")
main.add_command(run_command, "run")
main.add_command(bench_command, "bench")

if __name__ == "__main__":
    main(prog_name="python -m tempi")
