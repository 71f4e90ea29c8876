"""Records, a line of JSON each: rank 0 of a job writes them, the process that started it reads them."""

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
from contextlib import contextmanager, suppress
from typing import IO, Any

from tempi.run.launchers import Launch

Record = dict[str, Any]

# Lets every library's launcher run as root and on few cores.
LAUNCHER_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
LAST_WORDS_BYTES = 2000
END_SECONDS = 10.0


class RanksError(RuntimeError):
    """The command of the ranks has failed.

    Attributes
    ----------
    reason : str
        The failure without the command, and the last lines of standard error.
    """

    def __init__(self, command: str, reason: str) -> None:
        super().__init__(f"{command} {reason}")
        self.reason = reason


def write(record: Record) -> None:
    """A record for the process that has started this rank."""
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


def records_of(ranks: Launch, timeout_s: float) -> Generator[Record, None, None]:
    """Run the ranks and hand on the records of rank 0. Closed early, it ends them.

    Raises
    ------
    RanksError
        If the command cannot be run, fails, or is not done after `timeout_s` seconds.
    """
    with tempfile.TemporaryFile() as errors:
        started: list[subprocess.Popen[str]] = []
        late = threading.Timer(timeout_s, lambda: _end(started[0]))
        late.daemon = True  # the interpreter must not wait for it if the caller drops the other records
        try:
            with _signals_held_back():  # one that came in between would leave ranks that nobody ends
                started.append(_start(ranks, errors))
            late.start()
            yield from _parsed(started[0].stdout)
            code = started[0].wait()
        finally:
            was_late = bool(started) and not late.is_alive()
            late.cancel()
            for process in started:
                _end(process)
        if code != 0:
            why = f"took longer than {timeout_s:.0f} s" if was_late else f"ended with exit code {code}"
            raise RanksError(shlex.join(ranks.command), f"{why}\n{_last_words(errors)}".rstrip())


def _start(ranks: Launch, errors: IO[bytes]) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            ranks.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=ranks.environment() | LAUNCHER_ENVIRONMENT,
            start_new_session=True,
        )
    except OSError as error:
        raise RanksError(ranks.command[0], f"cannot be run: {error.strerror}") from error


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """Handlers of this program are called behind the block."""
    arrived: list[int] = []
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    held_back = {number: handler for number, handler in handlers.items() if callable(handler)}
    for one in held_back:
        signal.signal(one, lambda arriving, _frame: arrived.append(arriving))
    try:
        yield
    finally:
        for one, handler in held_back.items():
            signal.signal(one, handler)
        for number in arrived:
            signal.raise_signal(number)


def _parsed(lines: IO[str] | None) -> Iterator[Record]:
    for line in lines or ():
        with suppress(json.JSONDecodeError):  # text of a launcher or a library, also in front of a record
            found = json.loads(line[max(0, line.find("{")) :])
            if isinstance(found, dict):
                yield found


def _end(process: subprocess.Popen[str]) -> None:
    """Ends the launcher with SIGTERM, at which it ends its ranks."""
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
