"""``tempi explain --channel``: does an enqueued exchange between the ranks of this job have a channel?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tempi._library import enabled
from tempi.check.memory import FakeBuffer, makers
from tempi.cuda.gpus import gpus, use_gpu
from tempi.run.environment import local_rank
from tempi.testing import FakeStream

if TYPE_CHECKING:
    from mpi4py import MPI

LEGACY_STREAM = 0
TAG = 0


def print_channels(datatype: MPI.Datatype, count: int) -> None:
    """Exchange once around the ring of all ranks; rank 0 prints a line for each pair. Collective.

    Raises
    ------
    click.ClickException
        If TEMPI is off, or if the process has no GPU.
    """
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    if not enabled():
        command = "tempi run -- mpirun -n 2 tempi explain EXPRESSION --channel"
        raise click.ClickException(f"TEMPI does not receive the MPI calls of this process. Use: {command}")
    if not gpus() and "GPU" not in makers():
        raise click.ClickException("--channel needs a GPU: channels connect buffers in GPU memory")
    found = comm.gather(_why(comm, datatype, count), 0)
    for rank, why in enumerate(found or []):
        answer = f"no channel: {why}" if why else "a channel"
        click.echo(f"rank {rank} to rank {(rank + 1) % comm.size}: {answer}")


def _why(comm: MPI.Intracomm, datatype: MPI.Datatype, count: int) -> str:
    """Why the send of this rank has no channel; empty: it has one."""
    from tempi.enqueue import start_enqueue, wait_enqueue, why_no_channel

    if gpus():
        use_gpu((local_rank() or 0) % len(gpus()))
    out, into = _Elements(datatype, count), _Elements(datatype, count)
    stream: Any = FakeStream() if isinstance(out.buffer, FakeBuffer) else LEGACY_STREAM
    requests = [
        comm.Recv_init(into.spec(), (comm.rank - 1) % comm.size, TAG),
        comm.Send_init(out.spec(), (comm.rank + 1) % comm.size, TAG),
    ]
    start_enqueue(requests, stream)
    wait_enqueue(requests, stream)
    why = why_no_channel(requests[1])
    comm.Barrier()  # the exchange of each rank has been queued
    out.buffer.read()  # and is complete
    for request in requests:
        request.Free()
    return why


class _Elements:
    """Elements of a datatype in GPU memory."""

    def __init__(self, datatype: MPI.Datatype, count: int) -> None:
        self.datatype, self.count = datatype.Commit(), count
        lower, span = datatype.Get_true_extent()
        _, extent = datatype.Get_extent()
        others = max(count - 1, 0) * extent
        self.n_bytes = max(span + abs(others), 1)
        self.buffer = makers()["GPU"](self.n_bytes)
        self.first = self.buffer.address - lower - min(others, 0)

    def spec(self) -> Any:
        from mpi4py import MPI

        return [MPI.buffer.fromaddress(self.first, self.n_bytes), self.count, self.datatype]
