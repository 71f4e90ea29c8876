"""MPI_BOTTOM over ordinary and GPU memory in one message."""

import pytest
import several_memories_worker as worker

from support import memory, needs
from support.ranks import Ranks

HEADER, DATA = 64 << 10, 4 << 10  # bytes of ordinary memory, of GPU memory
ORDERS = pytest.mark.parametrize("kinds", [("host", "device"), ("device", "host")], ids="-".join)
AWARE = [] if memory.on_real_gpu() else [{"TEMPI_CUDA_AWARE": "1"}]


@pytest.fixture(scope="module", params=[{}, {"TEMPI_STRATEGY": "staged"}, *AWARE], ids=str)
def job(request):
    with Ranks(2, {"TEMPI_DEVICE": "fake", **request.param}) as ranks:
        yield ranks


def check(job, kinds, sizes, sent, immediate):
    assert job.call(worker.transfer, kinds, sizes, sent, immediate) == [None, None]


@pytest.mark.sample(2)
@pytest.mark.parametrize("immediate", [False, True])
@ORDERS
def test_a_whole_message(job, kinds, immediate):
    sizes = [HEADER if kind == "host" else DATA for kind in kinds]
    check(job, kinds, sizes, sum(sizes), immediate)


@pytest.mark.parametrize("immediate", [False, True])
@pytest.mark.parametrize("missing", [1, 5000, 66_000])
@ORDERS
def test_a_short_message_writes_its_own_bytes_only(job, kinds, missing, immediate):
    sizes = [HEADER if kind == "host" else DATA for kind in kinds]
    check(job, kinds, sizes, sum(sizes) - missing, immediate)


@pytest.mark.sample(2)
@pytest.mark.parametrize("step", ["copy", "pinned", "finish"])
@ORDERS
@needs.fake_device("a real GPU does not fail on demand")
def test_a_message_survives_a_failing_device(kinds, step):
    kinds = (*kinds, "device", "host")
    with Ranks(2, {"TEMPI_DEVICE": "fake", "TEMPI_FAKE_FAIL": f"{step}:1"}) as job:
        check(job, kinds, [3000, 4000, 5000, 70_000], 82_000, True)
