"""A rank killed at each step of a direct message: the job ends, soon, and nothing of it stays."""

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from test_direct import DIRECT

from support import needs, shared_segments, shim
from support.programs import compiled, mpicc, mpirun_python

HERE = Path(__file__).parent
VICTIM = 1
MOST_SECONDS = 30
STEPS = {
    "before its shared segment is announced": {"DIE_AT": "after Init"},
    "before the first message": {"DIE_AT": "before Barrier"},
    "with the published receive described": {"TEMPI_FAKE_FAIL": "share:1:kill"},
    "before the library has the receive": {"DIE_AT": "before Irecv"},
    "before the receive is published": {"DIE_AT": "after Irecv"},
    "with a receive claimed, before memory is mapped": {"TEMPI_FAKE_FAIL": "map:1:kill"},
    "with a receive claimed, before the kernel": {"TEMPI_FAKE_FAIL": "launch:1:kill"},
    "while the kernel runs": {"TEMPI_FAKE_FAIL": "run:1:kill"},
    "while a later kernel runs": {"TEMPI_FAKE_FAIL": "run:3:kill"},
    "with the bytes written, before the FIN message": {"DIE_AT": "before FIN"},
    "after the FIN message": {"DIE_AT": "after FIN"},
}
# Of messages in three chunks, into bounce buffers: three launches of its sends, and three to unpack what it receives.
BOUNCED_STEPS = {
    "before the first chunk": {"TEMPI_FAKE_FAIL": "launch:1:kill"},
    "with a chunk under way": {"TEMPI_FAKE_FAIL": "launch:2:kill"},
    "while the first chunk runs": {"TEMPI_FAKE_FAIL": "run:1:kill"},
    "while the second chunk runs": {"TEMPI_FAKE_FAIL": "run:2:kill"},
    "with the chunks written, before the FIN message": {"DIE_AT": "before FIN"},
    "before it unpacks": {"TEMPI_FAKE_FAIL": "launch:4:kill"},
    "while it unpacks": {"TEMPI_FAKE_FAIL": "launch:5:kill"},
    "in a later message": {"TEMPI_FAKE_FAIL": "launch:9:kill"},
}


def processes_of(token):
    """Processes with this word in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and token.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue  # it has ended
    return [pid for pid in found if pid != os.getpid()]


def wait_until_none(find):
    end = time.monotonic() + 10
    while (found := find()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


@pytest.fixture(scope="module")
def tool(tmp_path_factory):
    return compiled(mpicc(), HERE / "dying_tool.c", tmp_path_factory.mktemp("dying"), "-shared", "-fPIC")


@pytest.mark.sample(2)
@needs.open_mpi()
@pytest.mark.parametrize("step", STEPS)
def test_a_rank_that_dies(tool, step):
    check_death(tool, STEPS[step], bounces=False)


@pytest.mark.sample(2)
@needs.open_mpi()
@pytest.mark.parametrize("step", BOUNCED_STEPS)
def test_a_rank_that_dies_around_a_bounce_buffer(tool, step):
    check_death(tool, BOUNCED_STEPS[step], bounces=True)


def check_death(tool, step, bounces):
    """The victim dies at this step, the others end, and nothing is left."""
    token = f"TESTS_TOKEN={uuid.uuid4()}"
    common = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LD_PRELOAD": f"{shim.preload()} {tool}", **DIRECT}
    common |= {"TEMPI_MATCH_TIMEOUT": "1000000", "TESTS_TOKEN": token.partition("=")[2]}
    common["TESTS_BOUNCES"] = str(int(bounces))
    job = subprocess.Popen(
        mpirun_python([common | (step if rank == VICTIM else {}) for rank in range(2)], HERE / "dying_program.py"),
        env=shim.clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        output, _ = job.communicate(timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        for pid in processes_of(token):
            os.kill(pid, signal.SIGKILL)
        job.kill()
        raise
    assert job.returncode != 0, f"nobody died:\n{output}"
    names = {line.split()[1] for line in output.splitlines() if line.startswith("job ")}
    assert not wait_until_none(lambda: processes_of(token))
    assert not [(name, rank) for name in names for rank in range(2) if shared_segments.is_open(name, rank)]
    assert not [file for file in os.listdir("/dev/shm") if any(name in file for name in names)]
