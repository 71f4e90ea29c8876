"""MPI calls while a graph is captured from the thread's stream: packing becomes part of it, other calls are errors."""

import capture_worker as worker
import pytest

FAKE = {"TEMPI_DEVICE": "fake"}


@pytest.mark.parametrize("shape", ["block", "rows", "table", "many"])
def test_packing_is_captured_and_replayed(ranks, shape):
    assert ranks(1, **FAKE).call(worker.replay_packing, shape, 5) == [0]


def test_a_captured_graph_outlives_the_datatypes(ranks):
    for shape in ("table", "many"):
        ranks(1, **FAKE).call(worker.replay_after_the_datatype_is_freed, shape)


def test_queued_work_outlives_the_datatypes(ranks):
    for shape in ("table", "many"):
        ranks(1, **FAKE).call(worker.pack_and_free_the_datatype, shape)


@pytest.mark.parametrize("call", worker.OTHER_CALLS)
def test_calls_that_cannot_be_captured_say_so(ranks, call):
    (message,) = ranks(1, **FAKE).call(worker.call_in_capture, call)
    assert "a graph is being captured" in message


def test_a_view_of_an_array_whose_stream_is_captured_says_so(ranks):
    (message,) = ranks(1, **FAKE).call(worker.view_in_capture)
    assert "a graph is being captured" in message
