"""The ranks of test_peers.py: a message to a rank of a communicator, and its outcome."""

from collections.abc import Callable

import numpy as np
from mpi4py import MPI

import tempi

BLOCKS, STRIDE = 512, 2
MOST_TRIES = 200


def outcome_to(comm: MPI.Comm, rank: int) -> str:
    """The outcome of a strided message that every rank sends to this rank; it depends on the peer's locality.

    Each rank sends and receives as many messages as the other: to itself, or to the other one.
    """
    datatype = MPI.INT.Create_vector(BLOCKS, 1, STRIDE).Commit()
    sent, received = np.arange(BLOCKS * STRIDE, dtype="i"), np.zeros(BLOCKS * STRIDE, dtype="i")
    tempi.reset_stats()
    request = comm.Irecv([received, 1, datatype], rank)
    comm.Send([sent, 1, datatype], rank)
    request.Wait()
    datatype.Free()
    assert (received[::STRIDE] == sent[::STRIDE]).all()
    [row] = [row for row in tempi.stats() if row.function == "MPI_Send"]
    return row.outcome


def in_order(world: MPI.Intracomm) -> MPI.Intracomm:
    return world.Split(0, world.rank)


def reversed_order(world: MPI.Intracomm) -> MPI.Intracomm:
    return world.Split(0, -world.rank)


def again(make: Callable[[MPI.Intracomm], MPI.Intracomm], handle: int) -> MPI.Intracomm:
    """A communicator that has this handle on every rank."""
    for _ in range(MOST_TRIES):
        made = make(MPI.COMM_WORLD)
        if MPI.COMM_WORLD.allreduce(MPI._handleof(made) == handle, MPI.LAND):
            return made
        made.Free()
    raise AssertionError(f"the library has not given the handle {handle:#x} again")


def same_handle_and_rank() -> tuple[str, str]:
    """To rank 1 - me of a communicator: the other process. Of its successor under the same handle: this process."""
    to = 1 - MPI.COMM_WORLD.rank
    comm = in_order(MPI.COMM_WORLD)
    handle = MPI._handleof(comm)
    before = outcome_to(comm, to)
    comm.Free()
    comm = again(reversed_order, handle)
    after = outcome_to(comm, to)
    comm.Free()
    return before, after


def of_a_copy() -> tuple[str, str]:
    """A copy outlives its original, and has its ranks."""
    to = 1 - MPI.COMM_WORLD.rank
    comm = reversed_order(MPI.COMM_WORLD)
    before = outcome_to(comm, to)
    copy = comm.Dup()
    comm.Free()
    after = outcome_to(copy, to)
    copy.Free()
    return before, after


def of_remote_group() -> str:
    """To rank 0 of the other group, where each process is rank 0 of its own."""
    alone = MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank)
    between = alone.Create_intercomm(0, MPI.COMM_WORLD, 1 - MPI.COMM_WORLD.rank)
    outcome = outcome_to(between, 0)
    between.Free()
    alone.Free()
    return outcome


def in_world() -> tuple[str, str]:
    """To this process, and to the other one."""
    me = MPI.COMM_WORLD.rank
    return outcome_to(MPI.COMM_WORLD, me), outcome_to(MPI.COMM_WORLD, 1 - me)
