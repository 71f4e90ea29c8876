"""Collective calls between a root and all ranks: each rank checks its bytes, and tells the path of its calls."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from by_messages_worker import DEVICE, filled, ints, rows_of, spec, transpose, went
from movement_cases import Case, draw_case
from movement_worker import check_case
from mpi4py import MPI
from unfinished_worker import complete

from support import equal, outcomes
from support.collective_calls import check_drawn, name_of
from support.direct_counts import DIRECT
from support.messages import KINDS

BY_MESSAGES = DIRECT[1]
OPERATIONS = ("Scatter", "Scatterv", "Gather", "Gatherv")
EQUAL = 40  # elements of a block of MPI_Scatter and MPI_Gather
GAP = 3  # elements beside the blocks of the root
Kinds = tuple[str, str]  # memory of the root's blocks, of the rank's one block
ON_GPU: Kinds = (DEVICE, DEVICE)


def layout_of(operation: str, size: int, root: int) -> tuple[list[int], list[int]]:
    """Counts and displacements of the root's blocks. Those of the v forms are in the opposite order of the ranks, with
    gaps between them; some are empty."""
    if not operation.endswith("v"):
        return [EQUAL] * size, [EQUAL * rank for rank in range(size)]
    counts = [(rank + root) % 3 * EQUAL for rank in range(size)]
    return counts, [sum(counts[rank + 1 :]) + GAP * (size - rank) for rank in range(size)]


class Movement:
    """A call of any form. An element of the root's blocks is two of four ints; the rank's own block has twice as many
    elements, which are one of three ints."""

    def __init__(
        self, comm: MPI.Comm, operation: str, root: int, in_place: bool = False, kinds: Kinds = ON_GPU
    ) -> None:
        self.comm, self.operation, self.root = comm, operation, root
        self.is_root, self.scatters = comm.rank == root, operation.startswith("Scatter")
        self.in_place = in_place and self.is_root
        self.of_two = MPI.INT.Create_vector(2, 1, 2).Create_resized(0, 16).Commit()
        self.of_one = MPI.INT.Create_contiguous(1).Create_resized(0, 12).Commit()
        self.counts, self.displacements = layout_of(operation, comm.size, root)
        self.n = self.counts[comm.rank]
        self.blocks = filled(self._root_s_values(0).ravel(), kinds[0])
        self.block = filled(self._values_of(comm.rank, 0).ravel(), kinds[1])

    # ---- values

    def _root_s_values(self, turn: int) -> np.ndarray:
        n = sum(self.counts) + GAP * (self.comm.size + 1)
        return (np.arange(4 * n) + 1000 * self.root + 7 * turn).reshape(n, 4)

    def _values_of(self, rank: int, turn: int) -> np.ndarray:
        n = 2 * self.counts[rank] + GAP
        return (np.arange(3 * n) + 100_000 * (rank + 1) + 7 * turn).reshape(n, 3)

    def _data_at_root(self, values: np.ndarray, rank: int) -> np.ndarray:
        first = self.displacements[rank]
        return values[first : first + self.counts[rank], ::2]

    def fill(self, turn: int) -> None:
        self.turn = turn
        self.blocks.write(self._root_s_values(turn).astype("i4").ravel().view("u1"))
        self.block.write(self._values_of(self.comm.rank, turn).astype("i4").ravel().view("u1"))

    def check(self) -> None:
        blocks, block = self._root_s_values(self.turn), self._values_of(self.comm.rank, self.turn)
        if self.scatters and not self.in_place:
            block[: 2 * self.n, 0] = self._data_at_root(blocks, self.comm.rank).ravel()
        for rank, n in enumerate(self.counts):
            if not self.scatters and self.is_root and not (self.in_place and rank == self.root):
                self._data_at_root(blocks, rank)[:] = self._values_of(rank, self.turn)[: 2 * n, 0].reshape(n, 2)
        equal.check(ints(self.block), block.ravel())
        equal.check(ints(self.blocks), blocks.ravel())

    # ---- the call

    @property
    def arguments(self) -> tuple[Any, Any, int]:
        there = (self.counts, self.displacements) if self.operation.endswith("v") else EQUAL
        blocks = spec(self.blocks, there, self.of_two) if self.is_root else None
        block = MPI.IN_PLACE if self.in_place else spec(self.block, 2 * self.n, self.of_one)
        return (blocks, block, self.root) if self.scatters else (block, blocks, self.root)

    def function(self, lifetime: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(self.comm, name_of(self.operation, lifetime))
        return function

    def begin(self, turn: int) -> MPI.Request:
        self.fill(turn)
        request: MPI.Request = self.function("nonblocking")(*self.arguments)
        return request

    def run(self, lifetime: str, rounds: int) -> None:
        request = self.function("persistent")(*self.arguments) if lifetime == "persistent" else None
        for turn in range(rounds):
            self.fill(turn)
            if request is not None:
                request.Start()
                request.Wait()
            elif lifetime == "nonblocking":
                self.function(lifetime)(*self.arguments).Wait()
            else:
                self.function(lifetime)(*self.arguments)
            self.check()
        if request is not None:
            request.Free()

    def free(self) -> None:
        self.of_two.Free()
        self.of_one.Free()

    # ---- messages

    @property
    def n_sent(self) -> int:
        """Messages of this rank."""
        sent = [rank for rank, n in enumerate(self.counts) if n > 0 and not (self.in_place and rank == self.root)]
        if self.scatters:
            return len(sent) if self.is_root else 0
        return int(self.comm.rank in sent)

    @property
    def has_data(self) -> bool:
        return self.n > 0 or self.is_root


def agreed(operation: str, kinds: Kinds = ON_GPU) -> MPI.Comm:
    """A communicator whose members have agreed on messages, also for nonblocking calls: the first one of these may be
    decided by a rank without data."""
    comm = MPI.COMM_WORLD.Dup()
    transpose(comm, kinds[0])
    one = Movement(comm, operation, 0, kinds=kinds)
    one.begin(0).Wait()
    one.check()
    one.free()
    comm.Barrier()
    return comm


def every_root(operation: str, lifetime: str, in_place: bool, rounds: int) -> int:
    """All calls are by messages, all messages are direct, and those of a call share launches: the roots."""
    comm = agreed(operation)
    name = f"MPI_{name_of(operation, lifetime)}"
    n_calls = 1 if lifetime == "persistent" else rounds
    for root in range(comm.size):
        one = Movement(comm, operation, root, in_place)
        before = outcomes.rows()
        one.run(lifetime, rounds)
        n_direct, n_launches = went(before)
        found = rows_of(name, before).get(BY_MESSAGES, 0), n_direct
        assert found == (n_calls if one.has_data else 0, rounds * one.n_sent), f"root {root}: {found}"
        assert min(rounds, n_direct) <= n_launches <= n_direct, f"root {root}: {n_launches} launches"
        one.free()
        comm.Barrier()
    comm.Free()
    return MPI.COMM_WORLD.size


def some_memory(operation: str, lifetime: str, root: int, kinds: dict[int, Kinds], rounds: int) -> int:
    """Calls that were by messages on this rank."""
    own = kinds.get(MPI.COMM_WORLD.rank, ON_GPU)
    comm = agreed(operation, own)
    one = Movement(comm, operation, root, kinds=own)
    before = outcomes.rows()
    one.run(lifetime, rounds)
    n = rows_of(f"MPI_{name_of(operation, lifetime)}", before).get(BY_MESSAGES, 0)
    one.free()
    comm.Free()
    return n


def under_way_together(seed: int, rounds: int) -> int:
    """Several calls of several roots, in memory that each rank draws; each rank completes them in an order of its
    own."""
    comm, draw = agreed("Gather"), random.Random(seed)
    own = random.Random(f"{seed} {comm.rank}")
    for turn in range(rounds):
        drawn = [(draw.choice(OPERATIONS), draw.randrange(comm.size), draw.random() < 0.3) for _ in range(4)]
        of_all = draw.random() < 0.6
        calls = [Movement(comm, *one, ON_GPU if of_all else own.choice((ON_GPU, ("host", "host")))) for one in drawn]
        requests = []
        for i, call in enumerate(calls):
            requests.append(call.begin(10 * turn + i))
            if draw.random() < 0.2:
                transpose(comm, turn=turn)
        complete(own, requests)
        for call in calls:
            call.check()
            call.free()
    comm.Free()
    return rounds


def _check_drawn_case(case: Case) -> None:
    check_case(case, (DEVICE,) if case.seed % 2 else KINDS)


def check_seeds(seeds: list[int]) -> int:
    return check_drawn(lambda seed: draw_case(seed, OPERATIONS), _check_drawn_case, seeds)
