"""The choice among several profiles, as the shim's log tells."""

import json
import shutil
import sys
from dataclasses import replace

import pytest

from support import shim
from support.programs import run
from tempi.model.fitting import Residual
from tempi.model.machine import Machine
from tempi.model.profile import Profile, write
from tempi.model.terms import Segment, Term

FACTS = """
import json
from mpi4py import MPI
from tempi._library import library
print(json.dumps(library().machine()))
"""
MESSAGE = """
from mpi4py import MPI
from tempi.testing import FakeArray
vector, array = MPI.INT.Create_vector(100, 1, 2).Commit(), FakeArray(200, "i")
received = FakeArray(200, "i")
MPI.COMM_WORLD.Sendrecv([array, 1, vector], 0, 0, [received, 1, vector], 0, 0)
"""
TERMS = {
    f"{what}.{how}": Term((Segment(0, 1e-6, 0, 0, 0, 0),)) for what in ("pack", "unpack") for how in ("host", "library")
}
TO_ONESELF = """
import numpy, tempi
from mpi4py import MPI
vector = MPI.INT.Create_vector(1000, 1, 2).Commit()
sent, received = numpy.arange(2000, dtype="i"), numpy.zeros(2000, "i")
MPI.COMM_WORLD.Sendrecv([sent, 1, vector], 0, 0, [received, 1, vector], 0, 0)
assert (received[::2] == sent[::2]).all() and not received[1::2].any()
print([row.outcome for row in tempi.stats() if row.function == "MPI_Sendrecv"])
"""
ON_HOST = {
    f"message.{how}.typed.self": Term((Segment(0, seconds, 0, 0, 0, 0),))
    for how, seconds in (("host", 1e-6), ("library", 1e-3))
}
FOUND = "messages are predicted from the profile "


@pytest.fixture
def environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # not the source tree, which has no built module
    found = {"TEMPI_DEVICE": "fake", "TEMPI_PROFILE": "auto", "TEMPI_CACHE_DIR": str(tmp_path / "cache")}
    return shim.preloaded(**found, TEMPI_LOG="info", UCX_TLS="all")


@pytest.fixture
def here(environment):
    done = run([sys.executable, "-c", FACTS], environment)
    return Machine.from_facts(json.loads(done.out.splitlines()[-1]))


def keep(machine, folder, name, terms=TERMS):
    write(Profile(machine, {}, (), terms, {name: Residual(0, 0, 1) for name in terms}), folder, name)


def taken(environment):
    done = run([sys.executable, "-c", MESSAGE], environment)
    assert done.code == 0, done.text
    return [line.partition(FOUND)[2].rpartition("/")[2] for line in done.err.splitlines() if FOUND in line]


def test_a_profile_with_the_same_transports_comes_before_a_newer_one(environment, here, tmp_path):
    assert here.transports["UCX_TLS"] == "all"
    keep(here, tmp_path / "cache", "same")
    keep(replace(here, transports={"UCX_TLS": "tcp"}), tmp_path / "cache", "newer")
    assert taken(environment) == ["same.fit"]
    assert taken(environment | {"UCX_TLS": "sm"}) == ["newer.fit"]


@pytest.mark.parametrize(
    "change",
    [{"host": "other"}, {"gpu": "Other"}, {"gpus": 7}, {"driver": "0"}, {"mpi": "Other"}, {"cuda_aware": True}],
)
def test_a_profile_of_another_machine_is_passed_over(environment, here, tmp_path, change):
    keep(replace(here, **change), tmp_path / "cache", "other")
    assert taken(environment) == []


def test_a_damaged_profile_costs_one_line(environment, here, tmp_path):
    keep(here, tmp_path / "cache", "good")
    (tmp_path / "cache" / "bad.fit").write_text("tempi-fit 1\nterm pack.host nonsense\n")
    assert taken(environment) == ["good.fit"]
    done = run([sys.executable, "-c", MESSAGE], environment)
    assert done.err.count("bad.fit is not used: line 2 has") == 1


def with_shipped_profiles(environment, tmp_path):
    """The environment with a library whose shipped profiles are in ``tempi/perfmodel/machines``."""
    library = tmp_path / "tempi" / "lib" / "abi" / "libtempi.so"
    library.parent.mkdir(parents=True)
    shutil.copy(shim.path(), library)
    return environment | {"LD_PRELOAD": shim.preload().replace(str(shim.path()), str(library))}


def test_a_profile_that_came_with_the_package_is_found(environment, here, tmp_path):
    keep(replace(here, host="-"), tmp_path / "tempi" / "perfmodel" / "machines", "shipped")
    assert taken(with_shipped_profiles(environment, tmp_path)) == ["shipped.fit"]


@pytest.mark.parametrize("is_own", [True, False])
def test_only_this_machines_own_profile_changes_messages_of_host_memory(environment, here, tmp_path, is_own):
    """Without a GPU, as most processes are."""
    machine = replace(here, gpu="none", gpus=0, driver="")
    if is_own:
        keep(machine, tmp_path / "cache", "own", ON_HOST)
    else:
        keep(replace(machine, host="-"), tmp_path / "tempi" / "perfmodel" / "machines", "shipped", ON_HOST)
    without_gpu = with_shipped_profiles(environment, tmp_path) | {"TEMPI_DEVICE": "none"}
    done = run([sys.executable, "-c", TO_ONESELF], without_gpu)
    assert done.code == 0, done.text
    assert ("taken: host packer" in done.out) == is_own
