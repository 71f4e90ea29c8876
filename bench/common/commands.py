"""Commands of the benchmarks: the launchers, the environment of every child, the console."""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from rich.console import Console

from tempi.cuda.gpus import gpus
from tempi.run.environment import without_preload

BENCH = Path(__file__).resolve().parents[1]
RESULTS = BENCH / "results"
# Width of tables in a file or a pipe, which has no width of its own.
CONSOLE = Console(soft_wrap=True, width=None if sys.stdout.isatty() else 200)
# Below tables with such words.
VERDICTS = "bar: a limit that TEMPI is to keep. PASS: the measured value keeps it. FAIL: it does not."
RUN_SECONDS = 300.0  # of a program that hangs
# Allows every library a root user, few cores and C++ behind mpicc.
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_CC": "g++",
    "MPICH_CC": "g++",
}


def environment(extra: Mapping[str, str] = {}) -> dict[str, str]:
    """The environment of every child: `LD_PRELOAD` never leaks into a side that is not meant to have it."""
    return {**without_preload(), **MPI_ENVIRONMENT, **extra}


def output_of(command: Sequence[str]) -> str:
    """The output of a command, or '' if it cannot run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment())
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def rows_printed(command: Sequence[str]) -> str:
    """The output of a benchmark's program.

    Raises
    ------
    click.ClickException
        If it fails.
    """
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=RUN_SECONDS)
    if done.returncode != 0:
        raise click.ClickException(
            f"{shlex.join(command)} ended with {done.returncode}\n{done.stderr[-4000:]}"
        )
    return done.stdout


def is_open_mpi(mpirun: str) -> bool:
    """True if the launcher is Open MPI's."""
    return "Open MPI" in output_of([mpirun, "--version"])


def launch_command(mpirun: str, ranks: int, arguments: Sequence[str] = ()) -> list[str]:
    """The launcher and its own options."""
    return [mpirun, *(["--oversubscribe"] if is_open_mpi(mpirun) else []), *arguments, "-n", str(ranks)]


def preloaded(lib: Path) -> list[str]:
    """Start a program with the shim, without starting the launcher with it."""
    return ["env", f"LD_PRELOAD={lib.resolve()}"]


def need_cupy(n_gpus: int = 1) -> None:
    """Check what a benchmark of GPU memory in Python needs.

    Raises
    ------
    click.ClickException
        If this machine has fewer GPUs, or if CuPy is not installed.
    """
    if not gpus():
        raise click.ClickException("this benchmark needs a GPU; this machine has none")
    if n_gpus > len(gpus()):
        raise click.ClickException(f"{n_gpus} ranks need as many GPUs; this machine has {len(gpus())}")
    if importlib.util.find_spec("cupy") is None:
        raise click.ClickException("this benchmark needs CuPy: pip install cupy-cuda12x")
