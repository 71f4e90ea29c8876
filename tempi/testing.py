"""Memory and streams of the fake device, for tests on machines without a GPU. Needs ``TEMPI_DEVICE=fake``."""

from __future__ import annotations

from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tempi._library import library, options

Kind = Literal["device", "pinned", "managed"]


class _Memory:
    """One allocation; freed with the last array on it."""

    def __init__(self, kind: Kind, ordinal: int, n_bytes: int) -> None:
        if not any(option.name == "DEVICE" and option.value == "fake" for option in options()):
            raise RuntimeError("there is no fake device: set TEMPI_DEVICE=fake")
        self._library = library()
        self.address = self._library.fake_allocate(kind, ordinal, max(1, n_bytes))

    def __del__(self) -> None:
        if address := getattr(self, "address", 0):
            self._library.fake_deallocate(address)


class FakeStream:
    """A stream of the fake device. What is queued in it runs late, as on a GPU.

    Parameters
    ----------
    ordinal : int
        The fake GPU, from 0.
    """

    def __init__(self, ordinal: int = 0) -> None:
        self._library = library()
        self.handle = self._library.fake_stream_create(ordinal)

    def __del__(self) -> None:
        if handle := getattr(self, "handle", 0):
            self._library.fake_stream_destroy(handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle

    def copy(self, target: FakeArray, source: FakeArray | NDArray[Any]) -> None:
        """Queue a copy; the bytes of a NumPy array are read at once."""
        address = source.address if isinstance(source, FakeArray) else source.ctypes.data
        self._library.fake_stream_copy(target.address, address, target.nbytes, self.handle)

    def fill(self, target: FakeArray, byte: int) -> None:
        """Queue a fill of all bytes."""
        self._library.fake_stream_fill(target.address, byte, target.nbytes, self.handle)

    def synchronize(self) -> None:
        """Return when all queued work is done."""
        self._library.fake_stream_synchronize(self.handle)

    def fail(self) -> None:
        """Queue a kernel that fails. From then on, the GPU refuses all work, as with CUDA."""
        self._library.fake_stream_fail(self.handle)

    def begin_capture(self) -> None:
        """Collect the work that is queued from now on in a graph, and do not run it."""
        self._library.fake_stream_begin_capture(self.handle)

    def end_capture(self) -> FakeGraph:
        """The graph."""
        return FakeGraph(self._library.fake_stream_end_capture(self.handle))


class FakeGraph:
    """Work that was captured from a stream of the fake device."""

    def __init__(self, address: int) -> None:
        self._library = library()
        self._address = address

    def __del__(self) -> None:
        self._library.fake_graph_destroy(self._address)

    def launch(self, stream: FakeStream) -> None:
        """Queue all of it in a stream."""
        self._library.fake_graph_launch(self._address, stream.handle)


class FakeArray:
    """A contiguous array in memory of the fake device.

    Reading ``kind="device"`` memory from the host is a crash, as on a GPU: go through `to_numpy`. MPI takes
    the array as a buffer through its ``__cuda_array_interface__``.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype, default uint8
    kind : "device", "pinned" or "managed"
    ordinal : int
        The fake GPU, from 0.

    Attributes
    ----------
    stream : FakeStream or None
        The stream that the array names in its ``__cuda_array_interface__``.

    Raises
    ------
    RuntimeError
        If ``TEMPI_DEVICE`` is not ``fake`` or the fake device is out of memory.
    """

    def __init__(
        self,
        shape: int | tuple[int, ...],
        dtype: DTypeLike = np.uint8,
        kind: Kind = "device",
        ordinal: int = 0,
    ) -> None:
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.kind = kind
        self.ordinal = ordinal
        self._memory = _Memory(kind, ordinal, self.nbytes)
        self.address = self._memory.address
        self.stream: FakeStream | None = None

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return prod(self.shape) * self.dtype.itemsize

    @classmethod
    def from_numpy(cls, values: ArrayLike, kind: Kind = "device", ordinal: int = 0) -> FakeArray:
        """A fake array with a copy of `values`."""
        array = np.asarray(values)
        made = cls(array.shape, array.dtype, kind, ordinal)
        made.copy_from(array)
        return made

    def to_numpy(self) -> NDArray[Any]:
        """A copy in ordinary memory."""
        values = np.empty(self.shape, self.dtype)
        library().fake_copy(values.ctypes.data, self.address, self.nbytes)
        return values

    def copy_from(self, values: ArrayLike) -> None:
        """Overwrite the array with `values` of the same shape and dtype."""
        array = np.ascontiguousarray(values, self.dtype).reshape(self.shape)
        library().fake_copy(self.address, array.ctypes.data, self.nbytes)

    def copy(self) -> FakeArray:
        """A new array of the same kind with the same contents."""
        made = FakeArray(self.shape, self.dtype, self.kind, self.ordinal)
        library().fake_copy(made.address, self.address, self.nbytes)
        return made

    def from_element(self, first: int) -> FakeArray:
        """The same memory from element `first` of the flattened array on, as a one-dimensional array."""
        n_elements = prod(self.shape) - first
        if first < 0 or n_elements < 0:
            raise IndexError(f"element {first} of {prod(self.shape)}")
        view = object.__new__(FakeArray)
        view.__dict__.update(self.__dict__)
        view.shape = (n_elements,)
        view.address = self.address + first * self.dtype.itemsize
        return view

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
            "stream": self.stream.handle if self.stream is not None else None,
        }
