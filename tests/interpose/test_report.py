"""TEMPI_REPORT: one table a node of the ranks that report; no rank waits for others, no file is left behind."""

import fcntl
import os
import re
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from support import needs, programs, shim
from support.defects import is_open_mpi_4
from support.programs import mpirun_python, run

COMMIT = """
import os, signal, sys
from mpi4py import MPI
MPI.INT.Create_vector(4, 1, 3).Commit().Free()
"""
TIDYING_SECONDS = 5.0  # for another test run of this user, whose jobs are killed too
FLOCK = "hhqqi4x"


def is_abandoned(path):
    """True if no process holds a lock on a file that exists."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        asked = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        return struct.unpack(FLOCK, fcntl.fcntl(file, fcntl.F_OFD_GETLK, asked))[0] == fcntl.F_UNLCK
    return False


def left_behind():
    return set(filter(is_abandoned, Path("/dev/shm").glob(f"tempi-report-{os.geteuid()}-*")))


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    before = left_behind()
    yield
    deadline = time.monotonic() + TIDYING_SECONDS
    while (left := left_behind() - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == set()


@pytest.fixture
def job(tmp_path):
    """Runs a program with an environment for each rank."""

    def call(of_ranks, more=""):
        (tmp_path / "rank.py").write_text(COMMIT + more)
        return run(mpirun_python(of_ranks, tmp_path / "rank.py"), shim.clean_environment(), timeout=60)

    return call


def reporting(**more):
    return {"LD_PRELOAD": shim.preload(), "TEMPI_REPORT": "1"} | more


def commits(text):
    rows = re.findall(r"^tempi: MPI_Type_commit +\S.*?  +(\d+) +\d+$", text, re.MULTILINE)
    return sum(map(int, rows))


@pytest.mark.parametrize(
    "other",
    [{}, {"LD_PRELOAD": shim.preload()}, reporting(TEMPI_DISABLE="1")],
    ids=["without the shim", "without a report", "disabled"],
)
@pytest.mark.parametrize("first", [True, False])
def test_ranks_that_do_not_report_are_not_waited_for(job, other, first):
    done = job([reporting(), other] if first else [other, reporting()])
    assert done.code == 0, done.text
    assert re.findall(r"tempi: report of (.*) on", done.err) == ["1 rank"]
    assert commits(done.err) == 1


def test_all_ranks_of_a_node_are_in_one_table(job):
    done = job([reporting()] * 4)
    assert re.findall(r"tempi: report of (.*) on", done.err) == ["4 ranks"], done.text
    assert commits(done.err) == 4


def test_calls_that_come_back_from_a_tool_below_are_not_counted(job, tmp_path):
    tool = programs.compiled(programs.mpicc(), "coming_back_tool.c", tmp_path, "-shared", "-fPIC")
    done = job([reporting(LD_PRELOAD=f"{shim.preload()} {tool}")] * 2)
    assert re.findall(r"tempi: report of (.*) on", done.err) == ["2 ranks"], done.text
    assert commits(done.err) == 2


def test_a_killed_job_is_tidied_up_by_the_next_one(job):
    job([reporting()] * 2, "if MPI.COMM_WORLD.rank == 1: os.kill(os.getpid(), signal.SIGKILL)\n")
    assert job([reporting()]).code == 0


def test_a_rank_that_died_is_not_waited_for(tmp_path, job):
    """Two processes that take each other for ranks of one job, but not with Open MPI 4: the second one is killed."""
    (tmp_path / "rank.py").write_text(COMMIT + "print(flush=True); sys.stdin.readline()\n")
    of_slurm = {"SLURM_JOB_ID": "1", "SLURM_STEP_ID": str(os.getpid()), "SLURM_PROCID": "0"}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(tmp_path / "rank.py")],
            env=shim.preloaded(TEMPI_REPORT="1") | of_slurm,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    try:
        for rank in ranks:
            assert rank.stdout.readline() == "\n"
        ranks[1].kill()
        ranks[1].communicate(timeout=30)
        _, told = ranks[0].communicate("\n", timeout=30)
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    without = "" if is_open_mpi_4() else ", without 1 that"
    assert re.findall(r"tempi: report of (.*) on [^\s,]+(, without \d that)?", told) == [("1 rank", without)], told
    assert job([reporting()]).code == 0  # tidies up what the second one has left with Open MPI 4


@needs.function("Session_init")
def test_programs_with_sessions_get_a_report(tmp_path):
    program = programs.compiled(programs.mpicc(), "sessions.c", tmp_path)
    done = run([str(program)], shim.preloaded(TEMPI_REPORT="1"))
    assert done.out == "ok\n", done.text
    assert re.findall(r"tempi: report of (.*) on", done.err) == ["1 rank"]
    assert commits(done.err) == 2


CALLS = """
from mpi4py import MPI
import numpy as np
comm, a = MPI.COMM_WORLD, np.zeros((8, 8))
column = MPI.DOUBLE.Create_subarray((8, 8), (8, 1), (0, 3)).Commit()
peer = 1 - comm.rank
for _ in range(40):
    MPI.Request.Waitall([comm.Irecv([a, 1, column], peer), comm.Isend([a, 1, column], peer)])
