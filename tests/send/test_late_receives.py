"""Sends whose receives are posted late: which calls wait for them, and which may not."""

import late_receives_worker as worker
import pytest
from test_direct import DIRECT, INT, gpu_end

from support import constructors as c

ENDS = gpu_end(c.Vector(8192, 2, 5, INT)), gpu_end(c.Vector(4096, 4, 9, INT))  # 64 KiB
N = 20


@pytest.mark.parametrize("level", ["0", "3"])
@pytest.mark.parametrize("call", worker.CALLS)
def test_a_call_that_ends_only_with_its_send_waits_for_the_receive(ranks, call, level):
    """The library's rendezvous would wait, too. The receiver computes for some milliseconds first."""
    job = ranks(2, **DIRECT, TESTS_THREAD_LEVEL=level, TEMPI_PROGRESS="calls")
    n_direct, _ = job.call(worker.late, call, *ENDS, N)
    assert n_direct > N // 2


def test_a_call_that_ends_without_a_send_does_not_wait_for_its_receive(ranks):
    median_s, _ = ranks(2, **DIRECT, TESTS_THREAD_LEVEL="0").call(worker.not_needed, *ENDS, N)
    assert median_s < 0.015  # less than a needed send waits


def test_a_call_does_not_wait_for_the_send_of_another_thread(ranks):
    median_s, _ = ranks(2, **DIRECT, TESTS_THREAD_LEVEL="3").call(worker.needed_by_another_thread, *ENDS, N)
    assert median_s < 0.015


def test_a_receive_behind_a_wildcard_is_known_when_the_wildcard_has_its_message(ranks):
    seconds, _ = ranks(2, **DIRECT, TEMPI_MATCH_TIMEOUT="5000000").call(worker.beside_a_wildcard, *ENDS, timeout=60)
    assert seconds < 2.5
