"""MPI_Alltoall and its relatives with MPI_IN_PLACE: what is sent is read before a peer writes over it."""

from pathlib import Path

import in_place_worker as worker
import pytest
from by_messages_worker import PATIENT

from support import effort, needs, shim
from support.programs import compiled, mpicc
from support.ranks import Ranks

ROUNDS = 5
LIFETIMES = ["blocking", "nonblocking", pytest.param("persistent", marks=needs.function("Alltoallw_init"))]


@pytest.mark.sample(14)
@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("lifetime", LIFETIMES)
@pytest.mark.parametrize("operation", worker.OPERATIONS)
def test_blocks_change_places(ranks, operation, lifetime, size):
    n_calls = 1 if lifetime == "persistent" else ROUNDS
    for found in ranks(size, **PATIENT).call(worker.swaps, operation, lifetime, ROUNDS, {}):
        assert found == (n_calls, ROUNDS * (size - 1))


def test_host_memory_on_a_rank(ranks):
    found = ranks(3, **PATIENT).call(worker.swaps, "Alltoallw", "blocking", ROUNDS, {1: "host"})
    assert [n_by_messages for n_by_messages, _ in found] == [ROUNDS, 0, ROUNDS]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_memory_changes_from_call_to_call(ranks, drawn, size):
    """Nonblocking calls go the way of those before them, wherever their memory is."""
    seed, rounds = drawn.getrandbits(30), effort.scaled(100, least=30)
    for n_by_messages in ranks(size, **PATIENT).call(worker.memory_changes, seed, rounds, timeout=60):
        assert n_by_messages > 0


def test_a_datatype_that_is_not_understood(tmp_path):
    tool = compiled(mpicc(), Path(__file__).parent / "unknown_types_tool.c", tmp_path, "-shared", "-fPIC", "-ldl")
    preload = {"LD_PRELOAD": f"{shim.preload()} {tool}"}
    with Ranks(2, PATIENT, {0: preload, 1: preload}) as job:
        assert all(n > 0 for n in job.call(worker.unknown_datatype, 12, timeout=60))


FAILURES = ["map:1", "share:1", "launch:2", *(f"{kind}:{n}" for kind in ("allocate", "pinned") for n in (1, 2, 3))]


@pytest.mark.sample(2)
@needs.fake_device("failures of the fake device")
@pytest.mark.parametrize("lifetime", LIFETIMES)
@pytest.mark.parametrize("failure", FAILURES)
def test_failing_devices(failure, lifetime):
    """Memory out of reach, and no memory for what is sent."""
    with Ranks(2, PATIENT, {0: {"TEMPI_FAKE_FAIL": failure}}) as job:
        job.call(worker.swaps, "Alltoallw", lifetime, 8, {}, timeout=60)


@pytest.mark.parametrize("lifetime", LIFETIMES)
def test_a_library_that_takes_gpu_memory(ranks, lifetime):
    n_calls = 1 if lifetime == "persistent" else ROUNDS
    for found in ranks(2, TEMPI_CUDA_AWARE="1", **PATIENT).call(worker.swaps, "Alltoallw", lifetime, ROUNDS, {}):
        assert found == (n_calls, ROUNDS)
