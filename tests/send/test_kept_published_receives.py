"""Published receives and transfers that are kept for the next start of a request: to oneself and between ranks."""

import kept_published_receives_worker as worker
import pytest
from test_direct import FACES, INT, gpu_end
from test_freed_memory import LARGE_BYTES, PATIENT, SLACK

from support import constructors as c

N_BOXES = 1 << 14  # src/segment/segment.hpp
OWN_JOB = {**PATIENT, "TESTS_CASE": "kept"}  # in which nobody has probed: sends wait for their receivers


@pytest.mark.sample(3)
@pytest.mark.parametrize("n_ranks", [1, 2])
@pytest.mark.parametrize(("n", "at_once"), [(20, 20), (200, 1), (700, 350)])
def test_requests_that_are_started_again(ranks, n_ranks, n, at_once):
    """More of them than there are published receives to keep."""
    ends = [(gpu_end(FACES[k % 2], k), gpu_end(FACES[k // 2 % 2], 1000 + k)) for k in range(n)]
    n_direct = ranks(n_ranks, **OWN_JOB).call(worker.started_again, ends, 3, at_once, timeout=60)
    assert n_direct == [3 * n] * n_ranks


@pytest.mark.parametrize("n_ranks", [1, 2])
@pytest.mark.parametrize("is_persistent", [True, False])
def test_a_send_that_meets_other_buffers(ranks, n_ranks, is_persistent):
    specs = (*FACES, c.Contiguous(24, INT), FACES[1])
    ends, out = [gpu_end(spec, k) for k, spec in enumerate(specs)], gpu_end(FACES[0], 1)
    n_direct = ranks(n_ranks, **OWN_JOB).call(worker.meets_other_buffers, ends, out, 30, is_persistent)
    assert n_direct == [30] * n_ranks


def test_a_kept_published_receive_leaves_room_for_other_layouts(ranks):
    """More boxes than a shared segment holds, by layouts that come and go."""
    job = ranks(2, **OWN_JOB)
    n_layouts, blocks = 40, 900
    assert n_layouts * blocks > 2 * N_BOXES
    found = job.call(worker.many_layouts_beside_a_kept_receive, gpu_end(FACES[0]), n_layouts, blocks, timeout=60)
    assert found == [n_layouts] * 2


def test_a_request_keeps_no_freed_memory_mapped(ranks):
    job = ranks(2, **OWN_JOB, TEMPI_FREED_LIMIT="0")
    n_buffers = 3
    begin, most, left = job.call(worker.taken_beside_kept_transfers, n_buffers, LARGE_BYTES, timeout=60)[0]
    assert most - begin >= n_buffers * LARGE_BYTES
    assert left - begin < SLACK
