"""``tempi run``: any command with the shim preloaded into its ranks."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from errno import EACCES, EISDIR
from pathlib import Path
from typing import NoReturn

import click

from tempi import _native
from tempi._library import options
from tempi._words import did_you_mean
from tempi.run.launchers import find_program
from tempi.run.shims import ABIS
from tempi.run.with_shim import with_shim

NOT_FOUND, CANNOT_RUN = 127, 126  # as shells say it


def settings_of(words: Sequence[str]) -> dict[str, str]:
    """Options from ``NAME=VALUE`` or, for flags, ``NAME``; upper or lower case, with or without TEMPI_.

    Raises
    ------
    click.BadParameter
        If there is no such option, or it does not take the value.
    """
    known = [option.name.lower() for option in options()]
    settings = {}
    for word in words:
        name, equals, value = word.partition("=")
        given = name.upper().removeprefix("TEMPI_")
        key = _native.current_name(given)
        if key != given:
            click.echo(f"tempi run: TEMPI_{given} is now TEMPI_{key}", err=True)
        if not name:
            raise click.BadParameter(f"{word!r} has no name of an option (tempi info lists all options)")
        if key.lower() not in known:
            hint = did_you_mean(key, known)
            raise click.BadParameter(f"there is no option {name}{hint} (tempi info lists all options)")
        if not equals and not _is_flag(key):
            why = _native.refused_value(key, "?") or "it takes a text"
            raise click.BadParameter(f"{name} needs a value (-o {name}=VALUE): {why}")
        settings[key] = value if equals else "1"
        if why := _native.refused_value(key, settings[key]):
            raise click.BadParameter(f"{word}: {why}{did_you_mean(value, _choices(why))}")
    return settings


def _is_flag(key: str) -> bool:
    """True for an option that is 0 or 1. A number does not take the word true, a text has another default."""
    default = next(option.default for option in options() if option.name == key)
    return default in ("0", "1") and not _native.refused_value(key, "true")


def _choices(why: str) -> list[str]:
    """The values in the reason of a refusal, such as "it takes one of off, error, info"."""
    return why.partition(" one of ")[2].split(", ")


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("-o", "--option", "words", multiple=True, metavar="NAME[=VALUE]",
              help="Set the option TEMPI_NAME. Examples: -o strategy=oneshot, -o report. "
                   "The command 'tempi info' lists the options.")  # fmt: skip
@click.option(
    "--ucx",
    is_flag=True,
    help="Make Open MPI CUDA-aware, with the UCX of the package libucx (pip install '.[ucx]').",
)
@click.option(
    "--abi", type=click.Choice(ABIS), help="ABI of the MPI library. Default: each process detects it."
)
@click.option("--dry-run", is_flag=True, help="Print the command instead of running it.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def main(words: tuple[str, ...], ucx: bool, abi: str | None, dry_run: bool, command: tuple[str, ...]) -> None:
    """Run a command with TEMPI in its ranks.

    Example: tempi run -- mpirun -n 4 ./program

    COMMAND can begin with a launcher: srun, or mpirun of Open MPI, MPICH or Intel MPI. TEMPI is then loaded
    in the ranks. Otherwise, TEMPI is loaded in the program of COMMAND. The exit code is the exit code of
    COMMAND.
    """
    program = find_program(command[0])
    if program is None and "/" in command[0] and Path(command[0]).exists():
        _give_up(command[0], os.strerror(EISDIR if Path(command[0]).is_dir() else EACCES), CANNOT_RUN)
    if program is None:
        _give_up(command[0], "no such program", NOT_FOUND)
    try:
        ranks = with_shim([program, *command[1:]], settings_of(words), abi=abi, ucx=ucx)
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error
    if dry_run:
        variables = [f"{name}={shlex.quote(value)}" for name, value in ranks.variables.items()]
        click.echo(" ".join([*variables, shlex.join(ranks.command)]))
        return
    sys.stdout.flush()
    try:
        os.execve(program, ranks.command, ranks.environment())
    except OSError as error:  # a script whose first line names no program, or none at all
        _give_up(command[0], str(error.strerror), CANNOT_RUN)


def _give_up(program: str, why: str, code: int) -> NoReturn:
    click.echo(f"tempi run: {program}: {why}", err=True)
    sys.exit(code)
