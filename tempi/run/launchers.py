"""MPI launchers: their kinds, and the arguments that set variables for the ranks and not for the launcher."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tempi.run.environment import joined_preload, slurm_exports, without_preload

ASK_SECONDS = 60.0
# Words of `--version`, by launcher. PRRTE is Open MPI's since 5, ORTE before.
_WORDS = {
    "openmpi": ("Open MPI", "OpenRTE", "PRRTE", "open-mpi.org"),
    "hydra": ("HYDRA", "Intel(R) MPI"),
}


@dataclass(frozen=True)
class Launch:
    """A command, and the variables that it needs besides this process's own."""

    command: list[str]
    variables: dict[str, str]

    def environment(self) -> dict[str, str]:
        """The command's environment. This process's LD_PRELOAD is for the ranks, not for the launcher."""
        return without_preload() | self.variables


def find_program(name: str) -> str | None:
    """A program in PATH, else beside this Python, where PyPI's MPI libraries put theirs."""
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))


def find_mpirun() -> str:
    """The launcher beside this Python, where PyPI's MPI libraries put it, else in PATH.

    Raises
    ------
    RuntimeError
        If there is none.
    """
    beside = str(Path(sys.executable).parent)
    for path in (beside, None):
        for name in ("mpirun", "mpiexec"):
            if found := shutil.which(name, path=path):
                return found
    raise RuntimeError("no mpirun in PATH: name one with --mpirun, or start the ranks with --ranks-command")


@cache
def kind_of(program: str) -> str | None:
    """The kind of a launcher: ``openmpi``, ``hydra`` (MPICH, Intel MPI) or ``srun``; None: no launcher.

    Raises
    ------
    RuntimeError
        If it is called like a launcher and cannot be run.
    """
    name = Path(program).name
    if name == "srun":
        return name
    if not re.match(r"(mpirun|mpiexec|orterun|prterun)\b", name):
        return None  # not a launcher's name: running it could do anything
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, errors="replace", timeout=ASK_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise RuntimeError(f"{program} cannot be run: {why}") from error
    said = done.stdout + done.stderr
    return next((kind for kind, words in _WORDS.items() if any(word in said for word in words)), None)


def launch(command: Sequence[str], of_ranks: Mapping[str, str], of_all: Mapping[str, str]) -> Launch:
    """A command whose ranks, on this and on other nodes, get variables.

    Parameters
    ----------
    command : sequence of str
        A launcher with its arguments, or any other program, which then gets the variables itself.
    of_ranks : mapping of str to str
        Variables for the ranks only.
    of_all : mapping of str to str
        Variables for the launcher, too.
    """
    kind = kind_of(command[0])
    if kind is None:
        return Launch([*command], {**of_ranks, **of_all})
    return _WAYS[kind](command, of_ranks, of_all)


def _with_openmpi(command: Sequence[str], of_ranks: Mapping[str, str], of_all: Mapping[str, str]) -> Launch:
    """``-x`` is valid up to a colon, which begins another program. OMPI_MCA_ variables pass by themselves."""
    words, begin = [command[0]], 1
    for end in [i for i, word in enumerate(command) if word == ":"] + [len(command)]:
        own, others = _beside_own(command[begin:end], "-x", of_ranks)
        words += [word for name, value in others.items() for word in ("-x", f"{name}={value}")]
        words += [*own, *command[end : end + 1]]
        begin = end + 1
    return Launch(words, {**of_all})


def _with_hydra(command: Sequence[str], of_ranks: Mapping[str, str], of_all: Mapping[str, str]) -> Launch:
    """``-env`` is one program's, and counts more than ``-genv``."""
    words, _ = _beside_own(command[1:], "-env", of_ranks)
    words, others = _beside_own(words, "-genv", of_ranks)
    flags = [word for name, value in others.items() for word in ("-genv", name, value)]
    return Launch([command[0], *flags, *words], {**of_all})


