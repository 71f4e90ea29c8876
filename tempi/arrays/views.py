"""Array views as messages: mpi4py sends and receives any slice of an array without a copy."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from mpi4py import MPI

from tempi import _html
from tempi._words import counted
from tempi.arrays.array_view import ArrayView, describe, wait_for
from tempi.arrays.element_types import byte_datatype, element_datatype
from tempi.arrays.loop_types import MOST_COUNT, nested_datatype
from tempi.arrays.strides import below_first, loops_of, may_overlap, span

CACHED_LAYOUTS = 1024


def view(array: object) -> list[Any]:
    """Return a buffer argument for mpi4py that describes an array or a slice of an array.

    Nothing is copied: MPI reads and writes the memory of the array. The result keeps the array alive.
    Elements are sent in the order of their indices.

    Some arrays name the GPU stream that fills them. MPI calls of this thread start after the work that this
    stream holds when `view` is called. docs/streams.md says whether the GPU or the CPU
    waits for this work. Before you start a persistent request again,
    synchronise the stream, or use `tempi.stream`.

    Parameters
    ----------
    array : object
        An array of NumPy, CuPy, Numba or PyTorch, or any object with ``__cuda_array_interface__``, a buffer,
        ``__array_interface__`` or the methods of DLPack. It may have any shape, any strides, and any dtype
        but Python objects.

    Returns
    -------
    list
        ``[buffer, count, datatype]``, which mpi4py accepts as a buffer argument. Its ``repr`` tells the
        dtype, the shape, the strides and the memory of the array. If the array is read-only, or if its
        elements share memory (as in a broadcast), it can only be sent: in a receive, mpi4py raises
        BufferError.

    Raises
    ------
    TypeError
        If `array` is not an array, if it is on an unknown kind of device, or if it holds Python objects.
    ValueError
        If `array` is a masked array.
    RuntimeError
        If work on the array's stream has failed.

    Examples
    --------
    >>> comm.Send(tempi.view(a[1:-1, 0, ::2]), dest=1)
    >>> comm.Recv(tempi.view(a[1:-1, 1, ::2]), source=0)
    """
    found = describe(array)
    wait_for(found)
    layout = _layout(found.shape, found.strides, found.dtype)
    if not layout.datatype:
        layout = _layout_anew(found)
    memory: Any = layout.memory_type.from_address(found.address - layout.below_first)
    memory.owner = found.owner
    if found.readonly or layout.overlaps:
        memory = _SendOnly.of(memory, "has elements that share memory" if layout.overlaps else "is read-only")
    return View((memory, layout.count, layout.datatype), found, layout.payload_bytes)


class View(list[Any]):
    """The result of `view`. Its text tells what it is a view of; a copy may not know it."""

    __slots__ = ("_of", "_payload_bytes")

    def __init__(
        self, parts: Iterable[Any] = (), of: ArrayView | None = None, payload_bytes: int = 0
    ) -> None:
        super().__init__(parts)
        self._of, self._payload_bytes = of, payload_bytes

    def _memory_of(self, one: ArrayView) -> str:
        where = "GPU memory" if one.on_gpu else "host memory"
        after = "" if one.stream is None else f", filled by stream {one.stream:#x}"
        sends = next((part.reason for part in self if isinstance(part, _SendOnly)), None)
        return where + after + ("" if sends is None else f", can only be sent: it {sends}")

    def __repr__(self) -> str:
        one = self._of
        if one is None:
            return super().__repr__()
        return (
            f"<tempi.view of an array of {one.dtype}, shape {one.shape}, strides {one.strides}: "
            f"{counted(self._payload_bytes, 'byte')} in {self._memory_of(one)}>"
        )

    def _repr_html_(self) -> str | None:
        one = self._of
        if one is None:
            return None
        row = (one.dtype, one.shape, one.strides, self._payload_bytes, self._memory_of(one))
        return _html.table("tempi.view", ("dtype", "shape", "strides", "bytes", "memory"), [row])


@dataclass(frozen=True, slots=True)
class _Layout:
    """The parts of a message that all arrays of one shape, strides and dtype share."""

    count: int
    datatype: MPI.Datatype
    # All bytes, from the lowest element's to the highest one's; the first element lies `below_first` inside.
    memory_type: type[ctypes.Array[ctypes.c_char]]
    below_first: int
    overlaps: bool
    payload_bytes: int


class _Datatype(MPI.Datatype):
    """Freed with its last user: a message or a persistent request may outlive its place in the cache."""

    def __del__(self, is_finalized: Any = MPI.Is_finalized) -> None:
        if self and not is_finalized():
            self.Free()


class _SendOnly(np.ndarray[Any, np.dtype[Any]]):
    """The bytes of an array that may be read only."""

    reason: str

    @classmethod
    def of(cls, memory: Any, reason: str) -> _SendOnly:
        made: _SendOnly = cls(len(memory), np.uint8, memory)
        made.flags.writeable = False
        made.reason = reason
        return made

    def __dlpack_device__(self) -> Any:
        """Raise BufferError: mpi4py calls it to write into read-only bytes."""
        raise BufferError(
            f"tempi.view: the array {self.reason}: it can be sent, not received into; receive a copy"
        )


@lru_cache(maxsize=CACHED_LAYOUTS)
def _layout(shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]) -> _Layout:
    aligned = all(stride % dtype.alignment == 0 for stride in strides)
    element = element_datatype(dtype) if aligned else byte_datatype(dtype)
    if 0 in shape or element.Get_size() == 0:
        return _Layout(0, MPI.BYTE, ctypes.c_char * 0, 0, overlaps=False, payload_bytes=0)
    payload_bytes = prod(shape) * element.Get_size()
    loops = loops_of(shape, strides)
    memory_type = ctypes.c_char * span(loops, dtype.itemsize)
    overlaps = may_overlap(loops, dtype.itemsize)
    block = loops.pop()[0] if loops and loops[-1][1] == dtype.itemsize else 1
    if not loops and block <= MOST_COUNT:
        return _Layout(block, element, memory_type, 0, overlaps, payload_bytes)
    return _Layout(
        1,
        _Datatype(nested_datatype(loops, block, element).Commit()),
        memory_type,
        below_first(loops),
        overlaps,
        payload_bytes,
    )


def _layout_anew(found: ArrayView) -> _Layout:
    """Drop a datatype that the program has freed with a message; equal views and other elements share it."""
    _layout.cache_clear()
    return _layout(found.shape, found.strides, found.dtype)
