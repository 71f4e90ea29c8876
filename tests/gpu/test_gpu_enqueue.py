"""Enqueued exchanges of CuPy arrays: behind late kernels, in graphs, in two streams. Ranks that share a GPU have no
channel: the same programs run with ordinary messages there."""

import pytest

from support import gpu_memory
from support.ranks import Ranks


@pytest.fixture(scope="module", params=[2, 4])
def job(request):
    with Ranks(request.param, {"TEMPI_STRATEGY": "auto", "TEMPI_NO_DIRECT": "0"}) as ranks:
        yield ranks


def has_channels(job):
    """Neighbours of the ring use different GPUs. The ranks use the GPUs in turn."""
    return all((rank - (rank + 1) % job.size) % gpu_memory.gpu_count() for rank in range(job.size))


@pytest.mark.parametrize("n", [1, 40])
def test_halo_exchanges_behind_kernels(job, n):
    import gpu_enqueue_worker as worker

    for channels in job.call(worker.halo, n, False, timeout=60):
        assert channels == n + 2  # without channels to the neighbours: those of the rank's messages to itself


@pytest.mark.two_gpus
@pytest.mark.parametrize("n", [1, 3000])
def test_halo_exchanges_in_a_graph(job, n):
    import gpu_enqueue_worker as worker

    if gpu_memory.gpu_count() < job.size:
        pytest.skip(f"needs {job.size} GPUs: kernels of ranks that share one take turns")
    job.call(worker.halo, n, True, timeout=60)


def test_requests_of_two_streams(job):
    import gpu_enqueue_worker as worker

    for channels in job.call(worker.two_streams, 30, timeout=60):
        assert channels == (60 if has_channels(job) else 0)
