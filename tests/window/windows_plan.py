"""Random programs of windows, drawn from a seed: what each rank does in each epoch. All ranks draw the same.

The window of a rank has a stripe of ints for each origin, and a common area. In an epoch that writes, an origin puts,
or fetches and replaces, in its own stripes. In common areas it accumulates, by an operation that does not depend on the
order. In an epoch that reads, it gets from anywhere.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from support import constructors as c
from support.typemap import Named, Spec

INT = Named("INT")
STRIPE = 96  # ints
SYNCHRONISATIONS = ("fence", "post and start", "lock", "lock exclusive", "lock all", "flush", "flush local and all")
COMMON_OPERATIONS = ("SUM", "BXOR", "MAX", "MIN")
WRITES = ("Put", "Rput", "Accumulate", "Raccumulate", "Get_accumulate", "Rget_accumulate")
READS = ("Get", "Rget", "Get_accumulate")


Shape = tuple[Spec, int]  # a datatype, and the count of its elements


@dataclass(frozen=True)
class Operation:
    name: str
    target: int
    displacement: int  # in units of the target's window
    n_ints: int
    at_origin: Shape
    at_target: Shape
    kind: str  # memory of the origin
    seed: int
    op: str = ""
    result: Shape | None = None


@dataclass(frozen=True)
class Epoch:
    synchronisation: str
    writes: bool
    operations: list[list[Operation]]  # by origin


@dataclass(frozen=True)
class Plan:
    kinds: list[Any]  # memory of each rank's window; of a dynamic window: of its halves
    units: list[int]
    epochs: list[Epoch]

    @property
    def n_ints(self) -> int:
        return STRIPE * (len(self.kinds) + 1)

    @property
    def is_dynamic(self) -> bool:
        return isinstance(self.kinds[0], tuple)


def _partition(drawn: random.Random, n: int) -> list[int]:
    parts = []
    while n:
        parts.append(drawn.randint(1, n))
        n -= parts[-1]
    return parts


def _displacements(drawn: random.Random, parts: list[int]) -> list[int]:
    at, found = 0, []
    for part in parts:
        at += drawn.randint(0, 2)
        found.append(at)
        at += part
    return found


def shape(drawn: random.Random, n: int) -> Shape:
    """n ints, none of which overlap, in at most 3 n ints of memory."""
    count = drawn.choice([1, 1, 1, *(k for k in range(2, n + 1) if n % k == 0)])
    return _spec(drawn, n // count), count


def _spec(drawn: random.Random, n: int) -> Spec:
    way = drawn.randrange(6) if n > 1 else 5
    if way == 0:
        return c.Contiguous(n, INT)
    if way == 1:
        block = drawn.choice([k for k in range(1, n + 1) if n % k == 0])
        return c.Vector(n // block, block, block + drawn.randint(0, 2), INT)
    parts = _partition(drawn, n)
    displacements = _displacements(drawn, parts)
    if way == 2:
        return c.Indexed(tuple(parts), tuple(displacements), INT)
    pairs = list(zip(parts, displacements, strict=True))
    drawn.shuffle(pairs)
    if way == 3:
        return c.Hindexed(tuple(p for p, _ in pairs), tuple(4 * d for _, d in pairs), INT)
    if way == 4:
        return c.Dup(c.Indexed(tuple(parts), tuple(displacements), INT))
    return INT if n == 1 else c.Contiguous(n, INT)


def _operation(drawn: random.Random, me: int, common: str, plan: Plan, own_kinds: tuple[str, ...]) -> Operation:
    """`common`: the operation on common areas in an epoch that writes; empty: it reads."""
    n_ranks = len(plan.kinds)
    target = drawn.randrange(n_ranks)
    name = drawn.choice(WRITES if common else READS)
    is_common = name in ("Accumulate", "Raccumulate")
    n = drawn.randint(1, STRIPE // 3)
    first = n_ranks if is_common else me if common else drawn.randint(0, n_ranks)
    at = first * STRIPE + drawn.randint(0, STRIPE - 3 * n)
    op = "" if "ccumulate" not in name else "NO_OP" if not common else common if is_common else "REPLACE"
    return Operation(
        name, target, at * 4 // plan.units[target], n, shape(drawn, n), shape(drawn, n), drawn.choice(own_kinds),
        drawn.getrandbits(30), op, shape(drawn, n),
    )  # fmt: skip


def _epoch(drawn: random.Random, plan: Plan, own_kinds: tuple[str, ...]) -> Epoch:
    common = drawn.choice(COMMON_OPERATIONS) if drawn.random() < 0.6 else ""
    all_operations = []
    for me in range(len(plan.kinds)):
        mine: list[Operation] = []
        for _ in range(drawn.randint(0, 4)):
            one = _operation(drawn, me, common, plan, own_kinds)
            # Accesses of one epoch to one stripe have no order.
            is_second = any(other.target == one.target and other.op != common for other in mine)
            if not common or one.op == common or not is_second:
                mine.append(one)
        all_operations.append(mine)
    return Epoch(drawn.choice(SYNCHRONISATIONS), bool(common), all_operations)


def draw_dynamic(seed: int, n_ranks: int, kinds: tuple[str, ...], own_kinds: tuple[str, ...]) -> Plan:
    drawn = random.Random(seed)
    plan = Plan([(drawn.choice(kinds), drawn.choice(kinds)) for _ in range(n_ranks)], [1] * n_ranks, [])
    plan.epochs.extend(_epoch(drawn, plan, own_kinds) for _ in range(6))
    return plan


def draw(seed: int, n_ranks: int, window_kinds: tuple[str, ...], own_kinds: tuple[str, ...], n_epochs: int = 6) -> Plan:
    drawn = random.Random(seed)
    kinds = [drawn.choice(window_kinds) for _ in range(n_ranks)]
    if all(kind == "host" for kind in kinds):
        kinds[drawn.randrange(n_ranks)] = "device"
    plan = Plan(kinds, [drawn.choice((1, 4)) for _ in range(n_ranks)], [])
    plan.epochs.extend(_epoch(drawn, plan, own_kinds) for _ in range(n_epochs))
    return plan
