"""Runs in every rank: mpi4py's own test runner, which records the verdict of each test.

    python recorder.py TESTS RECORDS [options of mpi4py's test/main.py]

One line of JSON a test when it starts and one when it has ended, so that a rank that dies has told where.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import unittest
from pathlib import Path
from typing import TextIO

import array_kinds


class Result(unittest.TextTestResult):
    """The last word counts: a test with a failed subtest, or one that fails in its clean-up, has failed."""

    records: TextIO

    def write(self, test, verdict):
        self.records.write(json.dumps([test.id(), verdict]) + "\n")

    def startTest(self, test):
        super().startTest(test)
        self.write(test, "unfinished")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.write(test, "passed")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.write(test, "passed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.write(test, "skipped")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.write(test, "failed")

    def addError(self, test, err):
        super().addError(test, err)
        self.write(test, "failed")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.write(test, "failed")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.write(test, "failed")


def run(folder: str, records: str, arguments: list[str]) -> None:
    """Ends with 0 when all tests have been run, whatever their verdicts: other codes are a rank's death.

    main.py must be the __main__ of this process: mpi4py's pools import that again in their workers.
    """
    unittest.TextTestRunner.resultclass = Result
    sys.path.insert(1, folder)
    array_kinds.choose()
    sys.path[:2] = [folder]
    sys.argv = [str(Path(folder, "main.py")), *arguments]
    with Path(records, f"{os.getpid()}.jsonl").open("w", buffering=1) as Result.records:
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        except SystemExit as end:
            if end.code not in (0, 1):
                raise


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], sys.argv[3:])
