"""The command line: ``python -m tempi info | explain | lib``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tempi._library import lib_path
from tempi._version import __version__
from tempi.explanation import ExplainError, explain

if TYPE_CHECKING:
    from mpi4py import MPI


@click.group()
@click.version_option(__version__, prog_name="tempi")
def main() -> None:
    """Make MPI derived datatypes fast: LD_PRELOAD=$(tempi lib) mpirun ./program"""


@main.command("lib")
def lib_command() -> None:
    """Print the path of libtempi.so, for LD_PRELOAD."""
    click.echo(lib_path())


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
@click.option("--count", default=1, show_default=True, type=click.IntRange(min=0), help="Elements.")
def explain_command(expression: str, count: int) -> None:
    """Show how the datatype that EXPRESSION gives is handled.

    EXPRESSION is Python, in which MPI is mpi4py's: 'MPI.DOUBLE.Create_vector(16, 4, 8)'.
    """
    datatype = evaluate(expression)
    try:
        explain(datatype, count).print()
    except (ExplainError, RuntimeError) as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main(prog_name="python -m tempi")