comm.Send([a, 1, column], MPI.PROC_NULL)
comm.Sendrecv(a, peer, 0, np.zeros((8, 8)), peer)  # contiguous
comm.Bcast([a, 64, MPI.DOUBLE])
comm.Allreduce(MPI.IN_PLACE, [a, 64, MPI.DOUBLE])
comm.Alltoall(a[:4], a[4:])
window = MPI.Win.Create(a, comm=comm)
window.Fence()
window.Put([a, 1, column], peer)
window.Fence()
window.Free()
pair = [comm.Recv_init([a, 1, column], peer), comm.Send_init([a, 1, column], peer)]
for _ in range(3):
    MPI.Prequest.Startall(pair)
    MPI.Request.Waitall(pair)
"""


@pytest.mark.parametrize("device", ["none", "fake"])
def test_every_call_that_is_seen_is_listed(tmp_path, device):
    """In host memory without a profile, too, where all of them are the library's."""
    (tmp_path / "rank.py").write_text(CALLS)
    environment = shim.preloaded(TEMPI_REPORT="1", TEMPI_DEVICE=device, TEMPI_CACHE_DIR=str(tmp_path))
    done = run(mpirun_python([environment] * 2, tmp_path / "rank.py"), shim.clean_environment(), timeout=60)
    assert done.code == 0, done.text
    rows = re.findall(
        r"^tempi: (MPI_\w+) +passed on: library \(handled by the MPI library\) +(\d+) +(\d+)", done.text, re.MULTILINE
    )
    counts = {name: (int(calls), int(size)) for name, calls, size in rows}
    assert counts["MPI_Isend"] == counts["MPI_Irecv"] == (80, 80 * 64)
    assert counts["MPI_Sendrecv"] == (2 * 2, 2 * 2 * 512)  # a send and a receive
    assert counts["MPI_Bcast"] == (2, 2 * 512)
    assert counts["MPI_Allreduce"] == (2, 2 * 512)  # in place: one buffer
    assert counts["MPI_Alltoall"] == (2, 2 * 2 * 256)
    assert counts["MPI_Put"] == (2, 2 * 64)
    assert counts["MPI_Recv_init"] == counts["MPI_Send_init"] == (2, 2 * 64)
    (starts,) = re.findall(r"^tempi: MPI_Start +starts of persistent requests\S* .* (\d+) +0$", done.text, re.MULTILINE)
    assert int(starts) == 2 * 3 * 2
    assert counts["MPI_Send"] == (2, 0)  # to MPI_PROC_NULL mpi4py sends nothing
