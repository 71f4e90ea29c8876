"""Processes that a program makes with MPI_Comm_spawn are handled as the program itself is."""

import sys

import pytest

from support import needs
from support.defects import is_intel, is_mpich_4_0, is_open_mpi_4

PROGRAM = """
import os, sys
import numpy as np
from mpi4py import MPI
import tempi
from tempi.testing import FakeArray

COLUMN = MPI.INT.Create_vector(100, 1, 3).Commit()
parent = MPI.Comm.Get_parent()
if parent == MPI.COMM_NULL:
    info = MPI.Info.Create()
    for key, value in zip(sys.argv[1::2], sys.argv[2::2]):
        info.Set(key, value)
    SPAWN
    values = FakeArray.from_numpy(np.zeros(300, np.int32))
    child.Recv([values, 1, COLUMN], 0, 7)
    print((values.to_numpy()[::3] == np.arange(0, 300, 3)).all(), values.to_numpy().sum(), child.recv(source=0))
    child.Disconnect()
else:
    if parent.Get_remote_size() and MPI.COMM_WORLD.rank == 0:
        values = FakeArray.from_numpy(np.arange(300, dtype=np.int32))
        parent.Send([values, 1, COLUMN], 0, 7)
        parent.send((tempi.enabled(), os.environ.get("MINE"), os.environ["TEMPI_FAKE_SEED"]), 0)
    parent.Disconnect()
"""
SPAWN = {
    "one": "child = MPI.COMM_SELF.Spawn(sys.executable, [__file__], 2, info)",
    "without info": "child = MPI.COMM_WORLD.Spawn(sys.executable, [__file__], 1)",
    "several": "child = MPI.COMM_SELF.Spawn_multiple([sys.executable] * 2, [[__file__]] * 2, [1, 1], [info] * 2)",
}


@pytest.fixture
def run_spawning(tempi, tmp_path):
    def call(how, *arguments):
        path = tmp_path / "program.py"
        path.write_text(PROGRAM.replace("SPAWN", SPAWN[how]))
        options = ("-o", "device=fake", "-o", "fake_seed=3")
        return tempi("run", *options, "--", "mpirun", "-n", 1, sys.executable, path, *arguments)

    return call


def cannot_spawn(text):
    """Libraries that fail without the shim, too: Debian's MPICH, and Intel MPI 2021.18."""
    return (is_mpich_4_0() and "Error in spawn call" in text) or (is_intel() and "Segmentation fault" in text)


def check(done, expected):
    if cannot_spawn(done.text):
        assert done.code != 0
    else:
        assert (done.code, done.out) == (0, expected), done.text


@pytest.mark.sample(2)
@pytest.mark.mpi
@pytest.mark.parametrize("how", list(SPAWN))
def test_children_get_the_shim_and_its_options(run_spawning, how):
    check(run_spawning(how), "True 14850 (True, None, '3')\n")


@pytest.mark.mpi
@needs.open_mpi("the keys of the info argument are Open MPI's own")
@pytest.mark.parametrize("key", ["env"] if is_open_mpi_4() else ["env", "PMIX_ENVAR"])
def test_what_the_program_asks_for_is_kept(run_spawning, key):
    done = run_spawning("one", key, "MINE=kept\nTEMPI_FAKE_SEED=5")
    check(done, "True 14850 (True, 'kept', '5')\n")
