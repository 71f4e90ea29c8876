"""The 3-D halo exchange by hand with NCCL: a file of its own, as only this way should load NCCL."""

from __future__ import annotations

import cupy
from cupy.cuda import nccl, runtime
from mpi4py import MPI

from bench.halo3d.gpu import Fused
from bench.halo3d.setting import Setting, Unavailable


class HandNccl:
    """NCCL's messages, all in one group; nothing waits before the end."""

    def __init__(self, setting: Setting) -> None:
        if not nccl.available:
            raise Unavailable("CuPy does not find NCCL: pip install nvidia-nccl-cu13")
        comm = setting.comm
        gpu = (MPI.Get_processor_name(), runtime.deviceGetPCIBusId(cupy.cuda.Device().id))
        if len(set(comm.allgather(gpu))) < comm.size:
            raise Unavailable("NCCL wants a GPU for each rank")
        self._fused = Fused(setting)
        sent, received = (buffer.data.ptr for buffer in (self._fused.sent, self._fused.received))
        self._sends = [(sent + m.start, m.n_bytes, m.peer) for m in setting.sent.messages]
        self._receives = [(received + m.start, m.n_bytes, m.peer) for m in setting.received.messages]
        identity = comm.bcast(nccl.get_unique_id() if comm.rank == 0 else None)
        self._nccl = nccl.NcclCommunicator(comm.size, identity, comm.rank)

    def __call__(self) -> None:
        self._fused.pack()
        stream = self._fused.stream.ptr
        nccl.groupStart()
        for address, n_bytes, peer in self._sends:
            self._nccl.send(address, n_bytes, nccl.NCCL_UINT8, peer, stream)
        for address, n_bytes, peer in self._receives:
            self._nccl.recv(address, n_bytes, nccl.NCCL_UINT8, peer, stream)
        nccl.groupEnd()
        self._fused.unpack()

    def free(self) -> None:
        self._nccl.destroy()
