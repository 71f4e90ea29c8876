"""CuPy programs that never synchronise: MPI calls come after a stream's work, and before its later work."""

import pytest

from support.ranks import Ranks

CALLS = ("sendrecv", "nonblocking", "persistent", "pack", "with a collective")


@pytest.fixture(scope="module", params=["default", "direct", "packed"])
def job(request):
    options = {"direct": {"TEMPI_STRATEGY": "direct"}, "packed": {"TEMPI_NO_DIRECT": "1"}}.get(request.param, {})
    with Ranks(2, {"TEMPI_STREAM": "legacy", **options}) as ranks:
        yield ranks


@pytest.mark.parametrize("own_stream", [False, True], ids=["legacy stream", "own stream"])
@pytest.mark.parametrize("kind", ["device", "managed"])
@pytest.mark.parametrize("call", CALLS)
def test_kernels_and_messages_in_a_stream(job, call, kind, own_stream):
    import gpu_stream_worker as worker

    job.call(worker.loop, call, kind, own_stream, timeout=60)


def test_packing_in_a_captured_graph(job):
    import gpu_stream_worker as worker

    job.call(worker.capture, timeout=60)


@pytest.mark.parametrize("own_stream", [False, True], ids=["legacy stream", "own stream"])
def test_a_receive_that_a_query_has_unpacked(job, own_stream):
    import gpu_stream_worker as worker

    job.call(worker.query, own_stream, timeout=60)
