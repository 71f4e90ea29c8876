"""Any slice of any array, sent and received by tempi.view, arrives as NumPy would have copied it."""

import dlpack_objects
import numpy as np
import pytest
import view_worker as worker
from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI
from slices import cases, check_received, random_bytes, source_of, target_of

from support import memory
from support.effort import examples
from support.messages import KINDS

ALONE = pytest.mark.mpi_process(shim=False)
SHIM = pytest.mark.mpi_process(**({} if memory.on_real_gpu() else {"TEMPI_DEVICE": "fake"}))


def check_to_self(case):
    import tempi

    source, target = source_of(case), target_of(case)
    MPI.COMM_SELF.Sendrecv(tempi.view(source.array), 0, recvbuf=tempi.view(target.array), source=0)
    check_received(case, target)


@ALONE
@examples(600)
@given(cases())
def test_slices_to_oneself_by_the_library_alone(case):
    check_to_self(case)


@SHIM
@examples(600)
@given(cases(KINDS))
def test_slices_of_any_memory_to_oneself(case):
    check_to_self(case)


@SHIM
@pytest.mark.parametrize("strides", [(20, -1), (0, 1), (1, 1), (5, 0)], ids=str)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("device")])
def test_gpu_memory_of_dlpack_alone(kind, strides):
    """Among them broadcasts and sliding windows, of which bytes are sent more than once."""
    import tempi

    contents = random_bytes(8 * 60, 1)
    first = contents.view(np.int64)[4:]
    wanted = np.lib.stride_tricks.as_strided(first, (3, 5), tuple(8 * stride for stride in strides))
    buffer, target = memory.at_hand(kind, contents), np.zeros((3, 5), np.int64)
    source = dlpack_objects.Handmade(
        buffer.address, (3, 5), strides, dlpack_objects.CUDA, dlpack_objects.INT, byte_offset=4 * 8
    )
    MPI.COMM_SELF.Sendrecv(tempi.view(source), 0, recvbuf=target, source=0)
    np.testing.assert_array_equal(target, wanted)


@pytest.mark.mpi
@examples(150, shrinks=False)
@given(cases(), st.sampled_from(worker.WAYS))
def test_slices_between_ranks_by_the_library_alone(ranks, case, way):
    ranks(2, preload=False).call(worker.transfer, case, way)


@pytest.mark.mpi
@examples(150, shrinks=False)
@given(cases(KINDS), st.sampled_from(worker.WAYS))
def test_slices_of_any_memory_between_ranks(ranks, case, way):
    if way in worker.COLLECTIVE and memory.needs_shim(*case.kinds):
        way = "Send"  # collectives of device memory are the library's
    ranks(2, TEMPI_DEVICE="fake").call(worker.transfer, case, way)