def _beside_own(
    words: Sequence[str], flag: str, of_ranks: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """The user's own words, our library beside those that they preload, and the variables left to set.

    `flag` is followed by NAME=VALUE or by NAME VALUE; ``-x NAME`` hands on the launcher's own value. The
    program's arguments are its own.
    """
    own, left = list(words), dict(of_ranks)
    for i in range(_program_index(words) - 1):
        name, equals, value = words[i + 1].partition("=")
        if words[i] != flag or name != "LD_PRELOAD" or name not in of_ranks:
            continue
        left.pop(name, None)
        if equals or flag == "-x":
            own[i + 1] = f"{name}={joined_preload(value, of_ranks[name])}"
        elif i + 2 < len(words):
            own[i + 2] = joined_preload(words[i + 2], of_ranks[name])
    return own, left


# Open MPI's --mca and MPICH's -genv, with relatives; NAME=VALUE is one value.
_TAKES_TWO_VALUES = re.compile(r"--?([go]?mca|prtemca|pmixmca|genv|env)")
_TAKES_PROGRAM = re.compile(r"--?(launch-agent|bootstrap-exec|launcher-exec)")


def _program_index(words: Sequence[str]) -> int:
    """The first word that is neither an option of the launcher nor an option's value; else the end."""
    i = 0
    while i < len(words) and words[i].startswith("-"):
        i += 1 + _n_values(words[i], words[i + 1 : i + 2])
    return i


def _n_values(option: str, following: Sequence[str]) -> int:
    """The number of words behind an option that are its values: all words can be but a program's path."""
    if not following or following[0].startswith("-") or "=" in option:
        return 0
    if _TAKES_TWO_VALUES.fullmatch(option):
        return 1 if "=" in following[0] else 2
    is_program = "/" in following[0] and shutil.which(following[0]) is not None
    return 0 if is_program and not _TAKES_PROGRAM.fullmatch(option) else 1


def _with_srun(command: Sequence[str], of_ranks: Mapping[str, str], of_all: Mapping[str, str]) -> Launch:
    """Commas divide what ``--export`` names, so values with commas go through srun's own environment."""
    before, own, after = _own_exports(command)
    words, values = [] if own == "NONE" else own.split(","), dict(of_ranks)
    for word in [word for word in words if word.startswith("LD_PRELOAD=") and "LD_PRELOAD" in values]:
        words.remove(word)
        values["LD_PRELOAD"] = joined_preload(word.partition("=")[2], values["LD_PRELOAD"])
    plain = {name: value for name, value in values.items() if "," not in value}
    others = {name: value for name, value in values.items() if name not in plain} | {**of_all}
    exports = [f"{name}={value}" for name, value in plain.items()] + [*others]
    all_exports = ",".join([*words, *exports])
    return Launch([*before, f"--export={all_exports}", *after], others)


_TAKES_VALUE = re.compile(r"-[A-Za-z]|--[a-z-]+")  # may have one; -n4 and --mpi=pmix include theirs


def _own_exports(command: Sequence[str]) -> tuple[list[str], str, list[str]]:
    """The user's own ``--export``, and the words before and after it; it comes before the program."""
    for i in range(1, len(command)):
        if command[i].startswith("--export="):
            return [*command[:i]], command[i].partition("=")[2], [*command[i + 1 :]]
        if command[i] == "--export" and i + 1 < len(command):
            return [*command[:i]], command[i + 1], [*command[i + 2 :]]
        if not command[i].startswith("-") and not _TAKES_VALUE.fullmatch(command[i - 1]):
            break  # neither an option nor, perhaps, an option's value: the program
    return [command[0]], slurm_exports(), [*command[1:]]


_WAYS: dict[str, Callable[[Sequence[str], Mapping[str, str], Mapping[str, str]], Launch]] = {
    "openmpi": _with_openmpi,
    "hydra": _with_hydra,
    "srun": _with_srun,
}
