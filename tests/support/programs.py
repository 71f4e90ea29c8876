"""Compiling and running MPI programs that know nothing of TEMPI."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

from support import shim

SOURCES = Path(__file__).resolve().parent.parent / "interpose"
INCLUDE = SOURCES.parent.parent / "src"
POLL_SECONDS = 0.01
_COMMON = ("-O1", "-g", f"-I{INCLUDE}")
_compiled: dict[tuple[str, ...], Path] = {}  # programs by their commands
_PATH = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))


@dataclass(frozen=True)
class Output:
    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


def tool(name: str, variable: str = "") -> str | None:
    return shutil.which(os.environ.get(variable) or name, path=_PATH)


def mpicc() -> str:
    """The C compiler of the MPI at hand, which TEMPI was built with."""
    found = tool("mpicc", "MPICC")
    assert found, "no mpicc in PATH: name one with MPICC"
    return found


def cxx() -> str:
    found = tool("c++", "CXX")
    assert found, "no c++ in PATH: name one with CXX"
    return found


def mpiexec() -> str:
    found = tool("mpirun", "MPIEXEC")
    assert found, "no mpirun in PATH: name one with MPIEXEC"
    return found


@cache
def fortran_compiler() -> str | None:
    """mpifort, where the compiler that it wraps is there, too."""
    found = tool("mpifort", "MPIFC")
    return found if found and run([found, "--version"], dict(os.environ)).code == 0 else None


def did_not_start(output: str) -> bool:
    """Whether mpirun of Open MPI 5 ended before it ran a program: once in some thousand runs."""
    return "PMIx server's listener thread failed to start" in output


def run(command: list[str], environment: dict[str, str], timeout: float = 120, cwd: Path | None = None) -> Output:
    output = _run_once(command, environment, timeout, cwd)
    return _run_once(command, environment, timeout, cwd) if did_not_start(output.text) else output


def _run_once(command: list[str], environment: dict[str, str], timeout: float, cwd: Path | None) -> Output:
    done = subprocess.run(
        command,
        env=environment | {"PATH": _PATH},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=timeout,
        errors="replace",
    )
    return Output(done.returncode, done.stdout, done.stderr)


def succeed(command: list[str], environment: dict[str, str], timeout: float = 120) -> Output:
    output = run(command, environment, timeout)
    assert output.code == 0, f"{command} ended with {output.code}:\n{output.text}"
    return output


def line_from(fifo: Path, process: subprocess.Popen[str]) -> str:
    """The line that a child of a running process writes to a FIFO; fails if the process ends without it."""
    with open(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as reader:
        while not (line := reader.read(4096)):  # None: a writer has opened it; empty: none has
            assert process.poll() is None, f"{process.args!r} ended with {process.returncode}"
            time.sleep(POLL_SECONDS)
    return line.decode()


def mpirun(ranks: int, program: Path, environment: dict[str, str], *arguments: object, timeout: float = 120) -> Output:
    passed = [f"{k}={v}" for k, v in environment.items() if k.startswith(("TEMPI_", "LD_PRELOAD"))]
    outside = {k: v for k, v in environment.items() if not k.startswith(("TEMPI_", "LD_PRELOAD"))}
    return succeed([mpiexec(), "-n", str(ranks), "env", *passed, str(program), *map(str, arguments)], outside, timeout)


def mpirun_python(
    of_ranks: Sequence[Mapping[str, str]], script: Path, wrapper: Sequence[str] = (), launcher: Sequence[str] = ()
) -> list[str]:
    """The command that runs a Python script with one rank for each environment in `of_ranks`."""
    begin = [*launcher] or [mpiexec()]
    command = [*begin]
    for environment, same in groupby(of_ranks):
        settings = [f"{name}={value}" for name, value in environment.items()]
        command += [":"] if len(command) > len(begin) else []
        command += ["-n", str(len(list(same))), "env", *settings, *wrapper, sys.executable, str(script)]
    return command


def compiled(compiler: str, source: str | Path, folder: Path, *options: str) -> Path:
    """The program made from one source file, of tests/interpose or with its whole path; compiled once a process.

    So are further C++ sources among the options, which several programs may have.
    """
    program = folder / f"{Path(source).name}.{Path(compiler).name}.bin"
    if program.exists():
        return program
    flags = tuple(option for option in options if not option.endswith(".cpp"))
    inputs = [option if option in flags else object_file(compiler, option, flags) for option in options]
    command = [compiler, *_COMMON, str(SOURCES / source), *inputs]
    first = _compiled.get(tuple(command))
    if first and first.exists():
        shutil.copy2(first, program)
    else:
        succeed([*command, "-o", str(program)], shim.clean_environment())
        _compiled[tuple(command)] = program
    return program


@cache
def object_file(compiler: str, source: str, flags: tuple[str, ...]) -> str:
    """Of one source file, with the common flags and these; compiled once a process."""
    path = Path(_folder().name) / f"{object_file.cache_info().misses}.o"
    faster = [found] if (found := tool("ccache")) else []
    succeed([*faster, compiler, *_COMMON, *flags, "-c", source, "-o", str(path)], shim.clean_environment(), 300)
    return str(path)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Of object files; removed at the end of the process."""
    return tempfile.TemporaryDirectory(prefix="objects")


@cache
def mpi_of(program: Path) -> str:
    """The MPI library that a program is linked to, as the loader finds it."""
    found = re.search(
        r"libmpi(?:ch|_abi)?\.so\S* => (\S+)", succeed(["ldd", str(program)], shim.clean_environment()).out
    )
    return found.group(1) if found else ""
