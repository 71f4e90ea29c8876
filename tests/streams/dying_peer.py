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
    outside = shim.clean_environment()
    done = subprocess.run(command, env=outside, capture_output=True, text=True, timeout=60, check=False)
    assert report.exists(), done.stdout + done.stderr
    return report.read_text()
