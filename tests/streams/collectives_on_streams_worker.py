"""Persistent collective operations in the order of a stream: each rank checks its bytes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from enqueue_worker import Exchanges, counts, make_pair
from later_reductions_worker import agreed
from mpi4py import MPI
from node_reductions_worker import Case, Held, Reduction, Values, draw_case, sizes_of
from stream_programs import shapes

import tempi
from support.collective_calls import check_drawn
from tempi._library import library
from tempi.testing import FakeArray, FakeStream

MOVEMENTS = ("Alltoall", "Allgather", "Bcast", "Gather", "Scatter", "Neighbor_alltoall")


class OnStream:
    """An operation whose buffers are filled, used and read by work in streams. `ways`: "enqueued", "captured", and
    "MPI_Start", for which the CPU waits."""

    request: MPI.Prequest

    def __init__(self) -> None:
        self.graph: Any = None
        self.checks: list[Callable[[], None]] = []

    def fill(self, stream: FakeStream, turn: int) -> None:
        raise NotImplementedError

    def read(self, stream: FakeStream) -> Callable[[], None]:
        """Queue a copy of the result; the function checks it."""
        raise NotImplementedError

    def enqueue(self, stream: FakeStream) -> None:
        tempi.start_enqueue(self.request, stream)
        tempi.wait_enqueue(self.request, stream)

    def turn(self, stream: FakeStream, turn: int, way: str) -> None:
        self.fill(stream, turn)
        if way == "MPI_Start":
            stream.synchronize()
            self.request.Start()
            self.request.Wait()
        elif way == "captured":
            if self.graph is None:
                stream.synchronize()  # its work is not part of the graph
                stream.begin_capture()
                self.enqueue(stream)
                self.graph = stream.end_capture()
            self.graph.launch(stream)
        else:
            self.enqueue(stream)
        self.checks.append(self.read(stream))

    def run(self, ways: Sequence[str], stream: FakeStream | None = None) -> None:
        stream = stream or FakeStream()
        for turn, way in enumerate(ways):
            self.turn(stream, turn, way)
        self.finish(stream)

    def finish(self, stream: FakeStream) -> None:
        stream.synchronize()
        for check in self.checks:
            check()
        self.request.Free()


class Reduced(OnStream):
    def __init__(self, comm: MPI.Comm, case: Case) -> None:
        super().__init__()
        self.reduction = Reduction(case)
        self.request = getattr(comm, f"{case.operation}_init")(*self.reduction.arguments)

    def fill(self, stream: FakeStream, turn: int) -> None:
        self.reduction.fill(turn)
        _write(stream, self.reduction.out, self.reduction.mine)
        _write(stream, self.reduction.into, self.reduction.before_call)

    def read(self, stream: FakeStream) -> Callable[[], None]:
        now = _Then(self.reduction, stream)
        return now.check


class _Then(Reduction):
    """A reduction with the contents that its buffers have when the stream comes here."""

    def __init__(self, of: Reduction, stream: FakeStream) -> None:
        self.__dict__.update(of.__dict__)
        self.out, self.into = _copied(of.out, stream), _copied(of.into, stream)

    def check(self, *_: Any) -> Any:
        return super().check()


def _array(held: Held) -> FakeArray:
    return held.buffer._array  # type: ignore[attr-defined,no-any-return]


def _write(stream: FakeStream, held: Held, contents: Values) -> None:
    stream.copy(_array(held), held._guarded(contents))


def _copied(held: Held, stream: FakeStream) -> Held:
    copy = object.__new__(Held)
    copy.__dict__.update(held.__dict__)
    copy.buffer = _Copy(_array(held), stream)  # type: ignore[assignment]
    return copy


class _Copy:
    def __init__(self, of: FakeArray, stream: FakeStream) -> None:
        self._array = FakeArray(of.nbytes)
        stream.copy(self._array, of)

    def read(self) -> np.ndarray[Any, Any]:
        return self._array.to_numpy()


class Moved(OnStream):
    """Blocks of `n` ints."""

    def __init__(self, comm: MPI.Comm, operation: str, n: int, root: int = 0, in_place: bool = False) -> None:
        super().__init__()
        self.comm, self.operation, self.n, self.root, self.in_place = comm, operation, n, root, in_place
        if operation == "Neighbor_alltoall":
            self.comm = comm.Create_cart([comm.size], periods=[True])
        n_out, n_in = {
            "Alltoall": (comm.size, comm.size),
            "Allgather": (1, comm.size),
            "Bcast": (1, 1),
            "Gather": (1, comm.size),
            "Scatter": (comm.size, 1),
            "Neighbor_alltoall": (2, 2),
        }[operation]
        self.out, self.into = FakeArray((n_out, n), np.int32), FakeArray((n_in, n), np.int32)
        self.request = getattr(self.comm, f"{operation}_init")(*self.arguments())

    def spec(self, array: FakeArray, n: int) -> Any:
        return [MPI.buffer.fromaddress(array.address, array.nbytes), n, MPI.INT]

    def arguments(self) -> list[Any]:
        out, into = self.spec(self.out, self.n), self.spec(self.into, self.n)
        if self.operation == "Bcast":
            return [self.spec(self.into, self.n), self.root]
        if self.operation in ("Gather", "Scatter"):
            return [out, into, self.root]
        return [MPI.IN_PLACE if self.in_place else out, into]

    def sent(self, rank: int, turn: int, n_blocks: int) -> Any:
        return np.random.default_rng((rank, turn)).integers(0, 1 << 30, (n_blocks, self.n)).astype(np.int32)

    def fill(self, stream: FakeStream, turn: int) -> None:
        self.now = turn
        stream.copy(self.out, self.sent(self.comm.rank, turn, self.out.shape[0]))
        before = np.full(self.into.shape, -1, np.int32)
        if self.operation == "Bcast" and self.comm.rank == self.root:
            before = self.sent(self.root, turn, 1)
        if self.in_place and self.operation == "Alltoall":
            before = self.sent(self.comm.rank, turn, self.comm.size)
        elif self.in_place:
            before[self.comm.rank] = self.sent(self.comm.rank, turn, 1)
        stream.copy(self.into, before)
        self.before = before

    def expected(self) -> Any:
        comm, turn, rank = self.comm, self.now, self.comm.rank
        if self.operation == "Bcast":
            return self.sent(self.root, turn, 1)
        if self.operation == "Scatter":
            return self.sent(self.root, turn, comm.size)[[rank]]
        if self.operation == "Gather" and rank != self.root:
            return self.before
        if self.operation == "Neighbor_alltoall":
            left, right = (rank - 1) % comm.size, (rank + 1) % comm.size
            return np.stack([self.sent(left, turn, 2)[1], self.sent(right, turn, 2)[0]])
        from_all = [self.sent(peer, turn, self.out.shape[0]) for peer in range(comm.size)]
        return np.stack([one[rank if self.operation == "Alltoall" else 0] for one in from_all])

    def read(self, stream: FakeStream) -> Callable[[], None]:
        copy, expected = FakeArray(self.into.shape, np.int32), self.expected()
        stream.copy(copy, self.into)
        return lambda: np.testing.assert_array_equal(copy.to_numpy(), expected)


def reduce_drawn(seeds: list[int]) -> tuple[int, dict[str, int]]:
    """Random reductions, each a few times in random ways."""
    comm = agreed()
    tempi.reset_stats()

    def check_case(case: Case) -> None:
        if sizes_of(case).whole > 0:
            draw = random.Random(case.seed)
            ways = ["enqueued", *draw.choices(("enqueued", "captured", "MPI_Start"), k=3)]
            Reduced(comm, case).run(ways)

    n = check_drawn(draw_case, check_case, seeds)
    comm.Free()
    return n, counts()


def reduce_all(cases: list[Case], ways: Sequence[str]) -> dict[str, int]:
    comm = agreed()
    tempi.reset_stats()
    for case in cases:
        Reduced(comm, case).run(ways)
    comm.Free()
    return counts()


def move_all(n: int, ways: Sequence[str], in_place: bool = False) -> dict[str, int]:
    comm = agreed()
    tempi.reset_stats()
    for operation in ("Alltoall", "Allgather") if in_place else MOVEMENTS:
        Moved(comm, operation, n, comm.size - 1, in_place).run(ways)
    comm.Free()
    return counts()


def together(rounds: int) -> dict[str, int]:
    """A solver's step: a halo, two dot products and an all-to-all, in one wait and in several."""
    comm, draw, stream = agreed(), random.Random(5), FakeStream()
    rows = shapes()["rows"]
    halo = Exchanges(comm, 11, 0)
    halo.pairs = [make_pair(comm, rank, (rank + 1) % comm.size, 5, rows) for rank in range(comm.size)]
    own = [request for pair in halo.mine(halo.pairs) for request in pair.requests]
    all_of = [
        Reduced(comm, Case("Allreduce", "DOUBLE", "SUM", 1, seed=3)),
        Reduced(comm, Case("Allreduce", "FLOAT", "MAX", 1_100_001, in_place=True, seed=4)),
        Moved(comm, "Alltoall", 100),
    ]
    tempi.reset_stats()
    for turn in range(rounds):
        for one in all_of:
            one.fill(stream, turn)
        seed = halo.fill(halo.pairs, stream)
        draw.shuffle(all_of)  # the same on all ranks
        requests = [*own, *(one.request for one in all_of)]
        if draw.random() < 0.5:
            tempi.start_enqueue(requests, stream)
            tempi.wait_enqueue(requests, stream)
        else:
            for one in all_of:
                one.enqueue(stream)
            tempi.start_enqueue(own, stream)
            tempi.wait_enqueue(own, stream)
        halo.check(halo.pairs, stream, seed)
        for one in all_of:
            one.checks.append(one.read(stream))
    for one in all_of:
        one.finish(stream)
    halo.streams = [stream]
    halo.run(0)
    comm.Free()
    return counts()


