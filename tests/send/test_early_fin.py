"""Direct messages between processes: the FIN message goes while the kernel runs, and the receive waits for both."""

import os
import subprocess
import sys
from pathlib import Path

import early_fin_worker as worker
from early_fin_worker import SENDER
from test_direct import DIRECT, FACES, gpu_end

from support import needs, shim
from support.programs import mpirun_python
from support.ranks import Ranks

pytestmark = needs.fake_device("failures on demand")
PATIENT = {**DIRECT, "TEMPI_MATCH_TIMEOUT": "5000000"}
OUT, INTO = gpu_end(FACES[0], 1), gpu_end(FACES[1], 2)
SUCCESS = 0
MOST_SECONDS = 60


def test_a_kernel_that_fails_runs_again():
    with Ranks(2, PATIENT, {SENDER: {"TEMPI_FAKE_FAIL": "finish:1"}}) as job:
        assert job.call(worker.lost, OUT, INTO) == [(SUCCESS, SUCCESS)] * 2


def test_bytes_that_are_lost_are_an_error_of_both_ends():
    with Ranks(2, PATIENT, {SENDER: {"TEMPI_FAKE_FAIL": "finish:1,launch:2"}}) as job:
        for first, again in job.call(worker.lost, OUT, INTO):
            assert first != SUCCESS
            assert again == SUCCESS


def test_a_sender_that_dies_behind_its_fin_message(tmp_path):
    report = tmp_path / "class"
    common = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LD_PRELOAD": shim.preload(), **PATIENT}
    common |= {"TESTS_REPORT": str(report)}
    of_ranks = [common | ({"TEMPI_FAKE_FAIL": "run:1:kill"} if rank == SENDER else {}) for rank in range(2)]
    program = Path(__file__).parent / "dead_sender_program.py"
    done = subprocess.run(
        mpirun_python(of_ranks, program), env=shim.clean_environment(), capture_output=True, timeout=MOST_SECONDS
    )
    assert done.returncode != 0, "nobody died"
    assert int(report.read_text()) != SUCCESS
