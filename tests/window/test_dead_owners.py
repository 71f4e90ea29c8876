"""A process that ends with a lock of a window over GPU memory: whoever waits for it gets an error."""

import os
import sys
from pathlib import Path

import pytest

from support import needs, programs, shim
from support.programs import mpiexec, mpirun_python

PROGRAM = Path(__file__).parent / "dying_owner_program.py"


@needs.fake_device("it ends a process in a kernel")
@needs.open_mpi("mpirun of MPICH ends the job")
@pytest.mark.parametrize("how", ["shared", "exclusive", "accumulate"])
def test_a_dead_owner_of_a_lock_is_an_error(how):
    common = {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": "0", "LD_PRELOAD": shim.preload(), "TESTS_HOW": how}
    common["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    dying = common | ({"TEMPI_FAKE_FAIL": "run:1:kill"} if how == "accumulate" else {})
    command = mpirun_python([common, dying], PROGRAM, launcher=[mpiexec(), "--enable-recovery"])
    out = programs.run(command, shim.clean_environment(), timeout=60).text
    assert "told: TEMPI: a process has ended: rank 1 of a window has ended" in out, out
