"""What the benchmarks share: building and running binaries, facts about the machine, CSV files."""

from __future__ import annotations

import csv
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from rich.console import Console

from bench.cases import Case, write_cases

HERE = Path(__file__).resolve().parent
# A file or a pipe has no width of its own: tables keep their columns there.
CONSOLE = Console(soft_wrap=True, width=None if sys.stdout.isatty() else 200)
# A root user, few cores and C++ behind mpicc, whichever library it is.
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_CC": "g++",
    "MPICH_CC": "g++",
}
GPU_QUERY = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]


@dataclass(frozen=True)
class Timing:
    """One row of a benchmark binary: microseconds; ``repeats`` 0 means predicted, not measured."""

    payload: int
    median_us: float
    min_us: float
    p90_us: float
    repeats: int
    correct: bool
    note: str


Timings = dict[tuple[str, str], Timing]


@dataclass(frozen=True)
class Side:
    """One contestant: a command that takes ``--cases FILE`` and prints rows."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


def environment(extra: Mapping[str, str] = {}) -> dict[str, str]:
    """The environment of every child: `LD_PRELOAD` never leaks into a side that is not meant to have it."""
    base = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    return {**base, **MPI_ENVIRONMENT, **extra}


def output_of(command: Sequence[str]) -> str:
    """What a command prints, or '' where it cannot run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment())
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def compile_binary(command: Sequence[str], source: str, target: Path, flags: Sequence[str] = ()) -> Path:
    """Compile ``bench/<source>`` unless the result is newer than every file that may go into it."""
    inputs = [path for path in HERE.iterdir() if path.suffix in (".cpp", ".cu", ".cuh", ".hpp", ".def")]
    if target.exists() and target.stat().st_mtime > max(path.stat().st_mtime for path in inputs):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with CONSOLE.status(f"compiling {source} with {command[0]}"):
        full = [*command, "-std=c++20", "-o", str(target), str(HERE / source), *flags]
        done = subprocess.run(full, capture_output=True, text=True, env=environment())
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(full)}\n{done.stderr}")
    return target


def compile_mpi(source: str, target: Path, mpicc: str) -> Path:
    """Compile an MPI program written in C++ with any library's ``mpicc``, without its old C++ bindings."""
    no_bindings = ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    return compile_binary([mpicc], source, target, ["-O2", *no_bindings, "-ldl"])


def is_open_mpi(mpirun: str) -> bool:
    """Whether the launcher is Open MPI's."""
    return "Open MPI" in output_of([mpirun, "--version"])


def launch_command(mpirun: str, ranks: int, arguments: Sequence[str] = ()) -> list[str]:
    """The launcher and its own options."""
    return [mpirun, *(["--oversubscribe"] if is_open_mpi(mpirun) else []), *arguments, "-n", str(ranks)]


def preloaded(lib: Path) -> list[str]:
    """Start a program with the shim, without starting the launcher with it."""
    return ["env", f"LD_PRELOAD={lib.resolve()}"]


def read_rows(text: str) -> Timings:
    """Rows of a benchmark binary; a last line cut short by a crash is dropped."""
    rows: Timings = {}
    for row in (line.split(",", 8) for line in text.splitlines()):
        if len(row) != 9 or row[0] == "case":
            continue
        median_us, min_us, p90_us = (float(value) for value in row[3:6])
        rows[row[0], row[1]] = Timing(
            int(row[2]), median_us, min_us, p90_us, int(row[6]), row[7] == "1", row[8]
        )
    return rows


def run_cases(
    side: Side, cases: Sequence[Case], folder: Path, timeout_s: float, max_crashes: int = 3
) -> Timings:
    """Run all the cases through one side, going on after a case that crashes it."""
    rows: Timings = {}
    left = list(cases)
    for _ in range(max_crashes + 1):
        found, problem = run_once(side, left, folder / f"{side.name}.cases", timeout_s)
        rows.update(found)
        last = max((i for i, case in enumerate(left) if (case.id, "unpack") in found), default=-1)
        if not problem:
            break
        culprit = left[last + 1].id if last + 1 < len(left) else "the end"
        CONSOLE.print(f"[red]{side.name} stopped at {culprit}: {problem}[/red]", highlight=False)
        left = left[last + 2 :]
        if not left or problem == "time limit":
            break
    return rows


def run_once(side: Side, cases: Sequence[Case], case_file: Path, timeout_s: float) -> tuple[Timings, str]:
    """Rows printed, and what went wrong ('' when nothing did)."""
    command = [*side.command, "--cases", str(write_cases(cases, case_file))]
    log = case_file.with_suffix(".log")
    problem = ""
    errors = log.with_suffix(".err")
    status = CONSOLE.status(f"{side.name}: {len(cases)} cases")
    with status, log.open("w") as out, errors.open("w") as err:
        try:
            done = subprocess.run(
                command, stdout=out, stderr=err, timeout=timeout_s, env=environment(side.environment)
            )
            if done.returncode != 0:
                problem = f"exit status {done.returncode}: {errors.read_text().strip()[-400:]}"
        except subprocess.TimeoutExpired:
            problem = "time limit"
    return read_rows(log.read_text()), problem


def better(old: Timing | None, new: Timing) -> Timing:
    """The faster of two; bytes that were wrong once stay wrong."""
    if old is None:
        return new
    fastest = min(old, new, key=lambda timing: timing.median_us)
    return replace(fastest, correct=old.correct and new.correct)


def machine_facts(mpirun: str = "", lib: Path | None = None) -> dict[str, str]:
    """Where and how a table was made: every CSV starts with these."""
    facts = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join([Path(sys.executable).name, *sys.orig_argv[1:]]),
        "cpu": cpu_name(),
        "kernel": platform.release(),
        "gpu": output_of(GPU_QUERY).split("\n")[0],
        "cuda": output_of(["nvcc", "--version"]).split("\n")[-1] if shutil.which("nvcc") else "",
        "commit": output_of(["git", "-C", str(HERE), "describe", "--always", "--dirty"]),
        "shim": f"{lib.name}, {lib.stat().st_size} bytes" if lib else "",
        "build": build_of(lib) if lib else "",
        "mpi": output_of([mpirun, "--version"]).split("\n")[0] if mpirun else "",
    }
    return {key: value or "none" for key, value in facts.items()}


def build_of(lib: Path) -> str:
    """How a libtempi.so was built; nothing where this Python has no tempi of its version to ask it."""
    try:
        from tempi._native import Library

        return ", ".join(Library(str(lib)).build_info().strip().splitlines())
    except (ImportError, RuntimeError):
        return ""


def cpu_name() -> str:
    """The processor's own name, where Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")


def write_csv(path: Path, rows: Sequence[Mapping[str, object]], facts: Mapping[str, str]) -> None:
    """A table with the facts about it as comment lines before the header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        file.writelines(f"# {key}: {value}\n" for key, value in facts.items())
        writer = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else [])
        writer.writeheader()
        writer.writerows({key: cell(value) for key, value in row.items()} for row in rows)


def cell(value: object) -> object:
    """Numbers with the digits that mean something; nothing where nothing was measured."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else value


def read_csv(path: Path) -> Iterable[dict[str, str]]:
    """The rows of a table written by `write_csv`."""
    with path.open(newline="") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))
