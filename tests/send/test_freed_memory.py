"""Memory that the program frees is free, though other processes have written into it."""

import freed_memory_worker as worker
import pytest
from test_direct import DIRECT

from support import memory, needs

MIB = 1 << 20
MOST_MAPPED = 256  # src/message/reach.cpp
KEPT = 512  # freed allocations of which others are told singly (src/mailbox/freed.hpp)
SLACK = 64 * MIB if memory.on_real_gpu() else MIB  # a GPU's memory is everyone's
PATIENT = {**DIRECT, "TEMPI_PATIENCE": "5000000"}


@pytest.mark.parametrize(("n_buffers", "n_bytes"), [(3, 128 * MIB), (2 * KEPT, MIB // 4)])
def test_freed_buffers_are_mapped_no_longer(ranks, n_buffers, n_bytes):
    job = ranks(2, **PATIENT, TEMPI_FREED_LIMIT="0")
    job.call(worker.exchange, 1, n_bytes, 1)
    before = max(job.call(worker.rest))
    for seed in (2, 3):
        (most, n_direct), _ = job.call(worker.exchange, n_buffers, n_bytes, seed, timeout=60)
        assert n_direct == n_buffers
        assert most - before >= min(n_buffers, MOST_MAPPED) * n_bytes
        after = max(job.call(worker.rest))
        assert after - before < SLACK, (before, most, after)


def test_little_is_kept_until_it_is_much(ranks):
    job = ranks(2, **PATIENT, TEMPI_FREED_LIMIT=str(200 * MIB))
    before = max(job.call(worker.rest))
    job.call(worker.exchange, 3, 64 * MIB, 1)
    kept = max(job.call(worker.rest)) - before
    assert abs(kept - 3 * 64 * MIB) < SLACK
    job.call(worker.exchange, 1, 65 * MIB, 2)
    assert max(job.call(worker.rest)) - before < SLACK


@needs.real_gpu("the fake device's kernels run when somebody asks for them")
def test_running_kernels_hold_up_no_call(ranks):
    """The driver waits for them before it ends a mapping."""
    job = ranks(2, **PATIENT, TEMPI_FREED_LIMIT="0")
    assert max(job.call(worker.seconds_beside_a_kernel, timeout=60)) < worker.KERNEL_SECONDS / 2
