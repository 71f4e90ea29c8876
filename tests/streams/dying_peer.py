"""Runs dying_peer_program.py, whose second rank dies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support import shim
from support.programs import mpirun_python

PROGRAM = Path(__file__).parent / "dying_peer_program.py"


def report_of_the_other(folder: Path, when: str, options: dict[str, str]) -> str:
    """The error that the rank which lives is told."""
    report = folder / "report"
    common = {**options, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LD_PRELOAD": shim.preload()}
    common |= {"TESTS_REPORT": str(report), "TESTS_DIES": when}
    command = mpirun_python([common] * 2, PROGRAM)
    subprocess.run(command, env=shim.clean_environment(), capture_output=True, timeout=60, check=False)
    return report.read_text()
