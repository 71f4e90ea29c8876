"""The CUDA stream in which the MPI calls of a thread are ordered: `tempi.stream`."""

from __future__ import annotations

import threading
from contextlib import ContextDecorator
from types import TracebackType
from typing import Any

from tempi._arguments import integer, wrong
from tempi._library import enabled, library

_NO_STREAM = 2**64 - 1  # TEMPI_STREAM_NONE of include/tempi.h
_LAST_NAMED_STREAM = 2
_LEAST_ADDRESS = 4096  # no memory is in the first page
_STREAM_NAMES = {
    0: "the legacy default stream",
    1: "the legacy default stream",
    2: "the default stream of the thread",
    _NO_STREAM: "no stream",
}


def handle_of(stream: Any) -> int:
    """The CUDA handle of a stream of any library.

    Raises
    ------
    TypeError
        If it is not a stream.
    ValueError
        If it is an integer that is not a handle.
    """
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        _, handle = protocol() if callable(protocol) else protocol
        return int(handle)
    for name in ("ptr", "cuda_stream", "handle"):  # CuPy, PyTorch, Numba
        if (handle := getattr(stream, name, None)) is not None:
            return int(getattr(handle, "value", handle) or 0)
    return _checked_handle(stream)


def _checked_handle(stream: object) -> int:
    try:
        handle = integer("stream", stream)
    except TypeError:
        expected = "a stream of CuPy, Numba or PyTorch, an object with __cuda_stream__, or a handle (int)"
        raise wrong("stream", stream, expected) from None
    if not 0 <= handle <= _NO_STREAM:
        raise ValueError(f"stream is {handle}; a handle must be from 0 to 2^64 - 1")
    if _LAST_NAMED_STREAM < handle < _LEAST_ADDRESS:
        raise ValueError(f"stream is {handle}; a handle is 0, 1, 2 or the address of a CUDA stream")
    return handle


class _Outer(threading.local):
    """The streams that a thread had before its blocks began, the innermost block's last."""

    def __init__(self) -> None:
        self.streams: list[int] = []


class stream(ContextDecorator):
    """Order the MPI calls of this thread in a CUDA stream, in a ``with`` block or in a decorated function.

    MPI calls on GPU memory start after the earlier work of the stream, and the later work of the stream
    starts after them. The program need not synchronise. MPI_Pack and MPI_Unpack between arrays in GPU memory
    are queued in the stream. See docs/streams.md.

    Parameters
    ----------
    stream : stream, int or None
        A stream of CuPy, Numba or PyTorch, any object with ``__cuda_stream__``, or the handle of a stream (0
        or 1: the legacy default stream, 2: the default stream of the thread). None: no stream; the program
        synchronises before MPI calls.

    Raises
    ------
    TypeError, ValueError
        If `stream` is not a stream.
    RuntimeError
        If TEMPI does not receive the MPI calls of this process, or if CUDA does not know the stream. The
        error is raised when the block begins.

    Examples
    --------
    >>> with tempi.stream(cupy.cuda.get_current_stream()):
    ...     a[...] = compute(b)
    ...     comm.Send(tempi.view(a[:, 0]), dest=1)
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream  # keeps it alive
        self._handle = _NO_STREAM if stream is None else handle_of(stream)
        self._outer = _Outer()

    def _recreate_cm(self) -> stream:
        """One for each call of a decorated function: threads may call it at the same time."""
        return type(self)(self._stream)

    def __repr__(self) -> str:
        name = _STREAM_NAMES.get(self._handle, f"the CUDA stream {self._handle:#x}")
        return f"<tempi.stream of {name}>"

    def __enter__(self) -> stream:
        if not enabled():
            raise RuntimeError(
                "tempi.stream: TEMPI does not receive the MPI calls of this process (tempi info shows why): "
                "synchronise the stream before each call"
            )
        outer = library().get_stream()
        if library().set_stream(self._handle) != 0:
            raise RuntimeError(f"tempi.stream: CUDA does not know the stream {self._handle:#x}")
        self._outer.streams.append(outer)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        library().set_stream(self._outer.streams.pop())
