"""Reductions among the GPUs of a node, against NumPy's operations in the order of the ranks.

All ranks draw the same case from its seed, and know what the others contribute.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

import tempi
from support import equal, outcomes
from support.collective_calls import check_drawn
from support.memory import Buffer, at_hand

KERNEL = "taken: GPU kernel"
OPTIONS = {"TEMPI_DEVICE": "fake", "TEMPI_STRATEGY": "direct", "TEMPI_MATCH_TIMEOUT": "5000000"}
OPERATIONS = ("Allreduce", "Reduce", "Scan", "Exscan", "Reduce_scatter", "Reduce_scatter_block")
GUARD = 16

Values = np.ndarray[Any, Any]


def _logical(name: str) -> Callable[[Values, Values], Values]:
    return lambda a, b: getattr(np, name)(a, b).astype(a.dtype)


def _located(is_first: Callable[[Values, Values], Values]) -> Callable[[Values, Values], Values]:
    def combined(a: Values, b: Values) -> Values:
        takes_a = is_first(a["value"], b["value"]) | ((a["value"] == b["value"]) & (a["index"] < b["index"]))
        return np.where(takes_a, a, b)

    return combined


NUMPY: dict[str, Callable[[Values, Values], Values]] = {
    "SUM": np.add,
    "PROD": np.multiply,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "BAND": np.bitwise_and,
    "BOR": np.bitwise_or,
    "BXOR": np.bitwise_xor,
    "LAND": _logical("logical_and"),
    "LOR": _logical("logical_or"),
    "LXOR": _logical("logical_xor"),
    "MINLOC": _located(np.less),
    "MAXLOC": _located(np.greater),
}
ORDER, ADDITION = ("MIN", "MAX"), ("SUM", "PROD")
BITS, LOGIC = ("BAND", "BOR", "BXOR"), ("LAND", "LOR", "LXOR")


def _rounded_to_bfloat16(wide: Values) -> Values:
    """The nearest bfloat16 of finite float32; of two equally near ones the one with an even last bit."""
    below = wide.view("u4") >> 16
    low, high = ((below + step << 16).astype("u4").view("f4").astype("f8") for step in (0, 1))
    to_low, to_high = np.abs(wide - low), np.abs(wide - high)
    takes_high = (to_high < to_low) | ((to_high == to_low) & (below % 2 == 1))
    return (below + takes_high).astype("u2")


def _bfloat16(operation: Callable[[Values, Values], Values]) -> Callable[[Values, Values], Values]:
    return lambda *both: _rounded_to_bfloat16(operation(*((one.astype("u4") << 16).view("f4") for one in both)))


KINDS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "C integers": (
        {
            "SIGNED_CHAR": "i1", "UNSIGNED_CHAR": "u1", "SHORT": "i2", "UNSIGNED_SHORT": "u2", "INT": "i4",
            "UNSIGNED": "u4", "LONG": "i8", "UNSIGNED_LONG": "u8", "INT8_T": "i1", "UINT64_T": "u8",
        },
        (*ADDITION, *ORDER, *BITS, *LOGIC),
    ),
    "other integers": (
        {"AINT": "i8", "OFFSET": "i8", "COUNT": "i8", "INTEGER": "i4", "INTEGER2": "i2", "INTEGER8": "i8"},
        (*ADDITION, *ORDER, *BITS),
    ),
    "floating point": (
        {"FLOAT": "f4", "DOUBLE": "f8", "REAL": "f4", "DOUBLE_PRECISION": "f8", "REAL4": "f4", "REAL8": "f8"},
        (*ADDITION, *ORDER),
    ),
    "16-bit floats": ({"float16": "f2", "bfloat16": "u2"}, (*ADDITION, *ORDER)),
    "complex": ({"C_FLOAT_COMPLEX": "c8", "C_DOUBLE_COMPLEX": "c16", "DOUBLE_COMPLEX": "c16"}, ADDITION),
    "logical": ({"C_BOOL": "?", "LOGICAL": "i4"}, LOGIC),
    "bytes": ({"BYTE": "u1"}, BITS),
    "pairs": (
        {"FLOAT_INT": "f4,i4", "DOUBLE_INT": "f8,i4", "SHORT_INT": "i2,i4", "TWOINT": "i4,i4", "LONG_INT": "i8,i4"},
        ("MINLOC", "MAXLOC"),
    ),
}  # fmt: skip
TYPES = {name: dtype for types, _ in KINDS.values() for name, dtype in types.items()}


def dtype_of(datatype: str) -> np.dtype[Any]:
    value, _, index = TYPES[datatype].partition(",")
    return np.dtype([("value", value), ("index", index)], align=True) if index else np.dtype(value)


FLOAT16 = tuple(KINDS["16-bit floats"][0])


def mpi_datatype(name: str) -> MPI.Datatype:
    return tempi.datatype(name) if name in FLOAT16 else getattr(MPI, name)


def mpi_op(case: Case) -> MPI.Op:
    return tempi.operation(getattr(MPI, case.op)) if case.datatype in FLOAT16 else getattr(MPI, case.op)


def numpy_operation(case: Case) -> Callable[[Values, Values], Values]:
    return _bfloat16(NUMPY[case.op]) if case.datatype == "bfloat16" else NUMPY[case.op]


COMBINATIONS = [(name, op) for types, ops in KINDS.values() for name in types for op in ops]


class Case(NamedTuple):
    """A call. `offset`: elements before the first one, from an address that is aligned."""

    operation: str
    datatype: str
    op: str
    count: int
    in_place: bool = False
    root: int = 0
    offset: int = 0
    seed: int = 0


@cache
def comm() -> MPI.Comm:
    return MPI.COMM_WORLD.Dup()


def draw_case(seed: int) -> Case:
    draw = random.Random(seed)
    datatype, op = draw.choice(COMBINATIONS)
    return Case(
        draw.choice(OPERATIONS),
        datatype,
        op,
        draw.choice((0, 1, 2, 5, 17, 1000, 3001)),
        draw.random() < 0.4,
        draw.randrange(comm().size),
        draw.choice((0, 0, 1, 2)),
        draw.getrandbits(30),
    )


def values(case: Case, rank: int, n: int) -> Values:
    """Integers of the full range: sums and products wrap around."""
    draw = np.random.default_rng((case.seed, rank))
    dtype = dtype_of(case.datatype)
    if dtype.names:
        pairs = np.zeros(n, dtype)
        pairs["value"], pairs["index"] = draw.integers(-3, 3, n), draw.integers(0, 5, n)
        return pairs
    if dtype.kind == "c":
        return (draw.normal(size=n) + 1j * draw.normal(size=n)).astype(dtype)
    if case.datatype == "bfloat16":
        return (draw.normal(size=n).astype("f4").view("u4") >> 16).astype("u2")
    if dtype.kind == "f":
        return draw.normal(size=n).astype(dtype)
    if dtype.kind == "b" or case.op in LOGIC:
        return draw.integers(0, 2, n).astype(dtype)
    return draw.integers(0, 256, n * dtype.itemsize).astype("u1").view(dtype)


class Held:
    """Values between guards."""

    def __init__(self, kind: str, contents: Values, offset: int) -> None:
        size = contents.itemsize
        self.first, self.n_bytes, self.dtype = offset * size, contents.nbytes, contents.dtype
        self.buffer: Buffer = at_hand(kind, self._guarded(contents))
        self.at = MPI.buffer.fromaddress(self.buffer.address + self.first, self.n_bytes)

    def _guarded(self, contents: Values) -> Values:
        whole = np.full(self.first + self.n_bytes + GUARD, 0x5A, "u1")
        whole[self.first : self.first + self.n_bytes] = contents.view("u1")
        return whole

    def write(self, contents: Values) -> None:
        self.buffer.write(self._guarded(contents))

    def read(self) -> Values:
        whole = np.array(self.buffer.read())
        end = self.first + self.n_bytes
        assert (whole[: self.first] == 0x5A).all()
        assert (whole[end:] == 0x5A).all()
        return whole[self.first : end].view(self.dtype)


class Sizes(NamedTuple):
    """Elements: of an input; of this rank's result; before it in the inputs; by rank."""

    whole: int
    own: int
    first: int
    counts: list[int]


