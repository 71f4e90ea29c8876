"""TEMPI_STREAM_TIMEOUT: a stream does not wait for ever for a peer that is late."""

import enqueue_worker
import pytest
import timeout_worker as worker
from dying_peer import report_of_the_other

from support import needs
from support.effort import scaled
from support.ranks import Ranks

FAKE = {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": "0"}
THREAD = {**FAKE, "TEMPI_PROGRESS": "thread"}
SHORT, LONG = {"TEMPI_STREAM_TIMEOUT": "1"}, {"TEMPI_STREAM_TIMEOUT": "600"}
SOURCES = [(0,), (1,), (0, 1)]
HAS_ENDED = "has ended after TEMPI_STREAM_TIMEOUT"


@pytest.mark.sample(2)
@pytest.mark.parametrize("captured", [False, True], ids=["queued", "captured"])
@pytest.mark.parametrize("sources", SOURCES, ids=["late receiver", "late sender", "both"])
@pytest.mark.parametrize("shape", ["rows", "many"])
def test_a_peer_that_is_too_late(sources, captured, shape):
    """Both ends are told, no byte is moved, and the channel stays without data."""
    with Ranks(2, {**FAKE, **SHORT}) as job:
        for rank, said in enumerate(job.call(worker.too_late, sources, "device", captured, shape, timeout=90)):
            assert all(HAS_ENDED in text for text in said), said
            for source in sources:
                end = f"send to rank {1 - rank}" if source == rank else f"receive from rank {1 - rank}"
                assert len(sources) == 2 or f"{end}, tag {source}" in said[0]


@pytest.mark.parametrize("captured", [False, True], ids=["queued", "captured"])
def test_a_peer_that_is_late_but_in_time(ranks, captured):
    for said in ranks(2, **FAKE, **LONG).call(worker.in_time, "device", captured, 1.5):
        assert said == [""] * 3


def test_random_exchanges_of_timed_channels(ranks, drawn):
    for _ in range(scaled(10, least=2)):
        ranks(2, **FAKE, **LONG).call(enqueue_worker.random_exchanges, drawn.getrandbits(30), 5, 8)


def test_one_of_two_ranks_sets_the_timeout(drawn):
    with Ranks(2, FAKE, special={0: SHORT}) as job:
        job.call(enqueue_worker.random_exchanges, drawn.getrandbits(30), 4, 6)
        for said in job.call(worker.too_late, (0, 1), "device", False, timeout=90):
            assert HAS_ENDED in said[0]


@pytest.mark.sample(2)
@pytest.mark.parametrize("captured", [False, True], ids=["queued", "captured"])
@pytest.mark.parametrize("sources", SOURCES, ids=["late receiver", "late sender", "both"])
@pytest.mark.parametrize("kind", ["pinned", "managed"])
def test_without_a_channel(sources, captured, kind):
    with Ranks(2, {**THREAD, **SHORT}) as job:
        waited, _ = job.call(worker.too_late, sources, kind, captured, timeout=90)
        assert HAS_ENDED in waited[0] or sources == (0,)  # a small send may be complete


@pytest.mark.parametrize("kind", ["pinned", "managed"])
def test_without_a_channel_but_in_time(ranks, kind):
    for said in ranks(2, **THREAD, **LONG).call(worker.in_time, kind, True, 1.5):
        assert said == [""] * 3


@needs.function("Allgather_init")
def test_collective_operations_have_no_limit(ranks):
    assert ranks(2, **THREAD, **SHORT).call(worker.a_late_collective, 3.0) == ["", ""]


@pytest.mark.sample(3)
@needs.open_mpi("its launcher can be stopped")
@pytest.mark.parametrize("options", [{**FAKE, **LONG}, {**THREAD, **LONG, "TESTS_KIND": "managed"}], ids=str)
@pytest.mark.parametrize("when", ["idle", "started", "queued"])
def test_a_peer_that_dies_ends_the_wait_at_once(tmp_path, when, options):
    assert "at the other end" in report_of_the_other(tmp_path, when, options)
