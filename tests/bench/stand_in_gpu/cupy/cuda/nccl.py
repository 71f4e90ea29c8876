"""NCCL's messages and reductions, as those of MPI when the stream comes to them: messages are matched by their order
between two ranks."""

from mpi4py import MPI

from . import Stream

available = True
NCCL_UINT8, NCCL_FLOAT64 = 1, 8
NCCL_SUM = 0
_DATATYPES = {NCCL_UINT8: MPI.BYTE, NCCL_FLOAT64: MPI.DOUBLE}
_group = None


def get_unique_id():
    return (1, 2, 3)


def groupStart():
    global _group
    _group = []


def groupEnd():
    global _group
    work, stream = _group, _group[0][-1]
    Stream.at(stream).put(lambda: MPI.Request.Waitall([start() for start, _ in work]))
    _group = None


def _buffer(address, count, kind):
    datatype = _DATATYPES[kind]
    return [MPI.buffer.fromaddress(address, count * datatype.size), count, datatype]


class NcclCommunicator:
    def __init__(self, n_ranks, identity, rank):
        assert identity == get_unique_id(), "only rank 0 may make one"
        self._comm = MPI.COMM_WORLD.Dup()
        assert (n_ranks, rank) == (self._comm.size, self._comm.rank)

    def send(self, address, count, kind, peer, stream):
        self._put(self._comm.Isend, address, count, kind, peer, stream)

    def recv(self, address, count, kind, peer, stream):
        self._put(self._comm.Irecv, address, count, kind, peer, stream)

    def _put(self, call, address, count, kind, peer, stream):
        _group.append((lambda: call(_buffer(address, count, kind), peer), stream))

    def allReduce(self, sent, received, count, kind, operation, stream):
        assert operation == NCCL_SUM
        assert sent == received
        total = _buffer(received, count, kind)
        Stream.at(stream).put(lambda: self._comm.Allreduce(MPI.IN_PLACE, total))

    def destroy(self):
        self._comm.Free()
