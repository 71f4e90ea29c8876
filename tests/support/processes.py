"""Tests that need MPI run in a child process: with the shim preloaded (the default), or with the library alone.

LD_PRELOAD and the TEMPI_ options are read when a process starts, so each test declares its process:

    pytestmark = pytest.mark.mpi_process(TEMPI_DEVICE="fake")      # shim preloaded, these options set
    pytestmark = pytest.mark.mpi_process(shim=False)               # the library alone

All tests that need the same process share one child, a pytest of its own that hands back its reports. When a child
dies, the test that it was running fails with the signal and the child's last words, and the next test gets a new child.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from support import shim

REPORTS = "TESTS_REPORT_FD"  # set in children: destination of the reports
_START = "import sys; sys.path[:] = [p for p in sys.path if p]; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
_Environment = tuple[tuple[str, str], ...]


def in_child() -> bool:
    return REPORTS in os.environ


def wanted_environment(item: pytest.Item) -> _Environment | None:
    """The variables of the process that this test needs, or None where any process does or none is needed."""
    wanted: dict[str, str] = {}
    markers = list(item.iter_markers("mpi_process"))
    if not markers or item.get_closest_marker("skip"):
        return None
    for marker in reversed(markers):  # the nearest marker wins
        wanted.update(marker.kwargs)
    if wanted.pop("shim", True):
        wanted["LD_PRELOAD"] = shim.preload()
    else:
        wanted["TEMPI_DISABLE"] = "1"  # a test that imports tempi would put the shim in
    return tuple(sorted(wanted.items()))


class Child:
    def __init__(self, items: list[pytest.Item], environment: _Environment) -> None:
        config = items[0].config
        reading, writing = os.pipe()
        self.output = tempfile.TemporaryFile()  # noqa: SIM115
        seed = f"--hypothesis-seed={config.option.hypothesis_seed}"
        names = [f"{item.path}::{item.nodeid.split('::', 1)[1]}" for item in items]
        arguments = ["-q", "-p", "no:cacheprovider", f"--rootdir={config.rootpath}", seed]
        if config.inipath:
            arguments += ["-c", str(config.inipath)]
        arguments += ["-o", "timeout_func_only=true"]  # a child that is ahead waits until its reports are read
        if getattr(config.option, "timeout", None) is not None:
            arguments.append(f"--timeout={config.option.timeout}")
        with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as listed:
            listed.write("\n".join([*arguments, *names]))
        self.arguments = Path(listed.name)
        self.process = subprocess.Popen(
            [*shim.wrapper(), sys.executable, "-c", _START, f"@{listed.name}"],
            env=shim.clean_environment() | dict(environment) | {REPORTS: str(writing)},
            pass_fds=[writing],
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=subprocess.STDOUT,
        )
        os.close(writing)
        self.reports: IO[str] = os.fdopen(reading)
        self.pending = {item.nodeid for item in items}

    def run(self, item: pytest.Item) -> Iterator[dict[str, Any]]:
        """The reports of one test, in the order in which the child runs them."""
        for line in self.reports:
            record = json.loads(line)
            if "finished" in record:
                self.pending.discard(record["finished"])
                if record["finished"] == item.nodeid:
                    return
            else:
                yield record
        raise ChildDied(self.last_words())

    def last_words(self) -> str:
        code = self.process.wait()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        self.output.seek(0, os.SEEK_END)
        self.output.seek(max(0, self.output.tell() - 4000))
        return f"the child process ended with {how}:\n{self.output.read().decode(errors='replace')}"

    def close(self) -> str | None:
        """Waits for the end. Returns the last words of a child that ended otherwise than a pytest does."""
        self.reports.close()
        words = None if self.process.wait() in (0, 1) else self.last_words()
        self.arguments.unlink(missing_ok=True)
        self.output.close()
        return words


class ChildDied(Exception):
    pass


class Parent:
    """Runs marked tests in children and everything else in place."""

    def __init__(self) -> None:
        self._children: dict[_Environment, Child] = {}
        self._last_words: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        environment = wanted_environment(item)
        if environment is None:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._reports(item, environment):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        item.session._setupstate.teardown_exact(nextitem)
        return True

    def _reports(self, item: pytest.Item, environment: _Environment) -> Iterator[pytest.TestReport]:
        child = self._children.get(environment)
        if child is None or item.nodeid not in child.pending:
            child = self._children[environment] = Child(self._remaining(item, environment), environment)
        try:
            for record in child.run(item):
                if isinstance(record.get("longrepr"), list):  # a skip's file, line and reason: JSON has no tuples
                    record["longrepr"] = tuple(record["longrepr"])
                yield item.config.hook.pytest_report_from_serializable(config=item.config, data=record)
        except ChildDied as died:
            self._children.pop(environment).close()
            yield pytest.TestReport(item.nodeid, item.location, {}, "failed", str(died), "call")

    @staticmethod
    def _remaining(item: pytest.Item, environment: _Environment) -> list[pytest.Item]:
        items = item.session.items
        return [i for i in items[items.index(item) :] if wanted_environment(i) == environment]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._last_words += filter(None, [child.close() for child in self._children.values()])
        if self._last_words:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for words in self._last_words:  # a crash or a sanitizer's finding after the last test
            terminalreporter.section("a child process of tests failed at its end")
            terminalreporter.write_line(words)


class Reporter:
    """In a child: every report goes to the parent as a line of JSON."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._pipe = os.fdopen(int(os.environ[REPORTS]), "w")

    def _send(self, record: dict[str, Any]) -> None:
        print(json.dumps(record, default=str), file=self._pipe, flush=True)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._send(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._send({"finished": nodeid})