def sizes_of(case: Case) -> Sizes:
    n, rank = comm().size, comm().rank
    if case.operation == "Reduce_scatter":
        draw = random.Random(case.seed)
        counts = [draw.choice((0, 1, 2)) * case.count for _ in range(n)]
        return Sizes(sum(counts), counts[rank], sum(counts[:rank]), counts)
    if case.operation == "Reduce_scatter_block":
        return Sizes(case.count * n, case.count, rank * case.count, [])
    return Sizes(case.count, case.count, 0, [])


def gets_result(case: Case) -> bool:
    if case.operation == "Reduce":
        return comm().rank == case.root
    return case.operation != "Exscan" or comm().rank > 0


def expected(case: Case, sizes: Sizes, nodes: Sequence[Sequence[int]] = ()) -> Values:
    """In the order of the ranks; of several nodes, in that of the nodes, after the order of the ranks of each."""
    n, rank = comm().size, comm().rank
    contributors = range(n)
    if case.operation in ("Scan", "Exscan"):
        contributors = range(rank + (case.operation == "Scan"))
    operation = numpy_operation(case)
    with np.errstate(over="ignore"):
        of_nodes = [
            reduce(operation, [values(case, one, sizes.whole) for one in node]) for node in nodes or [contributors]
        ]
        whole: Values = reduce(operation, of_nodes)
    return whole[sizes.first : sizes.first + sizes.own]


