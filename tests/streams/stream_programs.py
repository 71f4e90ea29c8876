"""Programs that fill GPU buffers by work in a stream, and call MPI in the next line, as their users write them.

Each step fills a buffer, sends it, receives, and uses what has been received, all in a stream and without a wait. The
streams of the fake device run late: a call that does not wait for the stream sends old bytes, and one that does not
come before later work is overwritten.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import tempi
from support import equal
from support.typemap import Bytes
from tempi._library import library
from tempi.testing import FakeArray, FakeStream

PAYLOAD_BYTES = 960
ROOM_BYTES = 4096
POISON = 0xEE


@dataclass(frozen=True)
class Shape:
    """A datatype of `PAYLOAD_BYTES` bytes, and the offsets of its bytes."""

    datatype: MPI.Datatype
    offsets: NDArray[np.intp]


def _shape(lengths: list[int], displacements: list[int]) -> Shape:
    datatype = MPI.BYTE.Create_indexed(lengths, displacements).Commit()
    blocks = [np.arange(at, at + n) for at, n in zip(displacements, lengths, strict=True)]
    return Shape(datatype, np.concatenate(blocks))


def shapes() -> dict[str, Shape]:
    """Of one block, of rows, of a few irregular blocks (a table on the GPU), and of many (a list on the GPU)."""
    some = random.Random(7)
    n_many = PAYLOAD_BYTES // 4
    gaps = [some.choice((0, 4, 8)) for _ in range(n_many)]
    many = [4 * i + sum(gaps[:i]) for i in range(n_many)]
    table = [some.randrange(0, 24) + 100 * i for i in range(PAYLOAD_BYTES // 32)]
    return {
        "block": _shape([PAYLOAD_BYTES], [16]),
        "rows": _shape([40] * 24, [72 * i for i in range(24)]),
        "table": _shape([32] * len(table), table),
        "many": _shape([4] * n_many, many),
    }


class Cells:
    """An array that a program fills, sends, receives into and reads by work in a stream."""

    def __init__(self, kind: str, seed: int, ordinal: int = 0) -> None:
        self.array = FakeArray(ROOM_BYTES, kind=kind, ordinal=ordinal)  # type: ignore[arg-type]
        self.contents: Bytes = np.random.default_rng(seed).integers(0, 256, ROOM_BYTES, np.uint8)
        self.array.copy_from(self.contents)
        library().fake_unfinished()  # as cudaDeviceSynchronize: the bytes of a cudaMemcpy come late, too

    @property
    def kind(self) -> str:
        return self.array.kind

    def fill(self, stream: FakeStream, seed: int) -> None:
        """Queued; the bytes come late."""
        self.contents = np.random.default_rng(seed).integers(0, 256, ROOM_BYTES, np.uint8)
        stream.copy(self.array, self.contents)

    def read(self, stream: FakeStream) -> Callable[[], Bytes]:
        """Queued; the bytes that the array has then."""
        copy = FakeArray(ROOM_BYTES)
        stream.copy(copy, self.array)
        return copy.to_numpy

    def now(self) -> Bytes:
        """As the CPU reads managed and pinned memory."""
        return self.array.to_numpy()


@dataclass
class Check:
    """What queued work has read, and what it must be."""

    what: str
    read: Callable[[], Bytes]
    expected: Bytes


@dataclass
class Program:
    """`order`: how the calls are ordered: "stream" (tempi.stream), "view" (arrays that name their stream) or "none"."""

    comm: MPI.Comm
    seed: int
    order: str
    kinds: tuple[str, ...]
    ways: tuple[str, ...]
    checks: list[Check] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)  # the same on all ranks
        self.shapes = shapes()
        self.streams = [FakeStream(), FakeStream()]
        self.peer = self.comm.size - 1 - self.comm.rank
        self.n = 0

    def run(self, n_steps: int) -> None:
        for _ in range(n_steps):
            self.step(self.random.choice(self.ways), self.random.choice(self.streams))
        for stream in self.streams:
            stream.synchronize()
        for check in self.checks:
            equal.check(check.read(), check.expected, told=check.what)

    def seed_of(self, rank: int) -> int:
        return self.seed * 100_003 + 1009 * self.n + rank

    def step(self, way: str, stream: FakeStream) -> None:
        self.n += 1
        sent_as, received_as = self.random.choice([*self.shapes]), self.random.choice([*self.shapes])
        kinds = self.random.choice(self.kinds), self.random.choice(self.kinds)
        sent, received = Cells(kinds[0], 1), Cells(kinds[1], self.seed_of(self.comm.rank) + 2)
        with self.ordered(stream, sent, received):
            STEPS[way](Step(self, way, stream, sent, received, self.shapes[sent_as], self.shapes[received_as]))

    @contextmanager
    def ordered(self, stream: FakeStream, *cells: Cells) -> Iterator[None]:
        if self.order == "view":
            for one in cells:
                one.array.stream = stream
        with tempi.stream(stream) if self.order == "stream" else nullcontext():
            yield


@dataclass
class Step:
    program: Program
    way: str
    stream: FakeStream
    sent: Cells
    received: Cells
    out: Shape
    into: Shape
    round: int = 0

    @property
    def comm(self) -> MPI.Comm:
        return self.program.comm

    @property
    def peer(self) -> int:
        return self.program.peer

    def seed(self, rank: int) -> int:
        return self.program.seed_of(rank) + 500 * self.round

    def message(self, cells: Cells, shape: Shape) -> list[Any]:
        """The array as a message; a view is made for each call, behind the work that fills the array."""
        if self.program.order == "view":
            tempi.view(cells.array)
        return [cells.array, 1, shape.datatype]

    def begin(self) -> None:
        """Fills what is sent; reads what the receive will overwrite."""
        self.sent.fill(self.stream, self.seed(self.comm.rank))
        self.check("what was there before", self.received.read(self.stream), self.received.contents)

    def payload_of(self, rank: int) -> Bytes:
        contents = np.random.default_rng(self.seed(rank)).integers(0, 256, ROOM_BYTES, np.uint8)
        return contents[self.out.offsets]

    def end(self, payload: Bytes | None = None) -> None:
        """Uses what has been received, and overwrites what was sent."""
        self.received.contents = self.received.contents.copy()
        self.received.contents[self.into.offsets] = self.payload_of(self.peer) if payload is None else payload
        if self.received.kind != "device":
            equal.check(self.received.now(), self.received.contents, told=self.way)
        self.check("what was received", self.received.read(self.stream), self.received.contents)
        self.stream.fill(self.sent.array, POISON)

    def check(self, what: str, read: Callable[[], Bytes], expected: Bytes) -> None:
        name = f"{what}: step {self.program.n}, {self.way}, {self.sent.kind} to {self.received.kind}"
        self.program.checks.append(Check(name, read, expected))


def blocking(step: Step) -> None:
    step.begin()
    send = lambda: step.comm.Send(step.message(step.sent, step.out), step.peer)  # noqa: E731
    if step.comm.rank == 0:
        send()
    step.comm.Recv(step.message(step.received, step.into), step.peer)
    if step.comm.rank != 0:
        send()
    step.end()


def sendrecv(step: Step) -> None:
    step.begin()
    out, into = step.message(step.sent, step.out), step.message(step.received, step.into)
    step.comm.Sendrecv(out, step.peer, recvbuf=into, source=step.peer)
    step.end()


def replaced(step: Step) -> None:
    step.begin()
    step.out = step.into
    step.received.fill(step.stream, step.seed(step.comm.rank))
    step.comm.Sendrecv_replace(step.message(step.received, step.into), step.peer, source=step.peer)
    step.end()


def nonblocking(step: Step) -> None:
    step.begin()
    receive = step.comm.Irecv(step.message(step.received, step.into), step.peer)
    send = step.comm.Isend(step.message(step.sent, step.out), step.peer)
    MPI.Request.Waitall([receive, send])
    step.end()


def tested(step: Step) -> None:
    step.begin()
    send = step.comm.Isend(step.message(step.sent, step.out), step.peer)
    receive = step.comm.Irecv(step.message(step.received, step.into), step.peer)
    while not (receive.Test() and send.Test()):
        pass
    step.end()


def completed_elsewhere(step: Step) -> None:
    """A query in one stream finds the receive complete; the call that completes it has another stream."""
    step.begin()
    receive = step.comm.Irecv(step.message(step.received, step.into), step.peer)
    send = step.comm.Isend(step.message(step.sent, step.out), step.peer)
    while not receive.Get_status():
        pass
    send.Wait()
    first, second = step.program.streams
    step.stream = first if step.stream is second else second
    with tempi.stream(step.stream):
        receive.Wait()
    step.end()


def completed_without_stream(step: Step) -> None:
    """The bytes are there when MPI_Wait returns."""
    step.begin()
    receive = step.comm.Irecv(step.message(step.received, step.into), step.peer)
    send = step.comm.Isend(step.message(step.sent, step.out), step.peer)
    while not receive.Get_status():
        pass
    with tempi.stream(None):
        MPI.Request.Waitall([receive, send])
    wanted = step.received.contents.copy()
    wanted[step.into.offsets] = step.payload_of(step.peer)
    found = step.received.array.to_numpy()
    equal.check(found, wanted, told=f"{step.way}: {step.received.kind}")
    step.end()


def tested_neighbours(step: Step) -> None:
    """MPI_Test in one stream ends some of its messages; the thread has no stream when the call is complete."""
    step.begin()
    graph = step.comm.Create_dist_graph_adjacent([step.peer], [step.peer])
    request = graph.Ineighbor_alltoallw(
        [step.message(step.sent, step.out)[0], [1], [0], [step.out.datatype]],
        [step.message(step.received, step.into)[0], [1], [0], [step.into.datatype]],
    )
    for _ in range(20):
        request.Get_status()
    with tempi.stream(None):
        request.Wait()
    graph.Free()
    step.end()


def recurring(step: Step) -> None:
    """The same calls again: the second takes the message of the first."""
    for step.round in range(3):
        nonblocking(step)


def persistent(step: Step) -> None:
    if step.program.order == "view":  # a view waits for what is queued when it is made
        return nonblocking(step)
    requests = [
        step.comm.Recv_init(step.message(step.received, step.into), step.peer),
        step.comm.Send_init(step.message(step.sent, step.out), step.peer),
    ]
    for step.round in range(3):
        step.begin()
        MPI.Prequest.Startall(requests)
        MPI.Prequest.Waitall(requests)
        step.end()
    for request in requests:
        request.Free()


def element_of(cells: Cells, shape: Shape) -> FakeArray:
    """As many bytes as one element has: mpi4py derives the count from it."""
    view = cells.array.from_element(0)
    view.shape = (shape.datatype.extent,)
    return view


def packed(step: Step) -> None:
    """Packs into GPU memory, sends that as bytes, and unpacks."""
    step.begin()
    out, into = Cells("device", 3), Cells("device", 4)
    step.message(step.sent, step.out)  # a view of what is packed
    step.out.datatype.Pack(element_of(step.sent, step.out), out.array, 0, step.comm)
    for cells in (out, into):
        cells.array.stream = step.sent.array.stream
    bytes_of = lambda cells: [*step.message(cells, step.out)[:1], PAYLOAD_BYTES, MPI.PACKED]  # noqa: E731
    step.comm.Sendrecv(bytes_of(out), step.peer, recvbuf=bytes_of(into), source=step.peer)
    step.message(step.received, step.into)
    step.into.datatype.Unpack(into.array, 0, element_of(step.received, step.into), step.comm)
    step.end()


def probed(step: Step) -> None:
    step.begin()
    send = step.comm.Isend(step.message(step.sent, step.out), step.peer)
    step.comm.Mprobe(step.peer).Recv(step.message(step.received, step.into))
    send.Wait()
    step.end()


def bcast(step: Step) -> None:
    step.begin()
    is_root = step.comm.rank == 0
    if is_root:
        step.received.fill(step.stream, step.seed(0))
    step.out = step.into
    step.comm.Bcast(step.message(step.received, step.into), root=0)
    step.end(step.payload_of(0))


def allgather(step: Step) -> None:
    step.begin()
    n_ranks = step.comm.size
    block = PAYLOAD_BYTES // n_ranks
    step.comm.Allgather(
        [step.message(step.sent, step.out)[0], block, MPI.BYTE],
        [step.message(step.received, step.into)[0], block, MPI.BYTE],
    )
    step.into = Shape(MPI.BYTE, np.arange(block * n_ranks))
    step.out = Shape(MPI.BYTE, np.arange(block))
    step.end(np.concatenate([step.payload_of(rank) for rank in range(n_ranks)]))


def persistent_allgather(step: Step) -> None:
    """Of its arguments the library may read one as it is, and TEMPI pack the other."""
    if step.program.order == "view" or MPI.VERSION < 4:
        return allgather(step)
    n_ranks = step.comm.size
    block = PAYLOAD_BYTES // n_ranks
    step.into, step.out = Shape(MPI.BYTE, np.arange(block * n_ranks)), Shape(MPI.BYTE, np.arange(block))
    request = step.comm.Allgather_init([step.sent.array, block, MPI.BYTE], [step.received.array, block, MPI.BYTE])
    for step.round in range(3):
        step.begin()
        request.Start()
        request.Wait()
        step.end(np.concatenate([step.payload_of(rank) for rank in range(n_ranks)]))
    request.Free()


def neighbours(step: Step) -> None:
    step.begin()
    graph = step.comm.Create_dist_graph_adjacent([step.peer], [step.peer])
    graph.Neighbor_alltoallw(
        [step.message(step.sent, step.out)[0], [1], [0], [step.out.datatype]],
        [step.message(step.received, step.into)[0], [1], [0], [step.into.datatype]],
    )
    graph.Free()
    step.end()


def allreduce(step: Step) -> None:
    step.begin()
    step.out = step.into = Shape(MPI.BYTE, np.arange(PAYLOAD_BYTES))
    n = PAYLOAD_BYTES // 4
    step.comm.Allreduce(
        [step.message(step.sent, step.out)[0], n, MPI.INT32_T],
        [step.message(step.received, step.into)[0], n, MPI.INT32_T],
        MPI.MAX,
    )
    every = [step.payload_of(rank).view(np.int32) for rank in range(step.comm.size)]
    step.end(np.max(every, axis=0).view(np.uint8))


STEPS: dict[str, Callable[[Step], None]] = {
    "Send, Recv": blocking,
    "Sendrecv": sendrecv,
    "Sendrecv_replace": replaced,
    "Isend, Irecv, Waitall": nonblocking,
    "Isend, Irecv, Test": tested,
    "Request_get_status, Wait in another stream": completed_elsewhere,
    "Request_get_status, Waitall without a stream": completed_without_stream,
    "Ineighbor_alltoallw, Wait without a stream": tested_neighbours,
    "Isend, Irecv again": recurring,
    "Send_init, Recv_init": persistent,
    "Pack, Sendrecv, Unpack": packed,
    "Isend, Mprobe, Mrecv": probed,
    "Bcast": bcast,
    "Allgather": allgather,
    "Allgather_init": persistent_allgather,
    "Neighbor_alltoallw": neighbours,
    "Allreduce": allreduce,
}
WAYS = tuple(STEPS)
