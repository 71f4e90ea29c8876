"""Exchanges that are queued in a stream of the program: persistent requests and TEMPI_Startall_enqueue."""

import json
from collections import Counter

import enqueue_worker as worker
import pytest
from dying_peer import report_of_the_other

from support import needs
from support.effort import scaled
from support.ranks import Ranks

FAKE = {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": "0"}
N_RANKS = (1, 2, 3)


@pytest.mark.parametrize("n_ranks", N_RANKS)
def test_random_exchanges(ranks, drawn, n_ranks):
    job = ranks(n_ranks, **FAKE)
    for _ in range(scaled(30, least=2)):
        for counts in job.call(worker.random_exchanges, drawn.getrandbits(30), 2 + drawn.randrange(8), 8):
            assert worker.ORDINARY not in counts


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(3))
def test_other_delays(ranks, drawn, seed):
    ranks(2, **FAKE, TEMPI_FAKE_SEED=str(50 + seed)).call(worker.random_exchanges, drawn.getrandbits(30), 6, 20)


def test_the_timeline_shows_them(ranks, tmp_path):
    with Ranks(2, {**FAKE, "TEMPI_TRACE": f"{tmp_path}/run.json"}) as job:
        job.call(worker.one_exchange_after_another, 3, 0.3)  # a rank is late
        job.call(worker.one_exchange_after_another, 2, 0.0, ("managed", "device"))
    spans = Counter(event["name"] for event in json.loads((tmp_path / "run.json").read_text())["traceEvents"])
    assert (spans["queue exchange"], spans["ordinary exchange"]) == (6, 4)
    assert spans["wait for channels"] >= 1  # of the other


def test_exchanges_queue_up(ranks):
    for counts in ranks(2, **FAKE).call(worker.one_exchange_after_another, 20):
        assert counts == {worker.CHANNEL: 20}


@pytest.mark.parametrize("captured", [False, True], ids=["queued", "captured"])
def test_a_channel_to_itself_has_a_bounce_buffer_if_the_layouts_do_not_combine(ranks, captured):
    for counts in ranks(2, **FAKE).call(worker.to_itself_from_table_to_table, 3, captured):
        assert counts == {worker.CHANNEL: 2 if captured else 4}


def test_exchanges_of_a_request_come_in_order_in_two_streams(ranks):
    ranks(2, **FAKE).call(worker.in_two_streams_in_turn, 40, timeout=60)


def test_a_late_peer_is_waited_for(ranks):
    for counts in ranks(2, **FAKE).call(worker.one_exchange_after_another, 3, 1.0):
        assert counts == {worker.CHANNEL: 3}


def test_a_peer_that_is_too_late_gets_ordinary_messages(ranks):
    for counts in ranks(2, **FAKE, TEMPI_CHANNEL_TIMEOUT="200").call(worker.one_exchange_after_another, 3, 1.0):
        assert counts == {worker.ORDINARY: 3}


@pytest.mark.parametrize("kinds", [("managed", "device"), ("device", "pinned"), ("pinned", "managed")])
def test_other_memory_has_no_channel(ranks, kinds):
    for counts in ranks(2, **FAKE).call(worker.one_exchange_after_another, 3, 0.0, kinds):
        assert counts[worker.ORDINARY] == 3


@pytest.mark.parametrize("options", [{"TEMPI_NO_DIRECT": "1"}, {"TEMPI_STRATEGY": "oneshot"}], ids=str)
def test_without_direct_messages(ranks, options):
    for counts in ranks(2, **{**FAKE, **options}).call(worker.one_exchange_after_another, 3):
        assert counts[worker.ORDINARY] == 3


@pytest.mark.parametrize(
    "kinds",
    [
        [("host", "device"), ("device", "device")],
        [("device", "host"), ("device", "device"), ("host", "host"), ("device", "device")],
    ],
    ids=str,
)
def test_pairs_of_one_tag_some_of_which_have_no_channel(ranks, kinds):
    for counts in ranks(2, **FAKE).call(worker.same_tag, kinds, timeout=60):
        assert counts[worker.CHANNEL] == counts[worker.ORDINARY] == 3


def test_a_wildcard_has_no_channel(ranks):
    for counts in ranks(2, **FAKE, TEMPI_CHANNEL_TIMEOUT="100").call(worker.with_a_wildcard, 3):
        assert counts[worker.ORDINARY] == 3


def test_the_other_end_may_use_plain_calls(ranks):
    counts = ranks(2, **FAKE, TEMPI_CHANNEL_TIMEOUT="100").call(worker.only_one_end_is_enqueued)
    assert counts[0][worker.ORDINARY] == 3


def test_errors(ranks):
    (said,) = ranks(1, **FAKE).call(worker.errors)
    assert "request is of type Request; it must be a persistent request" in said["not persistent"]
    assert "request is None; it must be a persistent request" in said["no request"]
    assert "requests is 0; it must be a persistent request" in said["swapped"]
    assert "stream is 'stream'; it must be a stream" in said["no stream"]
    assert "stream is None; it must be a stream" in said["None as stream"]
    assert "request" in said["started twice"].lower()
    assert "request" in said["MPI_Start"].lower()
    assert "request" in said["MPI_Request_free"].lower()
    assert said["same address"] == "True"
    assert "freed the buffer" in said["freed buffer"]
    assert "cannot be captured" in said["captured"]


@pytest.mark.parametrize("captured", [False, True], ids=["queued", "captured"])
@pytest.mark.parametrize(("n_ranks", "kind"), [(1, "regular"), (2, "regular"), (4, "regular"), (2, "irregular")])
def test_halo_exchanges(ranks, n_ranks, kind, captured):
    for counts in ranks(n_ranks, **FAKE).call(worker.halo_exchanges, 6, captured, kind):
        assert counts == {worker.CHANNEL: 2 if captured else 7}


def test_halo_exchanges_without_direct_messages(ranks):
    for counts in ranks(2, **{**FAKE, "TEMPI_NO_DIRECT": "1"}).call(worker.halo_exchanges, 6, False):
        assert worker.CHANNEL not in counts


@needs.open_mpi("its launcher can be stopped")
@pytest.mark.parametrize("when", ["idle", "started", "queued"])
def test_a_peer_that_dies_ends_the_wait(tmp_path, when):
    """The stream does not hang, and the next call says so."""
    assert "at the other end" in report_of_the_other(tmp_path, when, FAKE)
