"""Blocks that change places: MPI_Alltoall and its relatives with MPI_IN_PLACE."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from by_messages_worker import CELLS, DEVICE, filled, ints, rows_of, spec, strided, transpose, went
from mpi4py import MPI

from support import outcomes
from support.defects import mixes_blocks_in_place
from support.direct_counts import DIRECT

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
        np.testing.assert_array_equal(ints(self.buffer), expected.ravel())

    def free(self) -> None:
        self.element.Free()


def _once(swap: Swap, lifetime: str) -> None:
    if lifetime == "blocking":
        getattr(swap.comm, swap.operation)(MPI.IN_PLACE, swap.argument)
    else:
        getattr(swap.comm, "I" + swap.operation.lower())(MPI.IN_PLACE, swap.argument).Wait()


def _repeat(swap: Swap, lifetime: str, rounds: int) -> None:
    is_persistent = lifetime == "persistent"
    request = getattr(swap.comm, swap.operation + "_init")(MPI.IN_PLACE, swap.argument) if is_persistent else None
    for turn in range(rounds):
        swap.fill(turn)
        if request is None:
            _once(swap, lifetime)
        else:
            request.Start()
            request.Wait()
        swap.check(turn)
    if request is not None:
        request.Free()


FUNCTIONS = {"blocking": "MPI_{}", "nonblocking": "MPI_I{}", "persistent": "MPI_{}_init"}


def swaps(operation: str, lifetime: str, rounds: int, kinds: dict[int, str]) -> tuple[int, int]:
    """Calls that were by messages, and direct messages."""
    comm = MPI.COMM_WORLD.Dup()
    kind = kinds.get(comm.rank, DEVICE)
    transpose(comm, kind)  # the members agree
    swap = Swap(comm, operation, kind)
    before = outcomes.rows()
    _repeat(swap, lifetime, rounds)
    function = FUNCTIONS[lifetime].format(operation.lower() if lifetime == "nonblocking" else operation)
    counted = rows_of(function, before).get(BY_MESSAGES, 0), went(before)[0]
    swap.free()
    comm.Free()
    return counted


def memory_changes(seed: int, rounds: int) -> int:
    """Nonblocking calls, each in memory that every rank draws alone: how many were by messages."""
    comm = MPI.COMM_WORLD.Dup()
    draw, own = random.Random(seed), random.Random(f"{seed} {comm.rank}")
    transpose(comm)  # the members agree
    n = 0
    for turn in range(rounds):
        operation = draw.choice(OPERATIONS)
        kinds = (DEVICE,) if draw.random() < 0.6 else ("host", DEVICE, "device 1", "managed", "pinned")
        swap, before = Swap(comm, operation, own.choice(kinds)), outcomes.rows()
        swap.fill(turn)
        _once(swap, "nonblocking")
        is_by_messages = any(
            comm.allgather(BY_MESSAGES in rows_of(FUNCTIONS["nonblocking"].format(operation.lower()), before))
        )
        n += is_by_messages
        if is_by_messages or not mixes_blocks_in_place(operation, "nonblocking"):
            swap.check(turn)
        swap.free()
    comm.Free()
    return n
