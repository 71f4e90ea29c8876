"""No program that the standard promises to finish hangs. A call that does not come back in time fails its test."""

import progress_worker as worker
import pytest

from support import effort, memory
from support.messages import KINDS

MULTIPLE = 3  # the thread level
SMALL, LARGE = 12, 75_000  # ints: within and over the eager limits
SETUPS = {
    "": {},
    "small pools": {"TEMPI_POOL_LIMIT": "4096"},
}
if effort.IS_FULL:
    SETUPS["staged, small pools"] = {"TEMPI_STRATEGY": "staged", "TEMPI_POOL_LIMIT": "4096"}
FEW_KINDS = KINDS if effort.IS_FULL else KINDS[:2]  # host and device


@pytest.fixture(params=SETUPS, scope="module")
def pair(request, ranks):
    return lambda: ranks(2, TEMPI_DEVICE="fake", **SETUPS[request.param])


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", KINDS)
def test_head_to_head_in_all_orders(pair, kind):
    for n_ints in (SMALL, LARGE):
        pair().call(worker.head_to_head, kind, n_ints)


@pytest.mark.sample(3)
@pytest.mark.parametrize("call", worker.BLOCKING)
def test_sends_make_progress_in_blocking_calls(pair, call):
    for kind in FEW_KINDS:
        for n_ints in (SMALL, LARGE):
            pair().call(worker.isend_then_blocking, kind, n_ints, call)


ONE_SIDED = ("Probe", "Mprobe", "Recv", "Ssend and Recv")  # in which rank 0 would not wait for rank 1


@pytest.mark.sample(3)
@pytest.mark.parametrize("call", [call for call in worker.BLOCKING if call not in ONE_SIDED])
def test_one_rank_receives_while_the_other_blocks(pair, call):
    # MPICH alone, in MPI_Intercomm_create, leaves large strided messages from host memory where they are.
    for kind in FEW_KINDS if call != "Intercomm_create" else filter(memory.needs_shim, FEW_KINDS):
        pair().call(worker.one_rank_in_a_blocking_call, kind, LARGE, call)


def test_many_sends_before_the_first_receive(pair):
    for n_ints, n_messages in ((SMALL, 100), (LARGE, 8)):
        pair().call(worker.crossing, KINDS, n_ints, n_messages)


@pytest.mark.parametrize("kind", KINDS)
def test_persistent_sends_before_a_barrier(pair, kind):
    for n_ints in (SMALL, LARGE):
        pair().call(worker.started_persistent_then_barrier, kind, n_ints)


@pytest.mark.sample(2)
@pytest.mark.usefixtures("thread_multiple")
@pytest.mark.parametrize("kind", KINDS)
def test_many_threads(pair, kind):
    assert pair().call(worker.thread_level) == [MULTIPLE, MULTIPLE]
    for n_ints in (SMALL, LARGE):
        assert pair().call(worker.many_threads, kind, n_ints, 4, 5) == [20, 20]
