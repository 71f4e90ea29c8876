"""A node that goes away in the middle of an exchange: the job ends, soon, and nothing of it stays on the others."""

import os
import re
import subprocess
import sys
import time

import cluster
import pytest
from hosts import Hosts, why_not

from support import needs, shim
from support.programs import mpirun_python

MOST_SECONDS = 60
DIRECT = {"TEMPI_DEVICE": "fake", "TEMPI_STRATEGY": "auto", "TEMPI_NO_DIRECT": "0"}


@pytest.fixture
def hosts(tmp_path):
    """Of this test alone: one is lost."""
    needs.hosts(why_not())
    made = Hosts(3, tmp_path, cluster.shared_folders())
    yield made
    made.close()


def wait_until_none(find):
    end = time.monotonic() + 10
    while (found := find()) and time.monotonic() < end:
        time.sleep(0.1)
    return found


def doors(hosts, name):
    """The names of the shared segments of a host, of which connections nobody has accepted show more than once."""
    command = [*hosts.on(name), "cat", "/proc/net/unix"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return set(re.findall("@(tempi-mailbox-.*)", listed))


WAITS = pytest.mark.skipif(not cluster.IS_OPEN_MPI, reason="Hydra waits for a host without a network: take Open MPI")


@pytest.mark.sample(1)
@pytest.mark.parametrize("how", ["its processes are killed", pytest.param("its network, too", marks=WAITS)])
def test_a_node_that_goes_away(hosts, how):
    environment = DIRECT | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LD_PRELOAD": shim.preload()}
    program = cluster.HERE / "lasting_program.py"
    command = mpirun_python([environment] * 6, program, launcher=cluster.launcher(hosts, [2, 2, 2]))
    with subprocess.Popen(command, env=shim.clean_environment(), stdout=subprocess.PIPE, text=True) as job:
        try:
            assert job.stdout.readline() == "exchanging\n"
            assert len(doors(hosts, "node1")) == 2
            if how == "its network, too":
                hosts.cut_off("node3")
            hosts.kill_processes("node3")
            job.communicate(timeout=MOST_SECONDS)  # of which Open MPI's launcher says 0
        finally:
            job.kill()
    for name in ("node1", "node2"):
        assert not wait_until_none(lambda name=name: hosts.processes(name)), name
        assert not wait_until_none(lambda name=name: doors(hosts, name)), name
        assert not [file for file in hosts.shared_memory(name) if "tempi" in file]
