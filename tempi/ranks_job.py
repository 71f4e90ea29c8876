"""The ranks that a measurement starts, and the records that rank 0 writes."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from tempi._library import lib_path
from tempi.environment import tempi_variables, without_preload
from tempi.gpus import gpus
from tempi.measure_rank import Record

# A root user, and few cores, whichever library it is.
LAUNCHER_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
LAST_WORDS_BYTES = 2000
END_SECONDS = 10.0


def find_mpirun() -> str:
    """The launcher beside this Python, where PyPI's MPI libraries put it, else in PATH."""
    beside = str(Path(sys.executable).parent)
    for path in (beside, None):
        for name in ("mpirun", "mpiexec"):
            if found := shutil.which(name, path=path):
                return found
    raise RuntimeError("no mpirun in PATH: name one with --mpirun, or start the ranks with --ranks-command")


def is_open_mpi(mpirun: str) -> bool:
    """Whether the launcher is Open MPI's."""
    try:
        done = subprocess.run([mpirun, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(f"{mpirun} cannot be run: {error}") from error
    return "Open MPI" in done.stdout + done.stderr


def n_ranks() -> int:
    """Two; with several GPUs one more than GPUs, so that the first is shared and others are not."""
    n_gpus = len(gpus())
    return n_gpus + 1 if n_gpus > 1 else 2


def launcher(mpirun: str, hosts: str | None, ranks: int) -> list[str]:
    """The command that starts ranks: on this node, or one on each of two."""
    if hosts is None:
        return [mpirun, "-n", str(ranks)]
    names = hosts.split(",")
    if len(names) != 2:
        raise RuntimeError(f"--hosts names two nodes, A,B; not {hosts!r}")
    if is_open_mpi(mpirun):
        return [mpirun, "--host", ",".join(f"{name}:1" for name in names), "-n", "2"]
    return [mpirun, "-hosts", hosts, "-ppn", "1", "-n", "2"]


def command(
    mpirun: str | None,
    hosts: str | None,
    ranks_command: str | None,
    seconds: float,
    *,
    quick: bool = False,
    device_messages: bool = False,
    tune: bool = False,
) -> list[str]:
    """The whole command; the ranks get the shim and TEMPI's variables, the launcher does not.

    One rank tunes.
    """
    if ranks_command:
        start = shlex.split(ranks_command)
    else:
        start = launcher(mpirun or find_mpirun(), hosts, 1 if tune else n_ranks())
    settings = ["env", f"LD_PRELOAD={lib_path()}", *tempi_variables()]
    flags = {"--quick": quick, "--device-messages": device_messages}
    options = ["--seconds", str(seconds), *(name for name, is_set in flags.items() if is_set)]
    module = "tempi.tune_rank" if tune else "tempi.measure_rank"
    return [*start, *settings, sys.executable, "-m", module, *options]


def records_of(command: Sequence[str], timeout_s: float) -> Generator[Record, None, None]:
    """Run the ranks and hand on the records of rank 0. Closed early, it ends them.

    Raises
    ------
    RuntimeError
        If the command cannot be run, fails, or is not done after `timeout_s` seconds.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=without_preload() | LAUNCHER_ENVIRONMENT,
                start_new_session=True,
            )
        except OSError as error:
            raise RuntimeError(f"{command[0]} cannot be run: {error.strerror}") from error
        late = threading.Timer(timeout_s, _end, [process])
        late.start()
        try:
            yield from _parsed(process.stdout)
            code = process.wait()
        finally:
            was_late = not late.is_alive()
            late.cancel()
            _end(process)
        if code != 0:
            why = f"took longer than {timeout_s:.0f} s" if was_late else f"ended with {code}"
            raise RuntimeError(f"{shlex.join(command)} {why}\n{_last_words(errors)}".rstrip())


def _parsed(lines: IO[str] | None) -> Iterator[Record]:
    for line in lines or ():
        with suppress(json.JSONDecodeError):  # what a launcher or a library prints
            found = json.loads(line)
            if isinstance(found, dict):
                yield found


def _end(process: subprocess.Popen[str]) -> None:
    """Launchers end their ranks when they are asked to end."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)


def _last_words(errors: IO[bytes]) -> str:
    errors.seek(0, os.SEEK_END)
    errors.seek(max(0, errors.tell() - LAST_WORDS_BYTES))
    return errors.read().decode(errors="replace").strip()
