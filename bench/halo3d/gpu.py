"""The 3-D halo exchange on GPUs as an expert writes it: one fused kernel each way, and contiguous messages.

The messages are MPI's: from device memory if the library is CUDA-aware, else through pinned host memory.
Memory is synchronised before MPI gets it. `bench.halo3d.nccl` has NCCL's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from pathlib import Path
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from bench.halo3d.grid import BYTES_A_VALUE, Box, Direction, Size, opposite
from bench.halo3d.packing import Packing
from bench.halo3d.setting import Setting, Unavailable, contiguous_requests

TILE, THREADS = 1024, 256
SOURCE = Path(__file__).with_name("kernel.cu")


def use_gpu(local_rank: int, n_gpus: int) -> None:
    """Make a GPU this process's own, one of the first `n_gpus` (0: of all).

    Raises
    ------
    Unavailable
        If the machine has fewer.
    """
    found = runtime.getDeviceCount()
    if found < max(1, n_gpus):
        raise Unavailable(f"{max(1, n_gpus)} GPUs were asked for, this machine has {found}")
    device = cupy.cuda.Device(local_rank % (n_gpus or found))
    device.use()
    device.synchronize()  # creates the context: UCX looks for one when MPI is initialised


@dataclass(frozen=True)
class Regions:
    """The kernel's table, and the number of tiles of a quantity.

    Attributes
    ----------
    rows : numpy.ndarray
        int64 of shape (26, 6): a `Region` of the kernel for each direction.
    """

    rows: np.ndarray[Any, np.dtype[np.int64]]
    n_tiles: int

    @classmethod
    def of(cls, size: Size, packing: Packing, box_of: Callable[[Direction], Box]) -> Regions:
        """The table for boxes at `packing`'s places of a buffer."""
        lengths = [prod(size.counts(direction)) for direction in packing.order]
        *first_tiles, n_tiles = accumulate((-(-n // TILE) for n in lengths), initial=0)
        rows = [
            (tile, start // BYTES_A_VALUE, *_start_and_counts(size, box_of(direction)))
            for tile, start, direction in zip(first_tiles, packing.starts, packing.order, strict=True)
        ]
        return cls(np.array(rows, np.int64), n_tiles)


def _start_and_counts(size: Size, box: Box) -> tuple[int, int, int, int]:
    z, y, x = (s.start for s in box)
    planes, rows, columns = (s.stop - s.start for s in box)
    return ((z * size.padded + y) * size.padded + x, planes, rows, columns)


class Kernel:
    """Packs the sent boxes of all directions, or unpacks the received ones: one launch."""

    def __init__(self, setting: Setting, regions: Regions, *options: str) -> None:
        size = setting.size
        module = cupy.RawModule(code=SOURCE.read_text(), options=(f"-DTILE={TILE}", *options))
        self._function = module.get_function("move_boxes")
        self._grid = (regions.n_tiles, size.quantities)
        self._data, self._regions = setting.data, cupy.asarray(regions.rows)
        self._numbers = (
            np.int32(len(regions.rows)),
            *(np.int64(size.padded**axes) for axes in (1, 2, 3)),
        )

    def __call__(self, stream: Any, buffer: Any) -> None:
        """Put it into the stream."""
        with stream:
            self._function(self._grid, (THREADS,), (self._data, buffer, self._regions, *self._numbers))


class Fused:
    """The parts of both by-hand ways: a stream, the two kernels, a buffer to send and one to receive."""

    def __init__(self, setting: Setting) -> None:
        size = setting.size
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.sent, self.received = (cupy.empty(size.total_elements) for _ in range(2))
        self._pack = Kernel(setting, Regions.of(size, setting.sent, size.sent), "-DPACK")
        ghosts = Regions.of(size, setting.received, lambda direction: size.ghosts(opposite(direction)))
        self._unpack = Kernel(setting, ghosts)

    def pack(self) -> None:
        """Data to buffer, in the stream's order."""
        self._pack(self.stream, self.sent)

    def unpack(self) -> None:
        """Buffer to data; waits until it is done."""
        self._unpack(self.stream, self.received)
        self.stream.synchronize()


class HandDevice:
    """MPI messages straight from and into device memory."""

    def __init__(self, setting: Setting) -> None:
        self._fused = Fused(setting)
        addresses = (self._fused.sent.data.ptr, self._fused.received.data.ptr)
        self._requests = contiguous_requests(setting, *addresses)

    def __call__(self) -> None:
        self._fused.pack()
        self._fused.stream.synchronize()
        self._requests()
        self._fused.unpack()

    def free(self) -> None:
        self._requests.free()


class HandStaged:
    """MPI messages of pinned host memory, with one copy before and one after."""

    def __init__(self, setting: Setting) -> None:
        self._fused = Fused(setting)
        self._bytes = BYTES_A_VALUE * setting.size.total_elements
        self._out, self._in = (cupy.cuda.alloc_pinned_memory(self._bytes) for _ in range(2))
        self._requests = contiguous_requests(setting, self._out.ptr, self._in.ptr)

    def __call__(self) -> None:
        fused, stream = self._fused, self._fused.stream
        fused.pack()
        runtime.memcpyAsync(
            self._out.ptr, fused.sent.data.ptr, self._bytes, runtime.memcpyDeviceToHost, stream.ptr
        )
        stream.synchronize()
        self._requests()
        runtime.memcpyAsync(
            fused.received.data.ptr, self._in.ptr, self._bytes, runtime.memcpyHostToDevice, stream.ptr
        )
        fused.unpack()

    def free(self) -> None:
        self._requests.free()
