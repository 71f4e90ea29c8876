"""The tables of the benchmarks: numbers, CSV files, and the facts about machine and build at their head."""

from __future__ import annotations

import csv
import platform
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from bench.common.commands import BENCH, output_of

GPU_QUERY = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]


def machine_facts(mpirun: str = "", lib: Path | None = None) -> dict[str, str]:
    """The machine, the build and the command that made a table: every CSV starts with these."""
    facts = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join([Path(sys.executable).name, *map(_shown, sys.orig_argv[1:])]),
        "cpu": cpu_name(),
        "kernel": platform.release(),
        "gpu": output_of(GPU_QUERY).split("\n")[0],
        "cuda": output_of(["nvcc", "--version"]).split("\n")[-1] if shutil.which("nvcc") else "",
        "commit": output_of(["git", "-C", str(BENCH), "describe", "--always", "--dirty"]),
        "shim": f"{lib.name}, {lib.stat().st_size} bytes" if lib else "",
        "build": build_of(lib) if lib else "",
        "mpi": output_of([mpirun, "--version"]).split("\n")[0] if mpirun else "",
    }
    return {key: value or "none" for key, value in facts.items()}


def _shown(argument: str) -> str:
    """A word of the command; of a file, the path from the current folder, or its name."""
    path = Path(argument)
    if not path.is_absolute():
        return argument
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name


def build_of(lib: Path) -> str:
    """The build of a libtempi.so; nothing if this Python has no tempi of its version."""
    try:
        from tempi._native import Library

        return ", ".join(Library(str(lib)).build_info().strip().splitlines())
    except (ImportError, RuntimeError):
        return ""


def cpu_name() -> str:
    """The processor's own name, if Linux has it."""
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
    """Numbers with significant digits; empty if not measured."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else value


def read_csv(path: Path) -> Iterable[dict[str, str]]:
    """The rows of a table written by `write_csv`."""
    with path.open(newline="") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


def read_numbers(path: Path) -> Iterator[dict[str, Any]]:
    """The same rows: numbers where they can be, None where nothing was measured."""
    for row in read_csv(path):
        yield {key: _value(text) for key, text in row.items()}


def _value(text: str) -> float | str | None:
    try:
        return float(text) if text else None
    except ValueError:
        return text


def quotient(a: float | None, b: float | None) -> float | None:
    """``a / b`` if both were measured."""
    return a / b if a and b else None


def number(value: float | None, digits: int = 4) -> str:
    """A cell of the table."""
    return "" if value is None else f"{value:,.1f}" if value >= 1000 else f"{value:.{digits}g}"
