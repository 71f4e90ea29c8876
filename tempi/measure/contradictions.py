"""Options of a command line that contradict each other, so that one of them has no effect."""

from __future__ import annotations

from pathlib import Path

import click

from tempi.run.environment import is_inside_job


def check_start(
    hosts: str | None, mpirun: str | None, ranks_command: str | None, n: int | None = None
) -> None:
    """UsageError if the command of the ranks is empty, or makes other options have no effect."""
    if ranks_command is None:
        return
    if not ranks_command.strip():
        raise click.UsageError("--ranks-command is empty: give the command that starts the ranks")
    given = [
        name for name, value in (("--hosts", hosts), ("--mpirun", mpirun), ("-n", n)) if value is not None
    ]
    if given:
        raise click.UsageError(f"--ranks-command is the whole start of the ranks: leave {given[0]} out")


def check_used(
    hosts: str | None, mpirun: str | None, ranks_command: str | None, source: Path | None, is_other: bool
) -> None:
    """UsageError if an option of a measurement has no effect."""
    has_start = not (hosts is None and mpirun is None and ranks_command is None)
    if source is not None and (has_start or is_other):
        raise click.UsageError("--from measures nothing: leave the options of the measurement out")
    if has_start and is_inside_job():
        raise click.UsageError(
            "this process is a rank of a job, which the measurement uses: leave --hosts, --mpirun and "
            "--ranks-command out"
        )
