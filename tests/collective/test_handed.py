"""What a CUDA-aware library is handed: GPU memory in the calls that are known to work with it, else host memory.

src/machine/handed.def has a row for each library and kind of call.
"""

from pathlib import Path

import handed_worker as worker
import pytest

from support import defects, needs, p2p, shim
from support.programs import compiled, mpicc
from support.ranks import Ranks

pytestmark = needs.fake_device("tells the fake device's memory by its mapping")

OPERATIONS = ("Reduce", "Allreduce", "Scan", "Exscan", "Reduce_scatter", "Reduce_scatter_block")
BLOCKING = OPERATIONS
NONBLOCKING = tuple(f"I{name.lower()}" for name in OPERATIONS)
PERSISTENT = tuple(f"{name}_init" for name in OPERATIONS if p2p.has(f"{name}_init"))
N_RANKS = 2
AWARE = {"TEMPI_DEVICE": "fake", "TEMPI_CUDA_AWARE": "1"}
ON_HOST = [(["host"], True)] * N_RANKS
HANDED = [(["GPU"], True)] * N_RANKS


@pytest.fixture(scope="module")
def below(tmp_path_factory):
    tool = compiled(
        mpicc(), Path(__file__).parent / "given_tool.c", tmp_path_factory.mktemp("tool"), "-shared", "-fPIC"
    )
    return {rank: {"LD_PRELOAD": f"{shim.preload()} {tool}"} for rank in range(N_RANKS)}


@pytest.fixture(scope="module")
def job(below):
    """No message is direct, so that the library may be handed memory of the program between processes of a node."""
    with Ranks(N_RANKS, AWARE | {"TEMPI_NO_DIRECT": "1"}, below) as ranks:
        yield ranks


@pytest.mark.parametrize("name", NONBLOCKING + PERSISTENT)
def test_nonblocking_and_persistent_reductions_get_host_memory(job, name):
    assert job.call(worker.reduction, name) == ON_HOST


@pytest.mark.parametrize("name", BLOCKING)
def test_blocking_reductions_get_gpu_memory(job, name):
    for given, is_right in job.call(worker.reduction, name):
        assert "GPU" in given
        assert is_right


@pytest.mark.parametrize("name", ["Allreduce", "Iallreduce"])
def test_reductions_between_two_groups_get_host_memory(job, name):
    assert job.call(worker.reduction_between_groups, name) == ON_HOST


def test_local_reductions_get_host_memory(job):
    assert job.call(worker.local_reduction) == ON_HOST


def test_accumulations_get_host_memory(job):
    assert job.call(worker.access, "Accumulate") == ON_HOST


def test_accesses_get_gpu_memory(job):
    assert job.call(worker.access, "Put") == HANDED


def test_nonblocking_movement_gets_gpu_memory_where_that_is_known_to_work(job):
    is_known = defects.library_name() != "openmpi"
    assert job.call(worker.movement) == (HANDED if is_known else ON_HOST)


@pytest.mark.parametrize("name", ["Put", "Accumulate"])
def test_one_sided_calls_get_host_memory_where_messages_may_be_direct(below, name):
    """The target may be another process of the node."""
    with Ranks(N_RANKS, AWARE | {"TEMPI_NO_DIRECT": "0"}, below) as job:
        assert job.call(worker.access, name) == ON_HOST
        assert job.call(worker.reduction, "Iallreduce") == ON_HOST