def a_rank_is_late(seconds: float, n: int) -> dict[str, int]:
    comm, stream = agreed(), FakeStream()
    one = Reduced(comm, Case("Allreduce", "INT", "SUM", 1000, seed=6))
    one.turn(stream, 0, "enqueued")
    tempi.reset_stats()
    for turn in range(1, n):
        if comm.rank == 1:
            time.sleep(seconds)
        one.turn(stream, turn, "enqueued")
    one.finish(stream)
    comm.Free()
    return counts()


def freed_behind_the_wait(n: int) -> None:
    """The request is freed, and its memory used by the next one, while its work is queued."""
    comm, stream, checks = agreed(), FakeStream(), []
    library().fake_unfinished()
    for turn in range(n):
        one = Reduced(comm, Case("Allreduce", "INT", "SUM", 3000, seed=turn))
        one.turn(stream, turn, "enqueued")
        one.request.Free()
        checks.append(one)
    stream.synchronize()
    for one in checks:
        for check in one.checks:
            check()
    comm.Free()


def started_twice() -> list[str]:
    comm, stream = agreed(), FakeStream()
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    one = Reduced(comm, Case("Allreduce", "INT", "SUM", 10))
    one.fill(stream, 0)
    tempi.start_enqueue(one.request, stream)
    said = []
    for call in (lambda: tempi.start_enqueue(one.request, stream), one.request.Start):
        try:
            call()
        except (MPI.Exception, RuntimeError) as error:
            said.append(str(error))
    tempi.wait_enqueue(one.request, stream)
    one.checks.append(one.read(stream))
    one.finish(stream)
    comm.Free()
    return said


