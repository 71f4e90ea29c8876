"""The situations of interpose/contexts.c: programs that end their CUDA contexts."""

from __future__ import annotations

from pathlib import Path

from support import shim
from support.programs import mpirun, succeed

WAYS = ("created", "primary", "reset")
IN_A_JOB = ("after finalize", "before finalize", "before requests", "phases", "phases of one rank")
SEVERAL_GPUS = "several gpus"  # one GPU has no two primary contexts
THREADS = "threads"
# The process ends within a call of MPI, which a launcher takes for a failure.
ALONE = (
    "exit in handler",
    "exit in handler, ended",
    "exit in callback",
    "exit in callback, ended",
    "exit in finalize",
    "exit in finalize, ended",
    "finalized at exit",
    "finalized at exit, ended",
)
SECONDS = 60  # the program takes a few


def check_alone(program: Path, situation: str, way: str, **options: str) -> None:
    """It returns 0 and warns of nothing."""
    output = succeed([str(program), situation, way], shim.preloaded(TEMPI_NO_DIRECT="0", **options), SECONDS)
    assert output.out == "ok\n"
    assert "tempi" not in output.err


def check_in_a_job(program: Path, situation: str, way: str, ranks: int = 2, **options: str) -> None:
    environment = shim.preloaded(TEMPI_NO_DIRECT="0", **options)
    output = mpirun(ranks, program, environment, situation, way, timeout=SECONDS)
    assert sorted(output.out) == sorted("ok\n" * ranks)  # MPICH's launcher may mix the ranks' lines
    assert "tempi" not in output.err
