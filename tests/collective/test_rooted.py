"""MPI_Scatter, MPI_Scatterv, MPI_Gather and MPI_Gatherv between GPUs are direct messages, in every form."""

from itertools import product

import pytest
import rooted_errors_worker as errors
import rooted_worker as worker
from by_messages_worker import PATIENT
from mpi4py import MPI
from rooted_worker import OPERATIONS

from support import effort, needs
from support.ranks import Ranks

PER_TEST = 200
ROUNDS = 3
HOST, MANAGED = ("host", "host"), ("managed", "managed")
LIFETIMES = ["blocking", "nonblocking", pytest.param("persistent", marks=needs.function("Gather_init"))]
all_operations = pytest.mark.parametrize("operation", OPERATIONS)
all_lifetimes = pytest.mark.parametrize("lifetime", LIFETIMES)


@pytest.fixture
def job(ranks):
    return lambda size: ranks(size, **PATIENT)


@pytest.mark.sample(2)
@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_random_calls(job, drawn, size):
    """Of any datatypes, counts, displacements and memories, against the type map."""
    seeds = [drawn.getrandbits(30) for _ in range(effort.scaled(PER_TEST, least=30))]
    assert job(size).call(worker.check_seeds, seeds, timeout=120) == [len(seeds)] * size


@all_operations
@all_lifetimes
@pytest.mark.parametrize("in_place", [False, True], ids=["", "in place"])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_messages_of_every_root_are_direct_and_share_launches(job, operation, lifetime, in_place, size):
    found = job(size).call(worker.every_root, operation, lifetime, in_place, ROUNDS, timeout=120)
    assert found == [size] * size


@all_operations
@pytest.mark.parametrize("lifetime", LIFETIMES[:2])
@pytest.mark.parametrize("root", [0, 1])
@pytest.mark.parametrize("kinds", [HOST, MANAGED, ("host", "device"), ("device", "host")], ids="-".join)
def test_other_memory_on_a_rank(job, operation, lifetime, root, kinds):
    """It is the root's or another rank's."""
    found = job(3).call(worker.some_memory, operation, lifetime, root, {1: kinds}, ROUNDS)
    assert found[0] == ROUNDS
    assert found[1] == ROUNDS or kinds != MANAGED


@all_operations
@needs.function("Gather_init")
def test_a_persistent_call_with_host_memory_is_the_library_s(job, operation):
    assert job(3).call(worker.some_memory, operation, "persistent", 0, {1: HOST}, ROUNDS) == [0] * 3


@pytest.mark.parametrize("size", [2, 3, 4])
def test_calls_under_way_together(job, drawn, size):
    seed, rounds = drawn.getrandbits(30), effort.scaled(100, least=10)
    assert job(size).call(worker.under_way_together, seed, rounds, timeout=120) == [rounds] * size


@all_operations
def test_roots_that_there_are_not(job, operation):
    for found in job(2).call(errors.roots_that_there_are_not, operation):
        assert set(found) == {MPI.ERR_ROOT}


@pytest.mark.sample(3)
@all_operations
@all_lifetimes
def test_blocks_that_are_too_long(operation, lifetime):
    with Ranks(3, PATIENT) as job:
        found = job.call(errors.too_many, operation, lifetime, timeout=60)
    receiver = 2 if operation.startswith("Scatter") else 0
    assert found == [MPI.ERR_TRUNCATE if rank == receiver else MPI.SUCCESS for rank in range(3)]


@pytest.mark.sample(3)
@all_lifetimes
@pytest.mark.parametrize("operation", ["Scatter", "Gather"])
@pytest.mark.parametrize("error", [MPI.ERR_TYPE, MPI.ERR_COUNT], ids=["datatype", "count"])
def test_one_rank_errs(operation, lifetime, error):
    """The others go on: small blocks are sent before their receiver comes."""
    with Ranks(3, {**PATIENT, "TEMPI_MATCH_TIMEOUT": "1000"}) as job:
        found = job.call(errors.one_rank_errs, operation, lifetime, error == MPI.ERR_TYPE, timeout=60)
    receiver = 2 if operation == "Scatter" else 0
    assert found[receiver] in (error, MPI.ERR_ARG)
    assert found == [found[receiver] if rank == receiver else MPI.SUCCESS for rank in range(3)]


@pytest.mark.sample(3)
@needs.fake_device("failures of the fake device")
@all_lifetimes
@pytest.mark.parametrize("operation", ["Scatterv", "Gatherv"])
@pytest.mark.parametrize("failure", ["map:1", "share:1", "share:3", "launch:2"])
def test_failing_devices(operation, lifetime, failure):
    with Ranks(3, PATIENT, {0: {"TEMPI_FAKE_FAIL": failure}}) as job:
        for root in (0, 1):
            job.call(worker.some_memory, operation, lifetime, root, {}, 8, timeout=60)


@pytest.mark.parametrize("without", [{"TEMPI_DISABLE": "1"}, {"TEMPI_NO_DIRECT": "1"}])
def test_a_rank_that_does_not_take_part(without):
    kinds = {1: HOST} if "TEMPI_NO_DIRECT" not in without else {}
    with Ranks(3, PATIENT, {1: without}) as job:
        for operation, lifetime in product(OPERATIONS, ("blocking", "nonblocking")):
            assert job.call(worker.some_memory, operation, lifetime, 0, kinds, ROUNDS, timeout=60) == [0] * 3
