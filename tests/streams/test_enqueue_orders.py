"""Enqueued exchanges that the ranks queue in other orders, at other times, and in graphs that share channels."""

import orders_worker as worker
import pytest
from enqueue_worker import CHANNEL

FAKE = {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": "0"}


def test_starts_in_different_orders(ranks):
    for counts in ranks(2, **FAKE).call(worker.in_opposite_orders, 6):
        assert counts == {CHANNEL: 6}


def test_two_graphs_share_a_channel(ranks):
    for counts in ranks(2, **FAKE).call(worker.two_graphs, 12):
        assert counts == {CHANNEL: 2 + 3}


def test_a_wait_for_requests_that_were_not_started_on_the_stream(ranks):
    ranks(2, **FAKE).call(worker.waits_that_nothing_was_started_for)


def test_new_buffers_where_those_of_a_graph_were(ranks):
    for counts in ranks(2, **FAKE).call(worker.new_buffers_after_a_graph):
        assert counts == {CHANNEL: 1}


@pytest.mark.parametrize("options", [{}, {"TEMPI_STREAM_TIMEOUT": "600"}], ids=str)
def test_a_peer_that_enqueues_more_than_a_second_later(ranks, options):
    for counts in ranks(2, **FAKE, **options).call(worker.seconds_later, 1.2):
        assert counts == {CHANNEL: 3}


@pytest.mark.sample(2)
@pytest.mark.parametrize("timeout", ["0", "600"])
@pytest.mark.parametrize("first", [2**32 - 4, -12], ids=["2^32", "2^64"])
def test_counts_that_begin_just_below_a_power_of_two(ranks, first, timeout):
    """The count after 2^64 - 1 never comes: a program would have to run for 100,000 years."""
    job = ranks(2, **FAKE, TEMPI_FAKE_COUNT=str(first), TEMPI_STREAM_TIMEOUT=timeout)
    for counts in job.call(worker.in_opposite_orders, 6):
        assert counts == {CHANNEL: 6}


def test_a_capture_without_its_wait(ranks):
    ranks(2, **FAKE).call(worker.a_capture_without_its_wait)
