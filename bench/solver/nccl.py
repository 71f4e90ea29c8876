"""The solver by hand with NCCL: everything is queued on one stream, and the host waits for nothing."""

from __future__ import annotations

from typing import Any

import cupy
from cupy.cuda import nccl, runtime
from mpi4py import MPI

from bench.solver.faces import faces_of
from bench.solver.gpu import GpuBlock
from bench.solver.loop import Unavailable


class HandNccl:
    """One packing kernel, NCCL's messages in one group, one unpacking kernel; NCCL's AllReduce."""

    def __init__(self, comm: MPI.Cartcomm, block: GpuBlock) -> None:
        if not nccl.available:
            raise Unavailable("CuPy does not find NCCL: pip install nvidia-nccl-cu13")
        gpu = (MPI.Get_processor_name(), runtime.deviceGetPCIBusId(cupy.cuda.Device().id))
        if len(set(comm.allgather(gpu))) < comm.size:
            raise Unavailable("NCCL wants a GPU for each rank")
        edge = len(block.p) - 2
        self._block, self._stream, self._elements = block, block.stream.ptr, edge**2
        self._sent, self._received = (cupy.zeros(6 * edge**2) for _ in range(2))
        sent, received = self._sent.data.ptr, self._received.data.ptr
        faces = list(enumerate(faces_of(comm, edge)))
        self._sends = [(sent + 8 * edge**2 * number, face.to) for number, face in faces]
        self._receives = [(received + 8 * edge**2 * number, face.source) for number, face in faces]
        identity = comm.bcast(nccl.get_unique_id() if comm.rank == 0 else None)
        self._nccl = nccl.NcclCommunicator(comm.size, identity, comm.rank)

    def exchange(self) -> None:
        self._block.move_faces(self._sent, packs=True)
        nccl.groupStart()
        for address, peer in self._sends:
            self._nccl.send(address, self._elements, nccl.NCCL_FLOAT64, peer, self._stream)
        for address, peer in self._receives:
            self._nccl.recv(address, self._elements, nccl.NCCL_FLOAT64, peer, self._stream)
        nccl.groupEnd()
        self._block.move_faces(self._received, packs=False)

    def total(self, scalar: Any) -> None:
        at = scalar.data.ptr
        self._nccl.allReduce(at, at, 1, nccl.NCCL_FLOAT64, nccl.NCCL_SUM, self._stream)

    def free(self) -> None:
        self._nccl.destroy()
