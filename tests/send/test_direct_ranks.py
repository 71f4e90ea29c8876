"""Direct messages between processes."""

import exchange_worker as worker
import pytest
from test_direct import DIRECT, FACES, gpu_end


@pytest.mark.parametrize("n_ranks", [2, 3])
@pytest.mark.parametrize("receives_first", [True, False])
def test_a_ring_is_direct(ranks, n_ranks, receives_first):
    job = ranks(n_ranks, **DIRECT, TEMPI_PATIENCE="5000000")
    for n in (1, 7):
        assert job.call(worker.ring, gpu_end(FACES[0]), gpu_end(FACES[1]), n, receives_first) == [n] * n_ranks


def test_a_direct_message_does_not_pass_an_early_one_of_its_tag(ranks):
    job = ranks(2, **DIRECT, TEMPI_PATIENCE="5000000", TESTS_THREAD_LEVEL="0")
    job.call(worker.posted_between_two_sends, gpu_end(FACES[0]), gpu_end(FACES[1]))
