"""Keeps messages whose memory MPI may still read and write, also if the program drops its exchange.

An exception between the start and the finish of a halo exchange drops the exchange. The neighbours need its
messages, so the messages are not cancelled. They make progress in the MPI calls of the program, and are freed
when they are complete. At the end of the program, this module waits for the remaining messages, then cancels
them.
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
    """Messages that can be cancelled, and the memory that they need."""

    def is_done(self) -> bool:
        """True if MPI does not need the memory."""

    def cancel(self) -> None:
        """Cancel the messages that can be cancelled, and wait for their end."""

    def free(self) -> None:
        """Free the MPI objects of complete messages."""


_users: dict[Cancellable, ref[object]] = {}


def begin(messages: Cancellable, user: object) -> None:
    """Keep messages that are about to start. `user`, if there is one, must call `end`."""
    _users[messages] = ref(user)


def end(messages: Cancellable) -> None:
    """Release messages that are complete."""
    _users.pop(messages, None)


def free_dropped() -> None:
    """Free the messages that are complete and whose user no longer exists."""
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
