"""Random collective calls that move data, in memory of any kind, against the type map: all bytes of both buffers, gaps
and guards included, are what the standard says.

All ranks draw the same case from its seed, and tell each other the payloads of their blocks.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator

from movement_cases import ROOTED, UNIT, Case, comms, draw_case, wants_one_size
from mpi4py import MPI

from support import equal
from support.building import Builder
from support.collective_calls import IN_PLACE, Call, check_drawn
from support.collective_layouts import SIZES, Elements, Held, Layout, Several, SeveralTypes, Uniform, random_elements
from support.defects import wants_one_datatype
from support.messages import KINDS
from support.typemap import Bytes


class Rank:
    """What this rank gives to the call."""

    def __init__(self, case: Case, builder: Builder) -> None:
        self.case, self.comm, self.builder = case, comms()[case.where], builder
        self.draw = random.Random(case.seed * 1009 + MPI.COMM_WORLD.Get_rank())
        self.remote = self.comm.Get_remote_size() if case.where == "inter" else self.comm.Get_size()
        self.out: Layout | None = None
        self.into: Layout | None = None
        self._lay_out()

    # ---- roles

    @property
    def root(self) -> int:
        """Between groups it is the first process of the first group."""
        if self.case.where != "inter":
            return self.case.root
        if MPI.COMM_WORLD.Get_rank() % 2:
            return 0
        return MPI.ROOT if self.comm.Get_rank() == 0 else MPI.PROC_NULL

    @property
    def is_root(self) -> bool:
        return self.root == (MPI.ROOT if self.case.where == "inter" else self.comm.Get_rank())

    @property
    def takes_part(self) -> bool:
        return self.case.where != "inter" or self.root != MPI.PROC_NULL

    # ---- amounts

    def amounts(self, sends: bool) -> list[int]:
        """Basic elements by block. An edge's amount depends on both of its ends, in the same way on both ranks."""
        mine = self.comm.Get_rank()
        if self.case.operation.startswith("Neighbor"):
            return self._among_neighbors(sends)
        table = self.case.n_leaves
        if self.case.in_place or self.case.operation in ("Allgatherv", "Gatherv", "Scatterv"):
            sender_alone = [table[0][peer] for peer in range(self.remote)]
            if self.case.operation in ("Alltoallv", "Alltoallw"):  # in place: symmetric
                return [table[min(mine, peer)][max(mine, peer)] for peer in range(self.remote)]
            return sender_alone
        if self.case.where == "inter":
            return [table[1][2]] * self.remote
        return [table[mine][peer] if sends else table[peer][mine] for peer in range(self.remote)]

    def own_amount(self) -> int:
        """Of the one block that this rank gives to, or gets of, a call with counts by rank."""
        return self.case.n_leaves[0][self.comm.Get_rank()]

    def _among_neighbors(self, sends: bool) -> list[int]:
        n = self.n_destinations if sends else self.n_sources
        differ = self.case.operation.endswith(("alltoallv", "alltoallw"))
        return [self.case.n_leaves[1][1] if differ else self.case.n_leaves[0][0]] * n

    @property
    def n_sources(self) -> int:
        if self.case.where == "graph":
            return 2
        return 2 * self.comm.Get_dim()

    n_destinations = n_sources

    # ---- layouts

    def _elements(self, receives: bool) -> Elements:
        """Any datatype that fits the others, or one of the same size on all ranks, or the same one."""
        if wants_one_datatype(self.case.operation, self.case.where, receives, 8 * max(self.case.n_leaves[0])):
            return random_elements(random.Random(self.case.seed), self.case.leaf, UNIT)
        if not wants_one_size(self.case):
            return random_elements(self.draw, self.case.leaf, UNIT)
        n_leaves = random.Random(self.case.seed).choice(SIZES)
        return random_elements(self.draw, self.case.leaf, UNIT, n_leaves)

    def _one(self, n_leaves: int, n_blocks: int = 1) -> Uniform:
        return Uniform(self._elements(False), n_leaves, n_blocks, self.builder)

    def _several(self, sends: bool) -> Layout:
        leaves = self.amounts(sends)
        if self.case.operation.endswith("w"):
            elements = [self._elements(not sends) for _ in leaves]
            is_wide = self.case.operation.startswith("Neighbor")
            return SeveralTypes(elements, leaves, is_wide, self.draw, self.builder)
        if self.case.operation.endswith("v"):
            return Several(self._elements(not sends), leaves, self.draw, self.builder)
        return self._one(self.case.n_leaves[0][0], len(leaves))

    def _lay_out(self) -> None:
        operation = self.case.operation
        n = self.case.n_leaves[0][0]
        if operation == "Bcast":
            self.into = self._one(n)
        elif operation.startswith("Gather"):
            self.out = self._one(self.own_amount() if operation.endswith("v") else n)
            self.into = self._several(False)
        elif operation.startswith("Scatter"):
            self.out = self._several(True)
            self.into = self._one(self.own_amount() if operation.endswith("v") else n)
        elif "allgather" in operation.lower():
            if operation == "Neighbor_allgatherv" or not operation.endswith("v"):
                self.out = self._one(n)
            else:
                self.out = self._one(self.own_amount())
            self.into = self._several(False)
        else:
            self.out, self.into = self._several(True), self._several(False)

    # ---- the call

    def arguments(self, out: Held | None, into: Held) -> tuple[object, ...]:
        """Arguments that are not significant are addresses that nobody may touch."""
        case, tail = self.case, (self.comm,)
        if case.operation in ROOTED:
            tail = (ctypes.c_int(self.root), self.comm)
        given: list[object] = []
        if out is not None:
            in_place = case.in_place and not case.operation.startswith("Scatter")
            at_root = case.operation not in ROOTED or self.is_root
            given += [IN_PLACE if in_place and at_root else ctypes.c_void_p(out.address), *out.layout.arguments]
        in_place = case.in_place and case.operation.startswith("Scatter") and self.is_root
        given += [IN_PLACE if in_place else ctypes.c_void_p(into.address), *into.layout.arguments]
        return (*given, *tail)

    # ---- the standard's word

    def expected(self, out: Bytes | None, into: Bytes) -> Bytes:
        """The receive buffer behind the call, from the contents before it. Collective."""
        payloads = self._payloads(out, into)
        world = MPI.COMM_WORLD.allgather(payloads)
        result = into.copy()
        for i, payload in self._arrivals(world):
            self.into.fill(result, i, payload)
        return result

    def _payloads(self, out: Bytes | None, into: Bytes) -> list[Bytes]:
        """Of the blocks that this rank gives."""
        operation, in_place = self.case.operation, self.case.in_place
        if operation == "Bcast" or (in_place and "all" in operation.lower()):
            return [self.into.payload(into, i) for i in range(len(self.into.blocks))]
        return [self.out.payload(out, i) for i in range(len(self.out.blocks))]

    def _peer_in_world(self, peer: int) -> int:
        return 2 * peer + 1 - MPI.COMM_WORLD.Get_rank() % 2 if self.case.where == "inter" else peer

    def _arrivals(self, world: list[list[Bytes]]) -> Iterator[tuple[int, Bytes]]:
        """Blocks of the receive buffer, each with what comes into it."""
        operation, mine = self.case.operation, self.comm.Get_rank()
        if operation.startswith("Neighbor"):
            yield from self._from_neighbors(world)
        elif operation == "Bcast":
            if self.takes_part and not self.is_root:
                yield 0, world[self._root_in_world()][0]
        elif operation.startswith("Scatter"):
            if self.takes_part and not (self.is_root and (self.case.in_place or self.case.where == "inter")):
                yield 0, world[self._root_in_world()][mine]
        elif not operation.startswith("Gather") or self.is_root:
            for peer in range(self.remote):
                if operation.startswith("Gather") and self.case.in_place and peer == mine:
                    continue
                given = world[self._peer_in_world(peer)]
                is_alltoall = operation.startswith("Alltoall")
                takes = mine if is_alltoall else peer if self.case.in_place and "Allgather" in operation else 0
                yield peer, given[takes]

    def _root_in_world(self) -> int:
        return 0 if self.case.where == "inter" else self.root

    def _from_neighbors(self, world: list[list[Bytes]]) -> Iterator[tuple[int, Bytes]]:
        size, mine = self.comm.Get_size(), self.comm.Get_rank()
        if self.case.where == "graph":
            sources = [(mine - 1) % size, mine]
        else:
            sources = [self.comm.Shift(0, 1)[0], self.comm.Shift(0, 1)[1]]
        for i, source in enumerate(sources):
            if source == MPI.PROC_NULL:
                continue
            takes = i if self.case.where == "graph" else 1 - i
            yield i, world[source][takes if "alltoall" in self.case.operation else 0]


def check_case(case: Case, kinds: tuple[str, ...] = KINDS) -> None:
    with Builder() as builder:
        rank = Rank(case, builder)
        draw = random.Random(case.seed + MPI.COMM_WORLD.Get_rank())
        out = Held(rank.out, draw.choice(kinds), draw.getrandbits(30)) if rank.out else None
        into = Held(rank.into, draw.choice(kinds), draw.getrandbits(30))
        held = [one for one in (out, into) if one]
        call = Call(case.form, case.operation, rank.arguments(out, into), case.lifetime)
        for turn in range(case.rounds):
            expected = rank.expected(out.before if out else None, into.before)
            call.start()
            call.finish()
            where = f"round {turn}, memory {[one.kind for one in held]}"
            equal.check(into.read(), expected, f"receive buffer, {where}")
            if out:
                equal.check(out.read(), out.before, f"send buffer, {where}")
            for one in held:
                one.refill(draw.getrandbits(30))
        call.free()


def check_seeds(seeds: list[int]) -> int:
    return check_drawn(draw_case, check_case, seeds)
