"""The ranks that a measurement starts, and the records that rank 0 writes."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import IO

from tempi.gpus import gpus
from tempi.launchers import Launch, find_mpirun, kind_of
from tempi.measure_rank import Record
from tempi.running import with_shim

# A root user, and few cores, whichever library it is.
LAUNCHER_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
LAST_WORDS_BYTES = 2000
END_SECONDS = 10.0


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
    if kind_of(mpirun) == "openmpi":
        return [mpirun, "--host", ",".join(f"{name}:1" for name in names), "-n", "2"]
    return [mpirun, "-hosts", hosts, "-ppn", "1", "-n", "2"]


def words_of(ranks_command: str) -> list[str]:
    """The words of a command as a shell finds them; RuntimeError where it would ask for the rest."""
    try:
        return shlex.split(ranks_command)
    except ValueError as error:
        raise RuntimeError(f"--ranks-command {ranks_command}: {error}") from error


def command(
    mpirun: str | None,
    hosts: str | None,
    ranks_command: str | None,
    seconds: float,
    *,
    quick: bool = False,
    device_messages: bool = False,
    tune: bool = False,
) -> Launch:
    """The whole command; the ranks get the shim and TEMPI's variables, the launcher does not."""
    if ranks_command:
        start = words_of(ranks_command)
    else:
        start = launcher(mpirun or find_mpirun(), hosts, 1 if tune else n_ranks())
    flags = {"--quick": quick, "--device-messages": device_messages}
    options = ["--seconds", str(seconds), *(name for name, is_set in flags.items() if is_set)]
    return with_shim(
        [*start, sys.executable, "-m", "tempi.tune_rank" if tune else "tempi.measure_rank", *options]
    )


def records_of(ranks: Launch, timeout_s: float) -> Generator[Record, None, None]:
    """Run the ranks and hand on the records of rank 0. Closed early, it ends them.

    Raises
    ------
    RuntimeError
        If the command cannot be run, fails, or is not done after `timeout_s` seconds.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                ranks.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=ranks.environment() | LAUNCHER_ENVIRONMENT,
                start_new_session=True,
            )
        except OSError as error:
            raise RuntimeError(f"{ranks.command[0]} cannot be run: {error.strerror}") from error
        late = threading.Timer(timeout_s, _end, [process])
        late.daemon = True  # the interpreter must not wait for it where nobody asks for the other records
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
            raise RuntimeError(f"{shlex.join(ranks.command)} {why}\n{_last_words(errors)}".rstrip())


def _parsed(lines: IO[str] | None) -> Iterator[Record]:
    for line in lines or ():
        with suppress(json.JSONDecodeError):  # what a launcher or a library prints, also in front of a record
            found = json.loads(line[max(0, line.find("{")) :])
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
