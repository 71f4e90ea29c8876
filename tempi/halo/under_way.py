"""Messages that MPI may still read and write: kept until they are done, also if the program drops them.

A halo exchange is dropped by an exception between its start and its finish. Its neighbours count on its
messages, so they are not cancelled then: they go on whenever the program calls MPI, and are freed when they
are done. At the end of the program they are waited for, and then cancelled.
"""

from __future__ import annotations

import atexit
import ctypes
import time
from contextlib import suppress
from typing import Protocol
from weakref import ref

from mpi4py import MPI

EXIT_SECONDS = 10.0  # a neighbour may compute for so long before it receives its messages
NAP_SECONDS = 0.001


class Cancellable(Protocol):
    """Messages, and all memory that they need."""

    def is_done(self) -> bool:
        """True once MPI needs none of the memory any more."""

    def cancel(self) -> None:
        """Cancel what can be cancelled, and wait for it."""

    def free(self) -> None:
        """Free what MPI holds for messages that are done."""


_users: dict[Cancellable, ref[object]] = {}


def begin(messages: Cancellable, user: object) -> None:
    """Keep messages that are about to start, with or without `user`, who is to call `end`."""
    _users[messages] = ref(user)


def end(messages: Cancellable) -> None:
    """Let go of messages that are done."""
    _users.pop(messages, None)


def free_dropped() -> None:
    """Free the messages that are done and have no user any more."""
    for messages, user in list(_users.items()):
        if user() is None:
            _free_if_done(messages)


def _free_if_done(messages: Cancellable) -> None:
    """No caller waits for these messages: their error is not raised. MPI may use their memory after it."""
    try:
        if messages.is_done():
            end(messages)
            messages.free()
    except MPI.Exception:
        end(messages)
        _never_free(messages)


@atexit.register
def _end_all() -> None:
    """Called before mpi4py finalizes MPI, after the interpreter has freed everything else."""
    if MPI.Is_finalized():
        return
    deadline = time.monotonic() + EXIT_SECONDS
    for messages in _users:
        _never_free(messages)
        with suppress(MPI.Exception):
            if not _are_done_by(messages, deadline):
                messages.cancel()


def _never_free(messages: Cancellable) -> None:
    """Not every library can cancel a send: its memory may be read until MPI is finalized."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(messages))


def _are_done_by(messages: Cancellable, deadline: float) -> bool:
    while not (done := messages.is_done()) and time.monotonic() < deadline:
        time.sleep(NAP_SECONDS)
    return done
