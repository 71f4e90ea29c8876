"""Commands of the benchmarks: the launchers, the environment of every child, the console."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

BENCH = Path(__file__).resolve().parents[1]
RESULTS = BENCH / "results"
# Width of tables in a file or a pipe, which has no width of its own.
CONSOLE = Console(soft_wrap=True, width=None if sys.stdout.isatty() else 200)
# Allows every library a root user, few cores and C++ behind mpicc.
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_CC": "g++",
    "MPICH_CC": "g++",
}


def environment(extra: Mapping[str, str] = {}) -> dict[str, str]:
    """The environment of every child: `LD_PRELOAD` never leaks into a side that is not meant to have it."""
    base = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    return {**base, **MPI_ENVIRONMENT, **extra}


def output_of(command: Sequence[str]) -> str:
    """The output of a command, or '' if it cannot run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment())
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def is_open_mpi(mpirun: str) -> bool:
    """True if the launcher is Open MPI's."""
    return "Open MPI" in output_of([mpirun, "--version"])


def launch_command(mpirun: str, ranks: int, arguments: Sequence[str] = ()) -> list[str]:
    """The launcher and its own options."""
    return [mpirun, *(["--oversubscribe"] if is_open_mpi(mpirun) else []), *arguments, "-n", str(ranks)]


def preloaded(lib: Path) -> list[str]:
    """Start a program with the shim, without starting the launcher with it."""
    return ["env", f"LD_PRELOAD={lib.resolve()}"]