def arguments(case: Case, sizes: Sizes, sent: Any, into: Held) -> tuple[Any, ...]:
    datatype, op = mpi_datatype(case.datatype), mpi_op(case)
    if case.operation == "Reduce_scatter":
        return sent, [into.at, datatype], sizes.counts, op
    if case.operation == "Reduce_scatter_block":
        return sent, [into.at, case.count, datatype], op
    received = [into.at, sizes.own, datatype]
    return (sent, received, op, case.root) if case.operation == "Reduce" else (sent, received, op)


class Reduction:
    """The buffers of one call, or of one after the other with other values."""

    def __init__(self, case: Case, kind: str = "device") -> None:
        self.case, self.sizes = case, sizes_of(case)
        self.in_place = case.in_place and (case.operation != "Reduce" or gets_result(case))
        self.fill(0)
        self.out = Held(kind, self.mine, case.offset)
        self.into = Held(kind, self.before_call, case.offset)

    def fill(self, turn: int) -> None:
        self.now = self.case._replace(seed=self.case.seed + turn)
        self.mine = values(self.now, comm().rank, self.sizes.whole)
        self.before_call = self.mine if self.in_place else np.zeros(self.sizes.own, self.mine.dtype)

    def refill(self, turn: int) -> None:
        self.fill(turn)
        self.out.write(self.mine)
        self.into.write(self.before_call)

    @property
    def arguments(self) -> tuple[Any, ...]:
        # mpi4py wants the count of a block from both sides of MPI_Reduce_scatter_block.
        count = self.case.count if self.case.operation == "Reduce_scatter_block" else self.sizes.whole
        sent = MPI.IN_PLACE if self.in_place else [self.out.at, count, mpi_datatype(self.case.datatype)]
        return arguments(self.case, self.sizes, sent, self.into)

    def check(self, compared: Callable[[Case, Values, Sizes], None] | None = None) -> Values:
        """The result of this rank; `compared` checks it in another way than the order of the ranks."""
        equal.check(self.out.read(), self.mine)
        result = self.into.read()
        if gets_result(self.now):
            (compared or _compare_in_order)(self.now, result[: self.sizes.own], self.sizes)
            equal.check(result[self.sizes.own :], self.before_call[self.sizes.own :])
        elif self.case.operation == "Reduce":
            equal.check(result, self.before_call)
        return result


def _compare_in_order(case: Case, found: Values, sizes: Sizes) -> None:
    compare(case, found, expected(case, sizes))


