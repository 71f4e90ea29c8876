"""The names of the tests that fail, for a second run.

TESTS_FAILED=FILE: pytest writes them into this file, one a line, which pytest takes back as @FILE. There is no file if
all tests pass, and none if pytest ends early: then a second run of some tests would prove nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

VARIABLE = "TESTS_FAILED"


class Failed:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._names: list[str] = []

    @classmethod
    def of_environment(cls) -> Failed | None:
        file = os.environ.get(VARIABLE)
        return cls(Path(file)) if file else None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self._names:
            self._names.append(report.nodeid)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.TESTS_FAILED:
            self._file.write_text("".join(f"{name}\n" for name in self._names))
