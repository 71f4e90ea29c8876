"""The command line: ``python -m tempi run | info | check | explain | measure | simulate | lib | bench``."""

from __future__ import annotations

import click

from tempi._library import lib_path
from tempi._version import __version__
from tempi.check.command import main as check_command
from tempi.commands.bench import main as bench_command
from tempi.commands.explain import main as explain_command
from tempi.commands.run import main as run_command
from tempi.measure.command import main as measure_command
from tempi.run.shims import ABIS, proxy_path
from tempi.simulate.command import main as simulate_command


@click.group()
@click.version_option(__version__, prog_name="tempi")
def main() -> None:
    """Make MPI derived datatypes fast.

    Example: tempi run -- mpirun -n 4 ./program
    """


@main.command("lib")
@click.option(
    "--abi",
    type=click.Choice(ABIS),
    help="Print the path of the shim for this ABI. Default: the library that works with any MPI library.",
)
@click.option(
    "--proxy",
    is_flag=True,
    help="Print the path of libtempi_mpi.so. MPI.jl, numba-mpi, cffi and ctypes open it in place of the MPI "
    "library. Without --abi, this library has the ABI of the installed shim. If several shims are installed, "
    "it has the ABI of mpi4py.",
)
def lib_command(abi: str | None, proxy: bool) -> None:
    """Print the path of libtempi.so, for LD_PRELOAD."""
    try:
        click.echo(proxy_path(abi) if proxy else lib_path(abi))
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error


@main.command("info")
@click.option("--all", "with_all", is_flag=True, help="Also show the options for tests.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def info_command(with_all: bool, as_json: bool) -> None:
    """Show the build, the MPI library, the GPUs and the options.

    The command also shows the profile from which TEMPI predicts times on this machine.
    """
    from tempi.info import print_info

    try:
        print_info(with_all, as_json)
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error


main.add_command(check_command, "check")
main.add_command(explain_command, "explain")
main.add_command(measure_command, "measure")
main.add_command(run_command, "run")
main.add_command(simulate_command, "simulate")
main.add_command(bench_command, "bench")

if __name__ == "__main__":
    main(prog_name="python -m tempi")
