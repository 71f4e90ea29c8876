"""A kernel of the program fails before an enqueued exchange: neither rank waits for ever, in no call."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import shim
from support.programs import mpirun_python

PROGRAM = Path(__file__).parent / "failing_kernel_program.py"
FAKE = {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": "0"}
WAYS = {
    "channel": {},
    "thread": {"TEMPI_PROGRESS": "thread", "TESTS_KIND": "managed"},
    # Without direct messages, nobody tells the other rank that the GPU has failed.
    "thread and indirect": {"TEMPI_PROGRESS": "thread", "TEMPI_STRATEGY": "oneshot", "TEMPI_STREAM_TIMEOUT": "1"},
}


def run(folder, way, when):
    report = folder / "report"
    common = {**FAKE, **WAYS[way], "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LD_PRELOAD": shim.preload()}
    common |= {"TESTS_REPORT": str(report), "TESTS_WHEN": when}
    done = subprocess.run(
        ["timeout", "60", *mpirun_python([common] * 2, PROGRAM)],
        env=shim.clean_environment(),
        capture_output=True,
        check=False,
        text=True,
    )
    assert all((folder / f"report.{rank}.finalized").exists() for rank in range(2)), done.stdout + done.stderr
    return [(folder / f"report.{rank}").read_text() for rank in range(2)]


@pytest.mark.sample(2)
@pytest.mark.parametrize("when", ["synchronised", "freed", "queued", "nothing more"])
@pytest.mark.parametrize("way", ["channel", "thread", "thread and indirect"])
def test_mpi_finalize_returns(tmp_path, way, when):
    failed, other = run(tmp_path, way, when)
    told = "has ended after TEMPI_STREAM_TIMEOUT" if way == "thread and indirect" else "the process at the other end"
    assert told in other
    if when == "synchronised":
        assert "fake device" in failed
