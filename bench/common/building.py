"""The binaries of the benchmarks: compiled on this machine when their sources have changed."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench.common.commands import BENCH, CONSOLE, environment

SUFFIXES = (".cpp", ".cu", ".cuh", ".hpp", ".def")


def compile_binary(command: Sequence[str], source: str, target: Path, flags: Sequence[str] = ()) -> Path:
    """Compile ``bench/<source>`` unless the result is newer than every file that may go into it."""
    inputs = [path for path in BENCH.rglob("*") if path.suffix in SUFFIXES]
    if target.exists() and target.stat().st_mtime > max(path.stat().st_mtime for path in inputs):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with CONSOLE.status(f"compiling {source} with {command[0]}"):
        full = [*command, "-std=c++20", f"-I{BENCH}", "-o", str(target), str(BENCH / source), *flags]
        done = subprocess.run(full, capture_output=True, text=True, env=environment())
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(full)}\n{done.stderr}")
    return target


def compile_mpi(source: str, target: Path, mpicc: str) -> Path:
    """Compile an MPI program written in C++ with any library's ``mpicc``, without its old C++ bindings."""
    no_bindings = ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    return compile_binary([mpicc], source, target, ["-O2", *no_bindings, "-ldl"])
