"""Persistent requests that are started and completed on a CUDA stream, without waiting for it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from mpi4py import MPI

from tempi._library import enabled, library
from tempi.cuda.ordering import handle_of


class Enqueued:
    """Persistent requests, ready for `start` and `wait` on any stream.

    Parameters
    ----------
    requests : sequence of mpi4py.MPI.Prequest
    """

    def __init__(self, requests: Sequence[MPI.Prequest]) -> None:
        for request in requests:
            if not isinstance(request, MPI.Prequest):
                raise TypeError(f"{request!r} is no persistent request: make it with Send_init or Recv_init")
        self._count = len(requests)
        self._handles = b"".join(
            ctypes.string_at(MPI._addressof(request), MPI._sizeof(request)) for request in requests
        )

    def start(self, stream: int) -> None:
        """Start them all on the stream with this CUDA handle."""
        _check(library().start_enqueue(self._handles, self._count, stream))

    def wait(self, stream: int) -> None:
        """Later work of the stream comes after their completion."""
        _check(library().wait_enqueue(self._handles, self._count, stream))


def start_enqueue(requests: MPI.Prequest | Sequence[MPI.Prequest], stream: Any) -> None:
    """Start persistent requests on a CUDA stream.

    The CPU does not wait for the stream. The exchange is carried out by the next `wait_enqueue` on the
    stream, behind the work that the stream holds then. docs/streams.md has the rules.

    Parameters
    ----------
    requests : mpi4py.MPI.Prequest, or sequence of them
        Inactive, of `Send_init` or `Recv_init`, or persistent collective requests.
    stream : stream or int
        As for `tempi.stream`.

    Raises
    ------
    TypeError
        If it is no persistent request, or no stream.
    RuntimeError
        If TEMPI does not receive the MPI calls of this process.
    mpi4py.MPI.Exception
        If a request is active, if its buffer has been freed, or if CUDA reports an error.
    """
    _must_be_enabled()
    Enqueued(_all_of(requests)).start(handle_of(stream))


def wait_enqueue(requests: MPI.Prequest | Sequence[MPI.Prequest], stream: Any) -> None:
    """Complete requests that `start_enqueue` has started on a CUDA stream.

    It carries out all exchanges that were started on the stream. Requests between GPUs that reach each
    other are carried out by one kernel in the stream, which can be captured into a graph. For all other
    requests the CPU waits.

    Parameters
    ----------
    requests : mpi4py.MPI.Prequest, or sequence of them
    stream : stream or int
        As for `tempi.stream`.

    Raises
    ------
    TypeError
        If it is no persistent request, or no stream.
    RuntimeError
        If TEMPI does not receive the MPI calls of this process.
    mpi4py.MPI.Exception
        If the process at the other end has ended, if a request without a channel is to be captured, or if
        CUDA or the MPI library reports an error.
    """
    _must_be_enabled()
    Enqueued(_all_of(requests)).wait(handle_of(stream))


def _all_of(requests: MPI.Prequest | Sequence[MPI.Prequest]) -> Sequence[MPI.Prequest]:
    return [requests] if isinstance(requests, MPI.Request) else requests


def _must_be_enabled() -> None:
    if not enabled():
        raise RuntimeError(
            "TEMPI does not receive the MPI calls of this process (tempi info shows why): synchronise the "
            "stream, and use Startall and Waitall"
        )


def _check(code: int) -> None:
    if code != MPI.SUCCESS:
        raise MPI.Exception(code)
