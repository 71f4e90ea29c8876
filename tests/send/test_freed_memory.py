"""Memory that the program frees is free, though other processes have written into it."""

import freed_memory_worker as worker
import pytest
from test_direct import DIRECT

MIB = 1 << 20
KEPT = 64  # freed allocations of which others are told singly (src/mailbox/freed.hpp)


@pytest.mark.parametrize(("n_buffers", "n_bytes"), [(3, 32 * MIB), (2 * KEPT, 2 * MIB)])
def test_freed_buffers_are_mapped_no_longer(ranks, n_buffers, n_bytes):
    job = ranks(2, **DIRECT)
    job.call(worker.exchange, 1, n_bytes, 1)
    before = max(job.call(worker.rest))
    for seed in (2, 3):
        (most, n_direct), _ = job.call(worker.exchange, n_buffers, n_bytes, seed)
        assert n_direct >= n_buffers - 1  # the first receive of a datatype may come too late
        assert most - before >= n_direct * n_bytes
        after = max(job.call(worker.rest))
        assert after - before < n_bytes, (before, most, after)