def in_two_streams_in_turn(n: int, late: float = 0.0) -> dict[str, int]:
    """Sums in place, each time in the other stream, without a wait of the program between them."""
    comm, streams = agreed(), (FakeStream(), FakeStream())
    tempi.reset_stats()
    for count in (100, 1_200_000):  # in one step, and in two
        own = [np.random.default_rng((rank, count)).integers(0, 1 << 20, count, np.uint32) for rank in range(comm.size)]
        array = FakeArray.from_numpy(own[comm.rank])
        request = comm.Allreduce_init(MPI.IN_PLACE, [array, count, MPI.UINT32_T])
        if comm.rank == 1:
            time.sleep(late)
        for turn in range(n):
            stream = streams[turn % 2]
            tempi.start_enqueue(request, stream)
            tempi.wait_enqueue(request, stream)
        for stream in streams:
            stream.synchronize()
        sums = np.sum(own, axis=0, dtype=np.uint32) * np.uint32(comm.size ** (n - 1))
        np.testing.assert_array_equal(array.to_numpy(), sums)
        request.Free()
    comm.Free()
    return counts()


def communicator_is_freed_first() -> dict[str, int]:
    comm, stream = agreed(), FakeStream()
    all_of: list[OnStream] = [Moved(comm, "Alltoall", 50), Reduced(comm, Case("Allreduce", "INT", "SUM", 100, seed=6))]
    comm.Free()
    tempi.reset_stats()
    for one in all_of:
        if isinstance(one, Moved):
            one.comm = MPI.COMM_WORLD
        for turn in range(3):
            one.turn(stream, turn, "enqueued")
        one.finish(stream)
    return counts()


def a_freed_buffer() -> str:
    comm, stream = agreed(), FakeStream()
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    one = Reduced(comm, Case("Allreduce", "INT", "SUM", 1000, seed=6))
    one.turn(stream, 0, "enqueued")
    stream.synchronize()
    library().fake_deallocate(one.reduction.into.buffer.address)
    _array(one.reduction.into)._memory.address = 0
    said = ""
    try:
        tempi.start_enqueue(one.request, stream)
    except MPI.Exception as error:
        said = str(error)
    one.request.Free()
    comm.Free()
    return said
