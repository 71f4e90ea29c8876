"""Blocks that change places: MPI_Alltoall and its relatives with MPI_IN_PLACE."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from by_messages_worker import CELLS, DEVICE, filled, ints, rows_of, spec, strided, transpose, went
from mpi4py import MPI

from support import equal, outcomes
from support.defects import mixes_blocks_in_place
from support.direct_counts import DIRECT
from support.messages import KINDS

BY_MESSAGES = DIRECT[1]
OPERATIONS = ("Alltoall", "Alltoallv", "Alltoallw")


class Swap:
    """Every other int of a block for each process, which takes the place of that process's block for this one."""

    def __init__(self, comm: MPI.Comm, operation: str, kind: str) -> None:
        self.comm, self.operation, self.n = comm, operation, comm.size * CELLS
        self.element = strided()
        self.buffer = filled(np.zeros(self.n), kind)

    @property
    def argument(self) -> list[Any]:
        if self.operation == "Alltoall":
            return spec(self.buffer, 1, self.element)
        size, is_in_bytes = self.comm.size, self.operation == "Alltoallw"
        there = ([1] * size, [(4 * CELLS if is_in_bytes else 1) * i for i in range(size)])
        return spec(self.buffer, there, [self.element] * size if is_in_bytes else self.element)

    def values(self, rank: int, turn: int) -> np.ndarray:
        return np.arange(self.n) + 100_000 * rank + 7 * turn

    def fill(self, turn: int) -> None:
        self.buffer.write(self.values(self.comm.rank, turn).astype("i4").view("u1"))

    def check(self, turn: int) -> None:
        mine = self.comm.rank
        expected = self.values(mine, turn).reshape(-1, CELLS)
        for peer in range(self.comm.size):
            expected[peer, ::2] = self.values(peer, turn).reshape(-1, CELLS)[mine, ::2]
        equal.check(ints(self.buffer), expected.ravel())

    def free(self) -> None:
        self.element.Free()


FUNCTIONS = {"blocking": "MPI_{}", "nonblocking": "MPI_I{}", "persistent": "MPI_{}_init"}


def _by_messages(swap: Swap, lifetime: str, before: outcomes.Rows) -> int:
    """Calls of this rank since then."""
    operation = swap.operation.lower() if lifetime == "nonblocking" else swap.operation
    return rows_of(FUNCTIONS[lifetime].format(operation), before).get(BY_MESSAGES, 0)


def _may_be_checked(swap: Swap, lifetime: str, before: outcomes.Rows) -> bool:
    """False: the call was a library's that is known to be wrong."""
    if not mixes_blocks_in_place(swap.operation, lifetime):
        return True
    mine = rows_of("collective", before)  # messages of collective calls, of host memory, too
    return any(swap.comm.allgather(sum(mine.values()) > 0))


def _once(swap: Swap, lifetime: str) -> None:
    if lifetime == "blocking":
        getattr(swap.comm, swap.operation)(MPI.IN_PLACE, swap.argument)
    else:
        getattr(swap.comm, "I" + swap.operation.lower())(MPI.IN_PLACE, swap.argument).Wait()


def _started(swap: Swap, rounds: int) -> None:
    before = outcomes.rows()
    request = getattr(swap.comm, swap.operation + "_init")(MPI.IN_PLACE, swap.argument)
    for turn in range(rounds):
        swap.fill(turn)
        request.Start()
        request.Wait()
        if _may_be_checked(swap, "persistent", before):
            swap.check(turn)
    request.Free()


def _call(swap: Swap, lifetime: str, turn: int) -> int:
    """One call; 1 if it was by messages on this rank."""
    before = outcomes.rows()
    swap.fill(turn)
    _once(swap, lifetime)
    if _may_be_checked(swap, lifetime, before):
        swap.check(turn)
    return _by_messages(swap, lifetime, before)


def swaps(operation: str, lifetime: str, rounds: int, kinds: dict[int, str]) -> tuple[int, int]:
    """Calls that were by messages, and direct messages."""
    comm = MPI.COMM_WORLD.Dup()
    kind = kinds.get(comm.rank, DEVICE)
    transpose(comm, kind)  # the members agree
    swap = Swap(comm, operation, kind)
    before = outcomes.rows()
    if lifetime == "persistent":
        _started(swap, rounds)
    else:
        for turn in range(rounds):
            _call(swap, lifetime, turn)
    counted = _by_messages(swap, lifetime, before), went(before)[0]
    swap.free()
    comm.Free()
    return counted


def memory_changes(seed: int, rounds: int) -> int:
    """Nonblocking calls, each in memory that every rank draws alone: how many of this rank's were by messages."""
    comm = MPI.COMM_WORLD.Dup()
    draw, own = random.Random(seed), random.Random(f"{seed} {comm.rank}")
    transpose(comm)  # the members agree
    n = 0
    for turn in range(rounds):
        operation = draw.choice(OPERATIONS)
        kinds = (DEVICE,) if draw.random() < 0.6 else KINDS
        swap = Swap(comm, operation, own.choice(kinds))
        n += _call(swap, "nonblocking", turn)
        swap.free()
    comm.Free()
    return n


def unknown_datatype(rounds: int) -> int:
    """Nonblocking calls of host memory whose datatype a tool hides, between those of GPU memory: how many of all were
    by messages."""
    comm = MPI.COMM_WORLD.Dup()
    transpose(comm)  # the members agree
    n = 0
    for turn in range(rounds):
        swap = Swap(comm, "Alltoallw", "host" if turn % 3 == 2 else DEVICE)
        if turn % 3 == 2:
            swap.element.Free()
            every_other = [8 * i for i in range(CELLS // 2)]
            swap.element = MPI.INT.Create_hindexed_block(1, every_other).Commit()
        n += _call(swap, "nonblocking", turn)
        swap.free()
    comm.Free()
    return n