def check(case: Case, kind: str = "device") -> bool:
    """True if kernels did the call."""
    reduction = Reduction(case, kind)
    before = outcomes.rows()
    getattr(comm(), case.operation)(*reduction.arguments)
    rows = outcomes.rows() - before
    reduction.check()
    return rows[f"MPI_{case.operation}", KERNEL] == 1


def compare(case: Case, found: Values, wanted: Values) -> None:
    """The same bits, but for products of complex numbers, whose parts a GPU may fuse."""
    if dtype_of(case.datatype).kind == "c" and case.op == "PROD":
        tolerance = 1e-4 if found.itemsize == 8 else 1e-12
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    elif found.dtype.names:
        equal.check(found["value"], wanted["value"])
        equal.check(found["index"], wanted["index"])
    else:
        equal.check(found, wanted, repr(case))


def check_seeds(seeds: list[int]) -> int:
    """The kernels do every call that has something to do."""

    def check_case(case: Case) -> None:
        assert check(case) == (sizes_of(case).whole > 0)

    return check_drawn(draw_case, check_case, seeds)


def check_all(cases: list[Case], kinds: dict[int, str] | None = None) -> list[bool]:
    return [check(case, (kinds or {}).get(comm().rank, "device")) for case in cases]


def kept_and_new_buffers(rounds: int) -> int:
    """Calls on kept buffers, and on buffers that are freed and allocated again between the calls."""
    n_by_kernel = 0
    kept = Held("device", np.zeros(500), 0), Held("device", np.zeros(500), 0)
    for turn in range(rounds):
        out, into = kept if turn % 3 else (Held("device", np.zeros(500 + turn), 0), Held("device", np.zeros(500), 0))
        count = 1 + turn * 37 % 500
        whole = np.full(out.first + out.n_bytes + GUARD, 0x5A, "u1")
        whole[: out.n_bytes] = np.full(out.n_bytes // 8, turn + comm().rank, "f8").view("u1")
        out.buffer.write(whole)
        before = outcomes.rows()
        comm().Allreduce([out.at, count, MPI.DOUBLE], [into.at, count, MPI.DOUBLE])
        n_by_kernel += (outcomes.rows() - before)["MPI_Allreduce", KERNEL]
        equal.check(into.read()[:count], sum(turn + rank for rank in range(comm().size)))
    return n_by_kernel


def by_an_operation_of_the_program() -> list[float]:
    def add(inbuf: MPI.buffer, inoutbuf: MPI.buffer, _: MPI.Datatype) -> None:
        np.frombuffer(inoutbuf, "f8")[:] += np.frombuffer(inbuf, "f8")

    made = MPI.Op.Create(add, True)
    out, into = Held("device", np.array([1.0, comm().rank]), 0), Held("device", np.zeros(2), 0)
    comm().Allreduce([out.at, 2, MPI.DOUBLE], [into.at, 2, MPI.DOUBLE], made)
    made.Free()
    return [float(one) for one in into.read()]


def error_in_place() -> bool:
    """The buffers may be reduced in part: an error on every rank."""
    into = Held("device", np.ones(1000), 0)
    comm().Allreduce(MPI.IN_PLACE, [into.at, 1000, MPI.DOUBLE])  # the kernels are known from now on
    comm().Barrier()
    try:
        for _ in range(6):
            comm().Allreduce(MPI.IN_PLACE, [into.at, 1000, MPI.DOUBLE])
    except MPI.Exception:
        return True
    return False


def broadcasts(cases: list[tuple[int, int]], kinds: dict[int, str] | None = None) -> list[bool]:
    """MPI_Bcast of so many bytes from each root; True where each rank passes a slice on."""
    by_slices = []
    for n_bytes, root in cases:
        contents = np.random.default_rng((n_bytes, comm().rank)).integers(0, 256, n_bytes).astype("u1")
        sent = np.random.default_rng((n_bytes, root)).integers(0, 256, n_bytes).astype("u1")
        held = Held((kinds or {}).get(comm().rank, "device"), contents, 0)
        before = outcomes.rows()
        comm().Bcast([held.at, n_bytes, MPI.BYTE], root)
        by_slices.append((outcomes.rows() - before)["MPI_Bcast", KERNEL] == 1)
        equal.check(held.read(), sent)
    return by_slices
