"""Collective calls among messages, views of arrays, and refused windows."""

from __future__ import annotations

import os

import numpy as np
from mpi4py import MPI

import tempi
from support import equal
from tempi.testing import FakeArray


def kinds() -> tuple[str, ...]:
    """Of the memory that this rank can use: a rank without the shim has that of the host."""
    return ("host",) if os.environ.get("TEMPI_DISABLE") else ("host", "device", "managed")


def movement(seeds: list[int]) -> int:
    import movement_worker

    for seed in seeds:
        movement_worker.check_case(movement_worker.draw_case(seed), kinds())
    return len(seeds)


def collectives_among_messages(rounds: int) -> int:
    """Messages and nonblocking collectives of GPU memory are under way together, and complete in any order."""
    comm = MPI.COMM_WORLD
    column = MPI.INT.Create_vector(16, 1, 4).Commit()
    there, back = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for turn in range(rounds):
        values = np.arange(64, dtype="i") + 1000 * comm.rank + turn
        sent, received = FakeArray.from_numpy(values), FakeArray.from_numpy(np.zeros(64, "i"))
        gathered = FakeArray.from_numpy(np.zeros(16 * comm.size, "i"))
        summed = FakeArray.from_numpy(values)
        requests = [
            comm.Irecv([received, 1, column], back),
            comm.Iallgather([sent, 1, column], [gathered, 16, MPI.INT]),
            comm.Isend([sent, 1, column], there),
            comm.Iallreduce(MPI.IN_PLACE, [summed, MPI.INT]),
        ]
        while requests:
            requests.pop(MPI.Request.Waitany(requests))
        others = [np.arange(64, dtype="i") + 1000 * rank + turn for rank in range(comm.size)]
        equal.check(received.to_numpy()[::4], others[back][::4])
        assert not received.to_numpy().reshape(16, 4)[:, 1:].any()
        equal.check(gathered.to_numpy(), np.concatenate([one[::4] for one in others]))
        equal.check(summed.to_numpy(), np.sum(others, 0))
    column.Free()
    return rounds


class Slice:
    """A slice of a fake array, as CuPy's are."""

    def __init__(self, array: FakeArray, like: np.ndarray, part: np.ndarray) -> None:
        self.array = array
        at = array.address + part.ctypes.data - like.ctypes.data
        interface = {"shape": part.shape, "strides": part.strides, "data": (at, False)}
        self.__cuda_array_interface__ = array.__cuda_array_interface__ | interface


def views() -> bool:
    """A slice of an array is the buffer of a collective call."""
    comm = MPI.COMM_WORLD
    mine = np.arange(60.0).reshape(3, 4, 5) + 100 * comm.rank
    array = FakeArray.from_numpy(mine)
    comm.Bcast(tempi.view(Slice(array, mine, mine[1:, 1, ::2])), root=0)
    expected = mine.copy()
    expected[1:, 1, ::2] = (np.arange(60.0).reshape(3, 4, 5))[1:, 1, ::2]
    equal.check(array.to_numpy(), expected)
    return True


def refused_window() -> str:
    comm = MPI.COMM_WORLD.Dup()
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    try:
        MPI.Win.Create(FakeArray(64), comm=comm)
    except MPI.Exception as error:
        return error.Get_error_string()
    finally:
        comm.Free()
    return ""
