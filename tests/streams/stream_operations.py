"""Persistent collective operations whose buffers are filled, used and read by work in streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI
from node_reductions_worker import Case, Held, Reduction, Values

import tempi
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


def array_of(held: Held) -> FakeArray:
    return held.buffer._array  # type: ignore[attr-defined,no-any-return]


def _write(stream: FakeStream, held: Held, contents: Values) -> None:
    stream.copy(array_of(held), held._guarded(contents))


def _copied(held: Held, stream: FakeStream) -> Held:
    copy = object.__new__(Held)
    copy.__dict__.update(held.__dict__)
    copy.buffer = _Copy(array_of(held), stream)  # type: ignore[assignment]
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
