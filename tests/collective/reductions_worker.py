"""Random reductions in memory of any kind, against NumPy: predefined operations, and one of the program's that sees the
elements of a derived datatype with their gaps.

All ranks draw the same case from its seed, and tell each other what they contribute.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, reduce

import numpy as np
from mpi4py import MPI

from support import calls, equal
from support.building import Builder
from support.collective_calls import IN_PLACE, LIFETIMES, Call, Number, Numbers, check_drawn, name_of
from support.collective_layouts import Elements, Held, Uniform
from support.constructors import Resized, Vector
from support.messages import KINDS
from support.p2p import FORMS, Form, has
from support.typemap import Bytes, Named

OPERATIONS = ("Reduce", "Allreduce", "Scan", "Exscan", "Reduce_scatter", "Reduce_scatter_block", "Reduce_local")
NUMPY = {"SUM": np.add, "MAX": np.maximum, "MIN": np.minimum, "program's": np.add}
COLUMN = Elements(Resized(0, 40, Vector(3, 1, 2, Named("INT"))), 3)  # gaps within, and between elements


@cache
def comms() -> dict[str, MPI.Comm]:
    world = MPI.COMM_WORLD.Dup()
    half = world.Split(world.Get_rank() % 2)
    inter = half.Create_intercomm(0, world, 1 - world.Get_rank() % 2, 5) if world.Get_size() > 1 else None
    return {"world": world, "inter": inter}


@dataclass(frozen=True)
class Case:
    operation: str
    lifetime: str
    form: Form
    op: str
    root: int
    in_place: bool
    count: int
    seed: int
    rounds: int
    where: str = "world"


def draw_case(seed: int) -> Case:
    draw = random.Random(seed)
    operation = draw.choice(OPERATIONS)
    lifetimes = ("blocking",) if operation == "Reduce_local" else LIFETIMES
    lifetime = draw.choice([one for one in lifetimes if has(name_of(operation, one))])
    size = MPI.COMM_WORLD.Get_size()
    has_groups = size > 1 and size % 2 == 0 and operation in ("Reduce", "Allreduce") and draw.random() < 0.2
    return Case(
        operation,
        lifetime,
        draw.choice(FORMS),
        draw.choice(tuple(NUMPY)),
        draw.randrange(size),
        not has_groups and operation != "Reduce_local" and draw.random() < 0.4,
        draw.choice((0, 1, 5, 1000)),
        draw.getrandbits(30),
        3 if lifetime == "persistent" else 1,
        "inter" if has_groups else "world",
    )


@contextmanager
def operation_of(case: Case, layout: Uniform) -> Iterator[MPI.Op]:
    """The program's operation adds the data of each element, and writes to no gap."""
    if case.op != "program's":
        yield getattr(MPI, case.op)
        return
    extent = layout.datatype.Get_extent()[1]

    def add(inbuf: MPI.buffer, inoutbuf: MPI.buffer, datatype: MPI.Datatype) -> None:
        mine, result = (np.frombuffer(buffer, np.int32).reshape(-1, extent // 4) for buffer in (inbuf, inoutbuf))
        result[:, 0:5:2] += mine[:, 0:5:2]

    made = MPI.Op.Create(add, True)
    yield made
    made.Free()


class Rank:
    def __init__(self, case: Case, builder: Builder) -> None:
        self.case, self.comm = case, comms()[case.where]
        self.size, self.rank = self.comm.Get_size(), self.comm.Get_rank()
        self.elements = COLUMN if case.op == "program's" else Elements(Named("INT"), 1)
        draw = random.Random(case.seed)
        self.counts = [draw.choice((0, 1, 3)) * case.count for _ in range(self.size)]
        self.whole = self._layout(self._contributed(), builder)
        result = self.whole if self._is_result_whole() else self._layout(self._received(), builder)
        self.into = self.whole if case.in_place and not self._is_result_whole() else result
        self.received = self._received()

    def _layout(self, count: int, builder: Builder) -> Uniform:
        return Uniform(self.elements, count * self.elements.n_leaves, 1, builder)

    def _is_result_whole(self) -> bool:
        return not self.case.operation.startswith("Reduce_scatter")

    def _contributed(self) -> int:
        if self.case.operation == "Reduce_scatter":
            return sum(self.counts)
        return self.case.count * (self.size if self.case.operation == "Reduce_scatter_block" else 1)

    def _received(self) -> int:
        return self.counts[self.rank] if self.case.operation == "Reduce_scatter" else self.case.count

    @property
    def root(self) -> int:
        if self.case.where == "world":
            return self.case.root
        if MPI.COMM_WORLD.Get_rank() % 2:
            return 0
        return MPI.ROOT if self.rank == 0 else MPI.PROC_NULL

    @property
    def gets_result(self) -> bool:
        if self.case.operation != "Reduce":
            return self.case.operation != "Exscan" or self.rank > 0
        return self.root == (self.rank if self.case.where == "world" else MPI.ROOT)

    @property
    def is_in_place(self) -> bool:
        return self.case.in_place and (self.case.operation != "Reduce" or self.gets_result)

    def expected(self, out: Bytes, into: Bytes) -> Bytes:
        """The receive buffer behind the call. Collective."""
        mine = (into if self.is_in_place else out)[self.whole.blocks[0] + self.whole.origin].view(np.int32)
        everyone = MPI.COMM_WORLD.allgather(mine)
        result = into.copy()
        if not self.gets_result:
            return result
        op, operation = NUMPY[self.case.op], self.case.operation
        if operation == "Reduce_local":
            values = op(mine, into[self.whole.blocks[0] + self.whole.origin].view(np.int32))
        elif operation in ("Scan", "Exscan"):
            values = reduce(op, everyone[: self.rank + (operation == "Scan")])
        elif self.case.where == "inter":
            values = reduce(op, everyone[1 - MPI.COMM_WORLD.Get_rank() % 2 :: 2])
        else:
            values = reduce(op, everyone)
        first, n = self._first() * self.elements.n_leaves, self.received * self.elements.n_leaves
        data = values[first : first + n].view(np.uint8)
        result[self.into.blocks[0][: len(data)] + self.into.origin] = data
        return result

    def _first(self) -> int:
        if self.case.operation == "Reduce_scatter":
            return sum(self.counts[: self.rank])
        return self.rank * self.case.count if self.case.operation == "Reduce_scatter_block" else 0

    def arguments(self, out: Held, into: Held, op: MPI.Op) -> tuple[object, ...]:
        sent = IN_PLACE if self.is_in_place else ctypes.c_void_p(out.address)
        count = Numbers(self.counts) if self.case.operation == "Reduce_scatter" else Number(self.case.count)
        tail: tuple[object, ...] = (self.comm,)
        if self.case.operation == "Reduce":
            tail = (ctypes.c_int(self.root), self.comm)
        elif self.case.operation == "Reduce_local":
            tail = ()
        return (sent, ctypes.c_void_p(into.address), count, self.whole.datatype, calls.handle(op), *tail)


def check_case(case: Case, kinds: tuple[str, ...] = KINDS) -> None:
    with Builder() as builder:
        rank = Rank(case, builder)
        draw = random.Random(case.seed + MPI.COMM_WORLD.Get_rank())
        out = Held(rank.whole, draw.choice(kinds), draw.getrandbits(30))
        into = Held(rank.into, draw.choice(kinds), draw.getrandbits(30))
        with operation_of(case, rank.whole) as op:
            call = Call(case.form, case.operation, rank.arguments(out, into, op), case.lifetime)
            for turn in range(case.rounds):
                expected = rank.expected(out.before, into.before)
                call.start()
                call.finish()
                where = f"round {turn}, memory {out.kind}, {into.kind}"
                if rank.gets_result or case.operation != "Exscan":
                    equal.check(into.read(), expected, f"receive buffer, {where}")
                equal.check(out.read(), out.before, f"send buffer, {where}")
                out.refill(draw.getrandbits(30))
                into.refill(draw.getrandbits(30))
            call.free()


def check_seeds(seeds: list[int]) -> int:
    return check_drawn(draw_case, check_case, seeds)
