"""Any slice of any array, sent and received by tempi.view, arrives as NumPy would have copied it."""

import pytest
import view_worker as worker
from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI
from slices import cases, check_received, source_of, target_of

from support import memory
from support.effort import examples
from support.messages import KINDS

ALONE = pytest.mark.mpi_process(shim=False)
SHIM = pytest.mark.mpi_process(TEMPI_DEVICE="fake")


def check_to_self(case):
    import tempi

    source, target = source_of(case), target_of(case)
    MPI.COMM_SELF.Sendrecv(tempi.view(source.array), 0, recvbuf=tempi.view(target.array), source=0)
    check_received(case, target)


@ALONE
@examples(1000)
@given(cases())
def test_slices_to_oneself_by_the_library_alone(case):
    check_to_self(case)


@SHIM
@examples(1000)
@given(cases(KINDS))
def test_slices_of_any_memory_to_oneself(case):
    check_to_self(case)


@pytest.mark.mpi
@examples(250, shrinks=False)
@given(cases(), st.sampled_from(worker.WAYS))
def test_slices_between_ranks_by_the_library_alone(ranks, case, way):
    ranks(2, preload=False).call(worker.transfer, case, way)


@pytest.mark.mpi
@examples(250, shrinks=False)
@given(cases(KINDS), st.sampled_from(worker.WAYS))
def test_slices_of_any_memory_between_ranks(ranks, case, way):
    if way in worker.COLLECTIVE and memory.needs_shim(*case.kinds):
        way = "Send"  # collectives of device memory are the library's
    ranks(2, TEMPI_DEVICE="fake").call(worker.transfer, case, way)
