"""Streams that calls cannot be ordered in: a clear MPI error, and the next call with another stream is right."""

import numpy as np
import pytest
import stream_errors_worker as worker

import tempi

FAKE = {"TEMPI_DEVICE": "fake"}


@pytest.mark.parametrize("call", worker.CALLS)
def test_a_stream_of_another_gpu(ranks, call):
    (text,) = ranks(1, **FAKE).call(worker.with_stream_of_other_gpu, call)
    assert "the call cannot be ordered in the program's stream" in text
    assert "another GPU than the stream" in text


@pytest.mark.parametrize("call", worker.CALLS)
def test_a_stream_whose_context_has_ended(ranks, call):
    (text,) = ranks(1, **FAKE).call(worker.with_stream_of_ended_context, call)
    assert "the program has ended its CUDA context" in text


@pytest.mark.parametrize("wrong", ["stream", 1.5, True, [1], np.array([1, 2])], ids=str)
def test_what_is_no_stream(wrong):
    with pytest.raises(TypeError) as raised:
        tempi.stream(wrong)
    assert str(raised.value).startswith(f"stream is {wrong!r}; it must be a stream of CuPy, Numba or PyTorch, ")


@pytest.mark.parametrize("wrong", [-1, 2**64])
def test_a_number_that_is_no_handle(wrong):
    with pytest.raises(ValueError, match=rf"stream is {wrong}; a handle must be from 0 to 2\^64 - 1"):
        tempi.stream(wrong)


@pytest.mark.parametrize("wrong", [3, 5, 4095])
def test_a_small_number_that_is_no_address(wrong):
    with pytest.raises(ValueError, match=rf"stream is {wrong}; a handle is 0, 1, 2 or the address of a CUDA stream"):
        tempi.stream(wrong)


@pytest.mark.parametrize(
    ("stream", "name"),
    [
        (0x7700, "the CUDA stream 0x7700"),
        (0, "the legacy default stream"),
        (1, "the legacy default stream"),
        (2, "the default stream of the thread"),
        (None, "no stream"),
    ],
)
def test_a_stream_tells_its_handle(stream, name):
    assert repr(tempi.stream(stream)) == f"<tempi.stream of {name}>"


def test_a_handle_that_is_no_stream(ranks):
    (text,) = ranks(1, **FAKE).call(worker.set_no_stream)
    assert text == "tempi.stream: CUDA does not know the stream 0x7700"


def test_null_is_the_legacy_stream_and_streams_nest(ranks):
    ranks(1, **FAKE).call(worker.null_and_nested_streams)


def test_an_array_whose_context_has_ended_is_forgotten(ranks):
    ranks(1, **FAKE).call(worker.end_the_context_of_a_view)


def test_tempi_must_be_in_the_way(ranks):
    (text,) = ranks(1, **FAKE, TEMPI_DISABLE="1").call(worker.set_stream_of_a_library_that_is_off)
    assert text.startswith("tempi.stream: TEMPI does not receive the MPI calls of this process")


def test_calls_that_the_library_handles_come_after_the_stream(ranks):
    for option in ("TEMPI_NO_SEND", "TEMPI_NO_PACK"):
        ranks(1, **FAKE, TEMPI_CUDA_AWARE="1", **{option: "1"}).call(worker.send_to_oneself, 10)
