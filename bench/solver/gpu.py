"""The solver on a GPU: kernels on one stream; communication by hand over an MPI that is not CUDA-aware."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime
from mpi4py import MPI

from bench.solver.faces import Doubles, faces_of
from bench.solver.ways import exchange_messages

THREADS, MOST_BLOCKS = 256, 1024
SOURCE = Path(__file__).with_name("kernels.cu")


def blocks_for(count: int) -> int:
    """The number of blocks for so many elements."""
    return min(MOST_BLOCKS, -(-count // THREADS))


class GpuBlock:
    """CuPy's arrays; everything is queued on `stream`."""

    def __init__(self, edge: int) -> None:
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.stream.use()
        self._module = cupy.RawModule(code=SOURCE.read_text(), options=(f"-DTHREADS={THREADS}",))
        names = ("stencil", "dot", "axpy", "turn", "move_faces")
        self._kernels = {name: self._module.get_function(name) for name in names}
        shape = (edge + 2,) * 3
        self.x, self.r, self.p, self.q = (cupy.zeros(shape) for _ in range(4))
        self.pq, *self.rr = (cupy.zeros(1) for _ in range(3))
        self._edge, self._owned, self._count = np.int32(edge), edge**3, np.int64(self.p.size)
        self._partial, self._finished = cupy.zeros(MOST_BLOCKS), cupy.zeros(1, np.uint32)
        self.wait = self.stream.synchronize

    def _launch(self, name: str, count: int, *arguments: Any) -> None:
        self._kernels[name]((blocks_for(count),), (THREADS,), arguments)

    def put(self, array: Any, values: Doubles | float) -> None:
        array.set(np.broadcast_to(values, array.shape).copy())
        self.wait()

    def get(self, array: Any) -> Doubles:
        self.wait()
        found: Doubles = array.get()
        return found

    def stencil(self) -> None:
        self._launch("stencil", self._owned, self.p, self.q, self._edge)

    def dot(self, a: Any, b: Any, result: Any) -> None:
        self._launch("dot", a.size, a, b, self._count, self._partial, self._finished, result)

    def axpy(self, x: Any, y: Any, above: Any, below: Any, sign: float) -> None:
        self._launch("axpy", x.size, x, y, above, below, np.float64(sign), self._count)

    def turn(self, above: Any, below: Any) -> None:
        self._launch("turn", self.p.size, self.r, self.p, above, below, self._count)

    def move_faces(self, buffer: Any, packs: bool) -> None:
        """Pack all six faces of p into a buffer, or unpack the received ones: one launch."""
        grid = (blocks_for(int(self._edge) ** 2), 6)
        self._kernels["move_faces"](grid, (THREADS,), (self.p, buffer, self._edge, np.int32(packs)))


class Staged:
    """MPI messages and MPI_Allreduce of pinned host memory, with a copy before and one after."""

    def __init__(self, comm: MPI.Cartcomm, block: GpuBlock) -> None:
        edge = len(block.p) - 2
        self._comm, self._block, self._faces = comm, block, faces_of(comm, edge)
        self._buffer = cupy.zeros(6 * edge**2)
        self._out, self._in = (cupy.cuda.alloc_pinned_memory(self._buffer.nbytes) for _ in range(2))
        self._scalar = cupy.cuda.alloc_pinned_memory(8)
        self._sent, self._received = (_parts(memory.ptr, 8 * edge**2) for memory in (self._out, self._in))
        self._total = [MPI.buffer.fromaddress(self._scalar.ptr, 8), 1, MPI.DOUBLE]

    def _to_host(self, target: Any, array: Any) -> None:
        stream = self._block.stream
        runtime.memcpyAsync(target.ptr, array.data.ptr, array.nbytes, runtime.memcpyDeviceToHost, stream.ptr)
        stream.synchronize()

    def _to_gpu(self, array: Any, source: Any) -> None:
        stream = self._block.stream.ptr
        runtime.memcpyAsync(array.data.ptr, source.ptr, array.nbytes, runtime.memcpyHostToDevice, stream)

    def exchange(self) -> None:
        self._block.move_faces(self._buffer, packs=True)
        self._to_host(self._out, self._buffer)
        exchange_messages(self._comm, self._faces, self._sent, self._received)
        self._to_gpu(self._buffer, self._in)
        self._block.move_faces(self._buffer, packs=False)

    def total(self, scalar: Any) -> None:
        self._to_host(self._scalar, scalar)
        self._comm.Allreduce(MPI.IN_PLACE, self._total)
        self._to_gpu(scalar, self._scalar)

    def free(self) -> None: ...


def _parts(address: int, n_bytes: int) -> list[MPI.buffer]:
    return [MPI.buffer.fromaddress(address + number * n_bytes, n_bytes) for number in range(6)]
