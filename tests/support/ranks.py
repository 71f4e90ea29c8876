"""MPI jobs that call functions for tests: all ranks call the same one at a time and hand back its result.

A launch costs a second, a call a millisecond, so tests with the same environment share one job (the `ranks` fixture of
tests/conftest.py). A function that raises, dies or does not come back in time ends its job: the test fails with
the tracebacks and the last words of every rank, and the next test gets a new job.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from support import memory, shim
from support.programs import did_not_start, mpirun_python

MAIN = Path(__file__).with_name("rank_main.py")
ADDRESS = "TESTS_RANKS_ADDRESS"  # address of the test process, for the ranks
# Open MPI's folder of shared memory. It names files by 16 bits of a hash of the job's name: two of a dozen jobs that
# run at a time may have the same, and crash.
SEGMENTS = "OMPI_MCA_btl_sm_backing_directory"
START_SECONDS = 60.0

Environment = Mapping[str, str]


class RanksFailed(AssertionError):
    pass


class Ranks:
    """`size` ranks with the shim preloaded and `environment` set; `special` adds variables to single ranks.

    `launcher`: the beginning of its command; `folder`: one that the ranks see, too.
    """

    def __init__(
        self,
        size: int,
        environment: Environment,
        special: Mapping[int, Environment] | None = None,
        preload: bool = True,
        launcher: Sequence[str] = (),
        folder: Path | None = None,
    ) -> None:
        self.size = size
        self.alive = True
        self._folder = tempfile.TemporaryDirectory(prefix="ranks", dir=folder)
        self._segments = tempfile.TemporaryDirectory(prefix="ranks", dir="/dev/shm", ignore_cleanup_errors=True)
        self._output = tempfile.TemporaryFile()  # noqa: SIM115
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{self._folder.name}/socket")
        self._listener.listen(size)
        outside = shim.clean_environment() | {ADDRESS: f"{self._folder.name}/socket"}
        if not launcher:
            outside[SEGMENTS] = self._segments.name
        # Ranks on other hosts do not inherit it.
        common = {name: value for name, value in outside.items() if name.startswith((ADDRESS, "TEMPI_"))}
        if environment.get("TEMPI_STRATEGY") == "direct":
            common["TEMPI_NO_DIRECT"] = "0"  # which is 1 in all other tests (shim.clean_environment)
        common |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment}
        if memory.on_real_gpu():
            common.pop("TEMPI_DEVICE", None)
        if preload:
            common["LD_PRELOAD"] = shim.preload()
        of_ranks = [common | dict((special or {}).get(rank, {})) for rank in range(size)]
        self._command, self._environment = mpirun_python(of_ranks, MAIN, shim.wrapper(), launcher), outside
        self._job = self._started_job()
        self._connections: list[Connection] = [None] * size  # type: ignore[list-item]
        self._pids: list[int] = []
        self._meet()

    def _started_job(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def _meet(self) -> None:
        end = time.monotonic() + START_SECONDS
        for _ in range(self.size):
            while True:
                self._listener.settimeout(0.2)
                try:
                    accepted, _ = self._listener.accept()
                    break
                except TimeoutError:
                    is_over = time.monotonic() > end
                    if not is_over and self._job.poll() is not None and did_not_start(self._last_words()):
                        self._output.seek(0)
                        self._output.truncate()
                        self._job = self._started_job()
                    elif is_over or self._job.poll() is not None:
                        self._fail("the ranks did not start")
            connection = Connection(accepted.detach())
            rank, pid = connection.recv()
            self._connections[rank] = connection
            self._pids.append(pid)

    def call(self, function: Callable[..., Any], *arguments: object, timeout: float = 30) -> list[Any]:
        """The results of `function(*arguments)` on every rank. The function must be importable by name."""
        message = pickle.dumps((function, arguments))
        replies: dict[int, Any] = {}
        failures: dict[int, str] = {}
        end = time.monotonic() + timeout
        try:
            for connection in self._connections:
                connection.send_bytes(message)
            while len(replies) < self.size and not failures:
                self._collect(replies, failures, end)
        except (EOFError, OSError) as gone:
            failures.setdefault(-1, f"a rank died ({type(gone).__name__})")
        if failures:
            self._fail("\n".join(f"rank {rank}: {text}" for rank, text in sorted(failures.items())))
        return [replies[rank] for rank in range(self.size)]

    def _collect(self, replies: dict[int, Any], failures: dict[int, str], end: float) -> None:
        waiting = {c: rank for rank, c in enumerate(self._connections) if rank not in replies}
        ready = wait(list(waiting), timeout=max(0.0, end - time.monotonic()))
        if not ready:
            failures[-1] = f"no answer from rank(s) {sorted(waiting.values())} in time; they were here:"
            self._signal(signal.SIGUSR1)  # the ranks print their tracebacks
            time.sleep(0.5)
        for connection in ready:
            rank = waiting[connection]  # type: ignore[index]
            succeeded, value = self._connections[rank].recv()
            (replies if succeeded else failures)[rank] = value

    def _signal(self, number: signal.Signals) -> None:
        for pid in self._pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def _fail(self, why: str) -> None:
        self.alive = False
        self._signal(signal.SIGKILL)
        try:
            code: int | None = self._job.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._job.kill()
            code = self._job.wait()
        words = self._last_words()
        self._tidy()
        raise RanksFailed(f"{why}\nthe launcher ended with {code}; last words:\n{words}")

    def _last_words(self) -> str:
        self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, self._output.tell() - 6000))
        return self._output.read().decode(errors="replace")

    def _tidy(self) -> None:
        for connection in filter(None, self._connections):
            connection.close()
        self._listener.close()
        self._output.close()
        self._folder.cleanup()
        self._segments.cleanup()

    def close(self, timeout: float = 30) -> str:
        """Lets the ranks finalize MPI and returns their output."""
        if not self.alive:
            return ""
        for connection in self._connections:
            connection.close()
        try:
            code = self._job.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGUSR1)
            time.sleep(0.5)
            self._fail("the ranks did not end: MPI_Finalize hangs")
        if code:
            self._fail("the ranks ended badly, in or after MPI_Finalize")
        self.alive = False
        words = self._last_words()
        self._tidy()
        return words

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        elif self.alive:
            self._signal(signal.SIGKILL)
            self._job.wait(timeout=30)
            self._tidy()


class Pool:
    """Jobs by their environment, started at first use, replaced when they have died.

    Those used last are kept: a suite has hundreds of environments, and ranks that wait take memory.
    """

    MOST_JOBS = 12

    def __init__(self) -> None:
        self._jobs: dict[tuple[object, ...], Ranks] = {}  # the last used at the end

    def __call__(self, size: int, preload: bool = True, **environment: str) -> Ranks:
        key = (size, preload, *sorted(environment.items()))
        job = self._jobs.pop(key, None)
        if job is None or not job.alive:
            job = Ranks(size, environment, preload=preload)
        self._jobs[key] = job
        if len(self._jobs) > self.MOST_JOBS:
            self._jobs.pop(next(iter(self._jobs))).close()
        return job

    def close(self) -> None:
        for job in self._jobs.values():
            job.close()
