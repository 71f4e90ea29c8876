"""Collective calls beside messages, ranks without the shim and failing devices; views; windows that are refused."""

import large_blocks_worker
import mixed_worker as worker
import movement_worker
import pytest

from support import needs
from support.defects import loses_error_texts
from support.ranks import Ranks

FAKE = {"TEMPI_DEVICE": "fake"}
BY_MESSAGES = {"TEMPI_STRATEGY": "direct", "TEMPI_MATCH_TIMEOUT": "5000000"}
N_AT_ONCE = 10  # calls of a job with one failure
pytestmark = needs.fake_device("arrays and failures of the fake device")


def test_collectives_and_messages_complete_in_any_order(ranks):
    assert ranks(3, **FAKE).call(worker.collectives_among_messages, 20, timeout=60) == [20] * 3


@pytest.mark.parametrize("on_host", [{0: "host"}, {1: "host"}, {0: "host", 2: "host"}])
@pytest.mark.parametrize("name", large_blocks_worker.CALLS)
def test_large_blocks_on_host_and_gpu(ranks, name, on_host):
    """Libraries cut them, each rank by the datatype that it was given."""
    assert ranks(3, TEMPI_NO_DIRECT="1", **FAKE).call(large_blocks_worker.call, name, on_host) == [True] * 3


@pytest.mark.parametrize("on_host", [{}, {1: "host"}, {0: "host", 2: "host"}])
def test_a_rank_that_contributes_nothing_to_allgatherv(ranks, on_host):
    """Open MPI chooses its algorithm by the size of each rank's own send type."""
    sizes = [16, 8_000, 200_000]
    job = ranks(3, TEMPI_NO_DIRECT="1", **FAKE)
    assert job.call(large_blocks_worker.nothing_from_one_rank, on_host, sizes, timeout=60) == [sizes] * 3


def test_ranks_without_the_shim_take_part(drawn):
    seeds = [drawn.getrandbits(30) for _ in range(20)]
    with Ranks(3, FAKE, {1: {"TEMPI_DISABLE": "1"}}) as job:
        assert job.call(worker.movement, seeds, timeout=60) == [20] * 3


@pytest.mark.sample(2)
@pytest.mark.parametrize("way", [{}, BY_MESSAGES], ids=["staged", "by messages"])
@pytest.mark.parametrize("nth", [1, 3, 20])
@pytest.mark.parametrize("step", ["launch", "copy", "pinned", "finish", "allocate"])
def test_failing_devices(drawn, step, nth, way):
    """The CPU takes over, on copies in host memory."""
    seeds = [drawn.getrandbits(30) for _ in range(N_AT_ONCE)]
    with Ranks(2, FAKE | way, {0: {"TEMPI_FAKE_FAIL": f"{step}:{nth}"}}) as job:
        assert job.call(movement_worker.check_seeds, seeds, timeout=60) == [N_AT_ONCE] * 2


def test_slices_of_arrays_are_buffers(ranks):
    assert ranks(2, **FAKE).call(worker.views) == [True] * 2


def test_a_window_over_gpu_memory_is_an_error_without_direct_messages(ranks):
    for text in ranks(2, **FAKE).call(worker.refused_window):
        assert text if loses_error_texts() else "a window over GPU memory needs all its processes on one node" in text
