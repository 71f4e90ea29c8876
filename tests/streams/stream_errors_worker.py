"""The rank of test_stream_errors.py."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

import tempi
from support import equal
from tempi._library import library
from tempi.testing import FakeArray, FakeStream

SELF = MPI.COMM_SELF


def _rows(array: FakeArray) -> list[Any]:
    return [array, 1, MPI.BYTE.Create_vector(8, 4, 8).Commit()]


def _pack(array: FakeArray) -> None:
    MPI.BYTE.Pack(array, FakeArray(64), 0, SELF)


_CALLS = {
    "MPI_Pack": _pack,
    "MPI_Send": lambda array: SELF.Send(_rows(array), 0),
    "MPI_Isend": lambda array: SELF.Isend(_rows(array), 0),
    "MPI_Irecv": lambda array: SELF.Irecv(_rows(array), 0),
    "MPI_Bcast": lambda array: SELF.Bcast(_rows(array)),
    "MPI_Allreduce": lambda array: SELF.Allreduce(MPI.IN_PLACE, array),
}
CALLS = tuple(_CALLS)


def _text_of(call: str, array: FakeArray, stream: FakeStream) -> str:
    text, error_class = "", MPI.SUCCESS
    with tempi.stream(stream):
        try:
            _CALLS[call](array)
        except MPI.Exception as error:
            text, error_class = error.error_string, error.error_class
    assert error_class == MPI.ERR_OTHER
    send_to_oneself(3)
    return text


def with_stream_of_other_gpu(call: str) -> str:
    return _text_of(call, FakeArray(64, ordinal=1), FakeStream(0))


def with_stream_of_ended_context(call: str) -> str:
    stream = FakeStream(1)
    with tempi.stream(stream):
        library().fake_end_context(1)
    return _text_of(call, FakeArray(64, ordinal=0), stream)


def end_the_context_of_a_view() -> None:
    array, stream = FakeArray(64, ordinal=1), FakeStream(1)
    array.stream = stream
    stream.fill(array, 1)
    tempi.view(array)
    library().fake_end_context(1)
    array._memory.address = 0  # it went with its context
    send_to_oneself(3)
    sent, received = FakeArray.from_numpy(np.full(64, 7, np.uint8)), FakeArray(64)
    SELF.Sendrecv(sent, 0, recvbuf=received, source=0)
    equal.check(received.to_numpy(), 7)


def set_no_stream() -> str:
    try:
        with tempi.stream(0x7700):
            return "it was set"
    except RuntimeError as error:
        assert library().get_stream() == 2**64 - 1
        return str(error)


def null_and_nested_streams() -> None:
    first, second, none = FakeStream(), FakeStream(), 2**64 - 1
    handles = []
    with tempi.stream(first):
        handles.append(library().get_stream())
        with tempi.stream(0):
            handles.append(library().get_stream())
            with tempi.stream(None):
                handles.append(library().get_stream())
            with tempi.stream(second):
                handles.append(library().get_stream())
        handles.append(library().get_stream())
    assert handles == [first.handle, 0, none, second.handle, first.handle]
    assert library().get_stream() == none


def set_stream_of_a_library_that_is_off() -> str:
    try:
        with tempi.stream(0):
            return "it was set"
    except RuntimeError as error:
        return str(error)


def send_to_oneself(n: int) -> None:
    stream = FakeStream()
    for k in range(n):
        sent, received, packed, result = (FakeArray(64) for _ in range(4))
        with tempi.stream(stream):
            stream.fill(sent, k + 1)
            SELF.Sendrecv(sent, 0, recvbuf=received, source=0)
            MPI.BYTE.Pack(received, packed, 0, SELF)
            stream.copy(result, packed)
        stream.synchronize()
        equal.check(result.to_numpy(), k + 1)
