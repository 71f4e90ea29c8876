"""Reductions among GPUs of several hosts: NumPy's operations on each host, in the order of the ranks, then between.

Between hosts the library chooses the order: each element of a result is the one of some order.
"""

from __future__ import annotations

import socket
from functools import cache
from itertools import permutations

import numpy as np
from mpi4py import MPI
from node_reductions_worker import KERNEL, Case, Held, Reduction, Sizes, Values, comm, draw_case, dtype_of, expected

from support import equal, outcomes
from support.collective_calls import check_drawn

IS_OPEN_MPI = MPI.get_vendor()[0] == "Open MPI"
SPANNING = ("Allreduce", "Reduce", "Reduce_scatter", "Reduce_scatter_block")
LEAST_BYTES = 512 << 10  # of the calls that ranks of several hosts agree in


@cache
def hosts() -> list[list[int]]:
    names = comm().allgather(socket.gethostname())
    return [[rank for rank, name in enumerate(names) if name == host] for host in dict.fromkeys(names)]


def _are_same(case: Case, found: Values, wanted: Values) -> Values:
    if found.dtype.names:
        return (found["value"] == wanted["value"]) & (found["index"] == wanted["index"])
    if dtype_of(case.datatype).kind == "c" and case.op == "PROD":  # the parts may be fused
        tolerance = 1e-4 if found.itemsize == 8 else 1e-12
        return np.isclose(found, wanted, rtol=tolerance, atol=tolerance)
    return found == wanted


def compare(case: Case, found: Values, sizes: Sizes) -> None:
    orders = permutations(hosts())
    masks = [_are_same(case, found, expected(case, sizes, order)) for order in orders]
    assert np.logical_or.reduce(masks).all(), repr(case)


def is_computed_by_kernels(case: Case, kind: str = "device") -> bool:
    reduction = Reduction(case, kind)
    before = outcomes.rows()
    getattr(comm(), case.operation)(*reduction.arguments)
    rows = outcomes.rows() - before
    result = reduction.check(compare)
    if case.operation == "Allreduce":
        assert len(set(comm().allgather(result.tobytes()))) == 1
    return rows[f"MPI_{case.operation}", KERNEL] == 1


def agree(n_bytes: int = LEAST_BYTES) -> bool:
    return is_computed_by_kernels(Case("Allreduce", "LONG", "SUM", n_bytes // 8))


def is_unsigned_in_library(case: Case) -> bool:
    """Open MPI compares MPI_OFFSET as if it were unsigned."""
    return IS_OPEN_MPI and case.datatype == "OFFSET" and case.op in ("MIN", "MAX")


def check_seeds(seeds: list[int]) -> int:
    """The kernels do every call that has something to do, but for scans."""

    def check_case(case: Case) -> None:
        if is_unsigned_in_library(case):
            case = case._replace(op="SUM")
        if case.operation not in SPANNING:
            case = case._replace(operation=SPANNING[case.seed % len(SPANNING)])
        assert is_computed_by_kernels(case) == (Reduction(case).sizes.whole > 0), repr(case)

    agree()
    return check_drawn(draw_case, check_case, seeds)


def check_all(cases: list[Case], kinds: dict[int, str] | None = None) -> list[bool]:
    """Whether the kernels do every case that has something to do."""
    agree()
    kind = (kinds or {}).get(comm().rank, "device")
    return [is_computed_by_kernels(case, kind) == (Reduction(case).sizes.whole > 0) for case in cases]


def error_in_place(n: int) -> list[bool]:
    """The buffers may be reduced in part: one error, on every rank, and none behind it."""
    into = Held("device", np.ones(LEAST_BYTES // 8), 0)
    found = []
    for _ in range(n):
        try:
            comm().Allreduce(MPI.IN_PLACE, [into.at, LEAST_BYTES // 8, MPI.DOUBLE])
            found.append(False)
        except MPI.Exception:
            found.append(True)
    return found


def many_communicators(n: int) -> list[bool]:
    """Communicators come and go; the members of each agree again."""
    found = []
    count = LEAST_BYTES // 8
    for turn in range(n):
        one = comm().Split(0, -comm().rank if turn % 2 else comm().rank)
        out, into = Held("device", np.full(count, turn + one.rank, "f8"), 0), Held("device", np.zeros(count), 0)
        before = outcomes.rows()
        one.Allreduce([out.at, count, MPI.DOUBLE], [into.at, count, MPI.DOUBLE])
        found.append((outcomes.rows() - before)["MPI_Allreduce", KERNEL] == 1)
        equal.check(into.read(), sum(turn + rank for rank in range(one.size)))
        one.Free()
    return found


def other_forms() -> list[float]:
    """Nonblocking calls, scans and operations of the program between blocking ones: the library's."""
    agree()
    count = LEAST_BYTES // 8
    out, into = Held("device", np.full(count, 1.0 + comm().rank), 0), Held("device", np.zeros(count), 0)
    ends = [out.at, count, MPI.DOUBLE], [into.at, count, MPI.DOUBLE]
    found = []
    comm().Iallreduce(*ends).Wait()
    found.append(float(into.read()[-1]))
    comm().Scan(*ends)
    found.append(float(into.read()[-1]))
    assert agree()
    return found


def sums_of_rank_0_in_host_memory(n: int) -> list[float]:
    """Rank 0 uses no GPU, and has sent a message in host memory before."""
    count = LEAST_BYTES // 8
    if comm().rank == 0:
        comm().Sendrecv(np.ones(1), 0, recvbuf=np.zeros(1), source=0)
    kind = "host" if comm().rank == 0 else "device"
    out, into = Held(kind, np.full(count, 1.0 + comm().rank), 0), Held(kind, np.zeros(count), 0)
    found = []
    for _ in range(n):
        comm().Allreduce([out.at, count, MPI.DOUBLE], [into.at, count, MPI.DOUBLE])
        found.append(float(into.read()[-1]))
    return found
