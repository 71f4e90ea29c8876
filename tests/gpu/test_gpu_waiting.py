"""A stream waits for a late peer: functions of CUDA that may wait for the stream return when the peer comes."""

import pytest

from support import gpu_memory, needs
from support.ranks import Ranks

pytestmark = pytest.mark.two_gpus
MEANWHILE = ("first_launch_of_a_kernel", "allocations", "many_launches", "many_streams", "blocking_messages")


OPTIONS = {"TEMPI_STRATEGY": "auto", "TEMPI_NO_DIRECT": "0"}


def _must_have_two_gpus():
    if gpu_memory.gpu_count() < 2:
        pytest.skip("needs 2 GPUs: ranks that share one have no channel")


@pytest.fixture(scope="module")
def job():
    _must_have_two_gpus()
    with Ranks(2, OPTIONS) as ranks:
        yield ranks


@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_the_program_goes_on_while_its_stream_waits(job, meanwhile):
    import gpu_waiting_worker as worker

    job.call(worker.while_an_exchange_waits, meanwhile, timeout=60)


@pytest.mark.parametrize("n", [100_000])
def test_a_graph_is_replayed(job, n):
    import gpu_waiting_worker as worker

    job.call(worker.replays, n, timeout=120)


@pytest.mark.parametrize("captured", [False, True], ids=["queued", "captured"])
def test_a_peer_that_is_too_late(captured):
    """TEMPI_STREAM_TIMEOUT: the stream of the other rank goes on, and the next start of each rank says why."""
    import gpu_waiting_worker as worker

    _must_have_two_gpus()
    with Ranks(2, {**OPTIONS, "TEMPI_STREAM_TIMEOUT": "1"}) as ranks:
        (seconds, said), (_, said_late) = ranks.call(worker.too_late, 4.0, captured, timeout=60)
    assert seconds < 3.5
    for text in (said, said_late):
        assert "TEMPI_STREAM_TIMEOUT" in text


def test_a_kernel_of_the_program_fails():
    """Neither rank waits for ever, and MPI_Finalize returns."""
    import gpu_waiting_worker as worker

    _must_have_two_gpus()
    with Ranks(2, OPTIONS) as ranks:
        failed, other = ranks.call(worker.a_kernel_fails, timeout=60)
    assert "CUDA" in failed.upper()
    assert "has failed" in other


@needs.function("Allreduce_init")
@pytest.mark.parametrize("captured", [False, True], ids=["queued", "captured"])
@pytest.mark.parametrize("count", [1, 1000, 400_000, 3_000_000])
def test_reductions_in_a_stream(job, count, captured):
    import gpu_waiting_worker as worker

    job.call(worker.reductions, count, captured, timeout=60)


@needs.function("Allreduce_init")
def test_movements_in_a_stream(job):
    import gpu_waiting_worker as worker

    job.call(worker.movements, 5, timeout=60)
