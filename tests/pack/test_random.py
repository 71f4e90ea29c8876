"""MPI_Pack and MPI_Unpack of random datatypes, through the host and the fake device engine: over 20,000 cases in CI."""

import pytest
from hypothesis import given

from support import memory
from support.effort import examples
from support.memory import GPU_KINDS, HOST
from support.packing import cases, check_pack, check_unpack

pytestmark = pytest.mark.mpi_process(TEMPI_DEVICE="fake", TEMPI_HOST_PACK="ours")


@examples(7000)
@given(case=cases())
def test_pack_between_any_two_kinds_of_memory(tally, case):
    tally.add(check_pack(case, memory.fake))


@examples(7000)
@given(case=cases())
def test_unpack_between_any_two_kinds_of_memory(tally, case):
    tally.add(check_unpack(case, memory.fake))


@examples(2000)
@given(case=cases(kinds=("device",)))
def test_pack_within_device_memory(tally, case):
    tally.add(check_pack(case, memory.fake))


@examples(2000)
@given(case=cases(kinds=("device",)))
def test_unpack_within_device_memory(tally, case):
    tally.add(check_unpack(case, memory.fake))


@examples(2000)
@given(case=cases(kinds=(HOST,)))
def test_pack_within_host_memory(tally, case):
    tally.add(check_pack(case, memory.fake))


@examples(2000)
@given(case=cases(kinds=(HOST,)))
def test_unpack_within_host_memory(tally, case):
    tally.add(check_unpack(case, memory.fake))


@pytest.mark.mpi_process(TEMPI_VERIFY="1")
@examples(200)
@given(case=cases(kinds=GPU_KINDS))
def test_verify_finds_no_difference(tally, case):
    tally.add(check_pack(case, memory.fake))
    tally.add(check_unpack(case, memory.fake))


@pytest.mark.mpi_process(TEMPI_NO_TYPE_COMMIT="1", TEMPI_FAKE_SEED="7")
@examples(200)
@given(case=cases())
def test_datatypes_are_analysed_at_first_use_too(tally, case):
    tally.add(check_pack(case, memory.fake))
    tally.add(check_unpack(case, memory.fake))
