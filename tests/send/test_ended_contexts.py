"""GPU contexts that the program ends (cudaDeviceReset, cuCtxDestroy) between messages. What belonged to one is never
given back: the fake device aborts then. Its next context uses the same addresses."""

import ended_contexts_worker as worker
import pytest
from test_direct import DIRECT, FACES, gpu_end

from support import needs
from support.messages import End

pytestmark = needs.fake_device("a real GPU's contexts are ended by programs of their own: gpu/test_gpu_contexts.py")

STRATEGIES = ("oneshot", "staged", "device")
OWN_JOB = {"TESTS_CASE": "ended contexts"}
VOID = "the case is void: no buffer came to the address of one of an ended context"


def options_of(strategy):
    return {"TEMPI_DEVICE": "fake", "TEMPI_STRATEGY": strategy, "TEMPI_CUDA_AWARE": str(int(strategy == "device"))}


def ends():
    return gpu_end(FACES[0]), gpu_end(FACES[1])


@pytest.mark.parametrize("ranks_that_end", [[0], [1], [0, 1]], ids=str)
@pytest.mark.parametrize("n_ranks", [1, 2, 3])
def test_messages_are_direct_in_each_phase(ranks, n_ranks, ranks_that_end):
    job = ranks(n_ranks, **DIRECT, **OWN_JOB, TEMPI_MATCH_TIMEOUT="5000000")
    for direct in job.call(worker.phases, *ends(), 4, ranks_that_end, timeout=60):
        assert direct == [8] * 4


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_packed_messages_arrive_in_each_phase(ranks, strategy):
    for direct in ranks(2, **options_of(strategy), **OWN_JOB).call(worker.phases, *ends(), 4, [0, 1], timeout=60):
        assert direct == [0] * 4


@pytest.mark.parametrize("strategy", ["oneshot", "staged", "direct"])
def test_persistent_requests_whose_buffers_come_again(ranks, strategy):
    options = {**DIRECT, "TEMPI_MATCH_TIMEOUT": "5000000"} if strategy == "direct" else options_of(strategy)
    job = ranks(2, **options, **OWN_JOB)
    n_same = job.call(worker.renewed_requests, End("device", FACES[0], 1), End("device", FACES[1], 1), 5, timeout=60)
    assert min(n_same) > 0, VOID


@pytest.mark.parametrize("strategy", [*STRATEGIES, "direct"])
def test_requests_that_end_behind_their_context(ranks, strategy):
    options = DIRECT if strategy == "direct" else options_of(strategy)
    job = ranks(2, **options, **OWN_JOB)
    for _ in range(2):
        job.call(worker.freed_with_its_requests, *ends())


def test_a_posted_receive_whose_context_ends_is_not_written_to(ranks):
    job = ranks(2, **DIRECT, TESTS_CASE="posted receive whose context ends")  # it probes
    (direct, _), (_, fails) = job.call(worker.posted_receive)
    assert direct == 0
    assert fails
    (direct, *_), _ = job.call(worker.phases, *ends(), 1, [])
    assert direct == 8


@pytest.mark.parametrize("strategy", ["oneshot", "staged"])
@pytest.mark.usefixtures("thread_multiple")
def test_threads_that_end_before_and_after_the_context(ranks, strategy):
    job = ranks(1, **options_of(strategy), **OWN_JOB, TESTS_THREAD_LEVEL="3")
    job.call(worker.threads_end, gpu_end(FACES[0]), 4)
