"""Starts and completes persistent requests on a CUDA stream; the CPU does not wait for the stream."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from mpi4py import MPI

from tempi._arguments import length_of, wrong
from tempi._library import enabled, library
from tempi.cuda.ordering import handle_of

_PERSISTENT = "a persistent request, which Send_init, Recv_init or a persistent collective makes"


class Enqueued:
    """Persistent requests that `start` and `wait` can use on any stream.

    Parameters
    ----------
    requests : sequence of mpi4py.MPI.Prequest
    """

    def __init__(self, requests: Sequence[MPI.Prequest]) -> None:
        for request in requests:
            _must_be_persistent(request)
        self._count = len(requests)
        self._handles = b"".join(map(_handle, requests))

    def start(self, stream: int) -> None:
        """Start all requests on the stream with this CUDA handle."""
        _check(library().start_enqueue(self._handles, self._count, stream))

    def wait(self, stream: int) -> None:
        """Queue their exchange in the stream. Later work of the stream starts after their completion."""
        _check(library().wait_enqueue(self._handles, self._count, stream))


def start_enqueue(requests: MPI.Prequest | Sequence[MPI.Prequest], stream: Any) -> None:
    """Start persistent requests on a CUDA stream.

    The CPU does not wait for the stream. The next `wait_enqueue` on the stream queues the exchange in the
    stream, after the earlier work of the stream. docs/streams.md has the rules.

    Parameters
    ----------
    requests : mpi4py.MPI.Prequest, or sequence of them
        Inactive requests of `Send_init`, `Recv_init`, or a persistent collective operation.
    stream : stream or int
        As for `tempi.stream`.

    Raises
    ------
    TypeError
        If an argument is not a persistent request, or not a stream.
    RuntimeError
        If TEMPI does not receive the MPI calls of this process.
    mpi4py.MPI.Exception
        If a request is active, if its buffer has been freed, or if CUDA reports an error.
    """
    _must_be_enabled()
    Enqueued(_all_of(requests)).start(handle_of(stream))


def wait_enqueue(requests: MPI.Prequest | Sequence[MPI.Prequest], stream: Any) -> None:
    """Complete requests that `start_enqueue` has started on a CUDA stream.

    The call carries out all exchanges that were started on the stream. One kernel in the stream carries out
    the requests that have a channel (docs/streams.md). It can be captured into a graph. By default, the CPU
    waits for the stream and for the messages of all other requests. With `TEMPI_PROGRESS=thread`, a thread of
    TEMPI carries out most of their exchanges. If nothing was started on the stream, the call only reports
    errors of earlier exchanges of the requests.

    Parameters
    ----------
    requests : mpi4py.MPI.Prequest, or sequence of them
    stream : stream or int
        As for `tempi.stream`.

    Raises
    ------
    TypeError
        If an argument is not a persistent request, or not a stream.
    RuntimeError
        If TEMPI does not receive the MPI calls of this process.
    mpi4py.MPI.Exception
        If the process at the other end has ended or is late (`TEMPI_STREAM_TIMEOUT`), if the stream is being
        captured and the CPU must wait, or if CUDA or the MPI library reports an error.
    """
    _must_be_enabled()
    Enqueued(_all_of(requests)).wait(handle_of(stream))


def why_no_channel(request: MPI.Prequest) -> str:
    """Tell why the enqueued exchanges of a request have no channel.

    Parameters
    ----------
    request : mpi4py.MPI.Prequest
        It has been started on a stream, and `wait_enqueue` has returned.

    Returns
    -------
    str
        The reason, or an empty string if a channel carries out the exchanges. For a collective operation,
        the reason for the first message without a channel.

    Raises
    ------
    TypeError
        If `request` is not a persistent request.
    RuntimeError
        If TEMPI does not receive the MPI calls of this process.
    """
    _must_be_enabled()
    _must_be_persistent(request)
    return library().why_no_channel(_handle(request)) or ""


def _handle(request: MPI.Request) -> bytes:
    return ctypes.string_at(MPI._addressof(request), MPI._sizeof(request))


def _must_be_persistent(request: object) -> None:
    if not isinstance(request, MPI.Prequest):
        raise wrong("request", request, _PERSISTENT)


def _all_of(requests: MPI.Prequest | Sequence[MPI.Prequest]) -> Sequence[MPI.Prequest]:
    if isinstance(requests, MPI.Request):
        return [requests]
    if length_of(requests) is None:
        raise wrong("requests", requests, f"{_PERSISTENT}, or a sequence of them")
    return requests


def _must_be_enabled() -> None:
    if not enabled():
        raise RuntimeError(
            "TEMPI does not receive the MPI calls of this process (tempi info shows why): synchronise the "
            "stream, and use Startall and Waitall"
        )


def _check(code: int) -> None:
    if code != MPI.SUCCESS:
        raise MPI.Exception(code)
