"""The ranks of the tests of enqueued exchanges."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpi4py import MPI
from stream_programs import Cells, Shape, shapes

import tempi
from support import equal
from support.typemap import Bytes
from tempi._library import library
from tempi.testing import FakeArray, FakeStream

WORLD = MPI.COMM_WORLD
CHANNEL = "enqueued exchanges: kernels of two GPUs, queued in the program's stream"
ORDINARY = "enqueued exchanges without a channel, for which the CPU waited"
BY_THREAD = "enqueued exchanges without a channel, by the thread of TEMPI"


def counts() -> dict[str, int]:
    """The exchanges that were counted since the last reset."""
    return {row.outcome: row.calls for row in tempi.stats() if row.function == "stream"}


def element(cells: Cells, shape: Shape) -> list[Any]:
    """One element of the datatype."""
    return [cells.array, 1, shape.datatype]


@dataclass
class Pair:
    """A persistent send of one rank and the matching receive of another, or of the same."""

    source: int
    target: int
    tag: int
    sent: Cells
    received: Cells
    shape: Any
    sends: MPI.Prequest | None = None
    receives: MPI.Prequest | None = None

    @property
    def requests(self) -> list[MPI.Prequest]:
        """Those of this rank."""
        return [one for one in (self.sends, self.receives) if one is not None]

    def expected(self, seed: int) -> Bytes:
        """The bytes of the receive buffer after an exchange."""
        contents = self.received.contents.copy()
        contents[self.shape.offsets] = np.random.default_rng(seed).integers(0, 256, len(contents), np.uint8)[
            self.shape.offsets
        ]
        return contents


def make_pair(
    comm: MPI.Comm, source: int, target: int, tag: int, shape: Any, kinds: tuple[str, str] = ("device", "device")
) -> Pair:
    pair = Pair(source, target, tag, Cells(kinds[0], 100 + tag), Cells(kinds[1], 200 + tag), shape)
    if comm.rank == target:
        pair.receives = comm.Recv_init(element(pair.received, shape), source, tag)
    if comm.rank == source:
        pair.sends = comm.Send_init(element(pair.sent, shape), target, tag)
    return pair


class Exchanges:
    """Random exchanges of the same pairs on all ranks, each byte checked in the end."""

    def __init__(self, comm: MPI.Comm, seed: int, n_pairs: int) -> None:
        self.comm = comm
        self.random = random.Random(seed)  # the same on all ranks
        self.own = random.Random(seed * 100 + comm.rank)  # of this rank
        self.streams = [FakeStream(), FakeStream()]
        self.checks: list[tuple[Callable[[], Bytes], Bytes]] = []
        every = list(shapes().values())
        self.pairs = [
            make_pair(
                comm, self.random.randrange(comm.size), self.random.randrange(comm.size), i, self.random.choice(every)
            )
            for i in range(n_pairs)
        ]
        self.n = 0

    def mine(self, pairs: list[Pair]) -> list[Pair]:
        return [pair for pair in pairs if pair.requests]

    def fill(self, pairs: list[Pair], stream: FakeStream) -> int:
        self.n += 1
        for pair in self.mine(pairs):
            if pair.sends:
                pair.sent.fill(stream, self.n)
        return self.n

    def check(self, pairs: list[Pair], stream: FakeStream, seed: int) -> None:
        for pair in self.mine(pairs):
            if pair.receives:
                pair.received.contents = pair.expected(seed)
                self.checks.append((pair.received.read(stream), pair.received.contents))

    def enqueue(self, pairs: list[Pair], stream: FakeStream) -> None:
        """Starts one by one or together, in an order of this rank's own; the waits, too."""
        requests = [request for pair in self.mine(pairs) for request in pair.requests]
        self.own.shuffle(requests)
        cut = self.own.randrange(len(requests) + 1)
        for request in requests[:cut]:
            tempi.start_enqueue(request, stream)
        tempi.start_enqueue(requests[cut:], stream)
        self.own.shuffle(requests)
        cut = self.own.randrange(len(requests) + 1)
        for request in requests[:cut]:
            tempi.wait_enqueue(request, stream)
        tempi.wait_enqueue(requests, stream)

    def step(self) -> None:
        stream = self.own.choice(self.streams)
        pairs = self.random.sample(self.pairs, self.random.randrange(1, len(self.pairs) + 1))
        way = self.random.choice(("enqueued", "enqueued", "captured", "ordinary", "two streams"))
        for other in self.streams:
            if other is not stream or way == "two streams":
                other.synchronize()  # it may have used the same buffers
        if way == "captured":
            self.captured(pairs, stream)
        elif way == "two streams":
            half = len(pairs) // 2
            for some, its in ((pairs[:half], self.streams[0]), (pairs[half:], self.streams[1])):
                seed = self.fill(some, its)
                self.enqueue(some, its)
                self.check(some, its, seed)
        else:
            seed = self.fill(pairs, stream)
            if way == "enqueued":
                self.enqueue(pairs, stream)
            else:
                stream.synchronize()
                requests = [request for pair in self.mine(pairs) for request in pair.requests]
                MPI.Prequest.Startall(requests)
                MPI.Prequest.Waitall(requests)
            self.check(pairs, stream, seed)

    def captured(self, pairs: list[Pair], stream: FakeStream) -> None:
        seed = self.fill(pairs, stream)
        self.enqueue(pairs, stream)  # a graph needs a channel
        self.check(pairs, stream, seed)
        stream.begin_capture()
        self.enqueue(pairs, stream)
        graph = stream.end_capture()
        for _ in range(self.random.randrange(1, 4)):
            seed = self.fill(pairs, stream)
            graph.launch(stream)
            self.check(pairs, stream, seed)
        stream.synchronize()

    def run(self, n_steps: int) -> None:
        for _ in range(n_steps):
            self.step()
        for stream in self.streams:
            stream.synchronize()
        for read, expected in self.checks:
            equal.check(read(), expected)
        for pair in self.mine(self.pairs):
            for request in pair.requests:
                request.Free()


def random_exchanges(seed: int, n_pairs: int, n_steps: int) -> dict[str, int]:
    tempi.reset_stats()
    Exchanges(WORLD, seed, n_pairs).run(n_steps)
    return counts()


def one_exchange_after_another(
    n: int, late: float = 0.0, kinds: tuple[str, str] = ("device", "device")
) -> dict[str, int]:
    """`n` exchanges with the neighbour of a ring, all queued before the first wait; rank 1 begins late."""
    tempi.reset_stats()
    exchanges = Exchanges(WORLD, 7, 0)
    rows = shapes()["rows"]
    pairs = [make_pair(WORLD, rank, (rank + 1) % WORLD.size, 5, rows, kinds) for rank in range(WORLD.size)]
    stream = exchanges.streams[0]
    if WORLD.rank == 1:
        time.sleep(late)
    for _ in range(n):
        seed = exchanges.fill(pairs, stream)
        requests = [request for pair in exchanges.mine(pairs) for request in pair.requests]
        tempi.start_enqueue(requests, stream)
        tempi.wait_enqueue(requests, stream)
        exchanges.check(pairs, stream, seed)
    exchanges.pairs = pairs
    exchanges.run(0)
    return counts()


def to_itself_from_table_to_table(n: int, captured: bool) -> dict[str, int]:
    """`n` messages of a rank to itself. Both layouts are long tables of places, which do not combine."""
    tempi.reset_stats()
    n_blocks, rng = 3000, np.random.default_rng(3)
    places = [4 * np.cumsum(rng.integers(1, 4, n_blocks)) for _ in range(2)]
    room = int(max(one[-1] for one in places)) + 4
    sent, received, stream = FakeArray(room), FakeArray(room), FakeStream()
    received.copy_from(np.zeros(room, np.uint8))
    out, into = (MPI.INT32_T.Create_hindexed_block(1, one).Commit() for one in places)
    requests = [WORLD.Send_init([sent, 1, out], WORLD.rank, 3), WORLD.Recv_init([received, 1, into], WORLD.rank, 3)]

    def exchange() -> None:
        tempi.start_enqueue(requests, stream)
        tempi.wait_enqueue(requests, stream)

    exchange()
    if captured:
        stream.begin_capture()
        exchange()
        graph = stream.end_capture()
    for _ in range(n):
        values = rng.integers(0, 256, room, np.uint8)
        stream.copy(sent, values)
        stream.fill(received, 0)
        graph.launch(stream) if captured else exchange()
        stream.synchronize()
        wanted = np.zeros(room // 4, np.int32)
        wanted[places[1] // 4] = values.view(np.int32)[places[0] // 4]
        equal.check(received.to_numpy().view(np.int32), wanted)
    for request in requests:
        request.Free()
    return counts()


def in_two_streams_in_turn(n: int) -> None:
    """The same requests, each time in the other stream, without a wait of the program between them."""
    exchanges = Exchanges(WORLD, 7, 0)
    rows = shapes()["rows"]
    exchanges.pairs = [make_pair(WORLD, rank, (rank + 1) % WORLD.size, 6, rows) for rank in range(WORLD.size)]
    requests = [request for pair in exchanges.mine(exchanges.pairs) for request in pair.requests]
    for k in range(n):
        stream = exchanges.streams[k % 2]
        tempi.start_enqueue(requests, stream)
        tempi.wait_enqueue(requests, stream)
    exchanges.run(0)


def same_tag(kinds: list[tuple[str, str]]) -> dict[str, int]:
    """Several pairs of one tag, started in the order of their creation; some ends are in ordinary memory."""
    tempi.reset_stats()
    stream, rows = FakeStream(), shapes()["rows"]
    ends: list[tuple[Any, Any]] = []
    requests = []
    for i, (out, into) in enumerate(kinds):
        kind, seed = (out, i) if WORLD.rank == 0 else (into, 50 + i)
        contents = np.random.default_rng(seed).integers(0, 256, 4096, np.uint8)
        array = contents.copy() if kind == "host" else FakeArray.from_numpy(contents, kind)  # type: ignore[arg-type]
        ends.append((array, contents))
        init = WORLD.Send_init if WORLD.rank == 0 else WORLD.Recv_init
        requests.append(init([array, 1, rows.datatype], 1 - WORLD.rank, 8))
    library().fake_unfinished()
    for _ in range(3):
        tempi.start_enqueue(requests, stream)
        tempi.wait_enqueue(requests, stream)
    stream.synchronize()
    for i, (array, contents) in enumerate(ends):
        wanted = contents.copy()
        if WORLD.rank == 1:
            wanted[rows.offsets] = np.random.default_rng(i).integers(0, 256, 4096, np.uint8)[rows.offsets]
        equal.check(array if isinstance(array, np.ndarray) else array.to_numpy(), wanted)
    for request in requests:
        request.Free()
    return counts()


def with_a_wildcard(n: int) -> dict[str, int]:
    tempi.reset_stats()
    stream, cells, rows = FakeStream(), Cells("device", 1), shapes()["rows"]
    source, target = (WORLD.rank - 1) % WORLD.size, (WORLD.rank + 1) % WORLD.size
    sent = Cells("device", 2)
    requests = [
        WORLD.Recv_init(element(cells, rows), MPI.ANY_SOURCE, 3),
        WORLD.Send_init(element(sent, rows), target, 3),
    ]
    for k in range(n):
        sent.fill(stream, 10 * WORLD.rank + k)
        tempi.start_enqueue(requests, stream)
        tempi.wait_enqueue(requests, stream)
        read = cells.read(stream)
        stream.synchronize()
        expected = np.random.default_rng(10 * source + k).integers(0, 256, len(read()), np.uint8)
        equal.check(read()[rows.offsets], expected[rows.offsets])
    for request in requests:
        request.Free()
    return counts()


def only_one_end_is_enqueued() -> dict[str, int]:
    """The other one uses plain calls."""
    tempi.reset_stats()
    stream, rows = FakeStream(), shapes()["rows"]
    cells = Cells("device", WORLD.rank)
    row = element(cells, rows)
    if WORLD.rank == 0:
        request = WORLD.Send_init(row, 1, 3)
        for k in range(3):
            cells.fill(stream, k)
            tempi.start_enqueue(request, stream)
            tempi.wait_enqueue(request, stream)
        stream.synchronize()
        request.Free()
    else:
        for k in range(3):
            WORLD.Recv(row, 0, 3)
            expected = np.random.default_rng(k).integers(0, 256, len(cells.contents), np.uint8)
            equal.check(cells.now()[rows.offsets], expected[rows.offsets])
    return counts()


def _error(call: Callable[[], object]) -> str:
    try:
        call()
    except (MPI.Exception, RuntimeError, TypeError) as error:
        return error.error_string if isinstance(error, MPI.Exception) else str(error)
    return ""


def errors() -> dict[str, str]:
    stream, rows = FakeStream(), shapes()["rows"]
    WORLD.Set_errhandler(MPI.ERRORS_RETURN)
    said = {}
    plain = WORLD.Irecv(np.zeros(1, np.uint8), 0, 77)
    said["not persistent"] = _error(lambda: tempi.start_enqueue(plain, stream))
    said["swapped"] = _error(lambda: tempi.start_enqueue(0, plain))
    plain.Cancel()
    plain.Wait()
    said["no request"] = _error(lambda: tempi.wait_enqueue([None], stream))
    said["no stream"] = _error(lambda: tempi.start_enqueue([], "stream"))
    said["None as stream"] = _error(lambda: tempi.start_enqueue([], None))
    pair = make_pair(WORLD, WORLD.rank, WORLD.rank, 9, rows)
    tempi.start_enqueue(pair.requests, stream)
    said["started twice"] = _error(lambda: tempi.start_enqueue(pair.requests[0], stream))
    said["MPI_Start"] = _error(lambda: pair.requests[0].Start())
    said["MPI_Request_free"] = _error(lambda: MPI.Prequest(pair.requests[0]).Free())
    tempi.wait_enqueue(pair.requests, stream)
    stream.synchronize()
    tempi.wait_enqueue(pair.requests, stream)  # nothing is started: it returns
    sent, address = FakeArray(4096), library().fake_allocate("device", 0, 4096)
    received = MPI.buffer.fromaddress(address, 4096)
    lost = [WORLD.Recv_init([received, MPI.BYTE], WORLD.rank, 10), WORLD.Send_init(sent, WORLD.rank, 10)]
    tempi.start_enqueue(lost, stream)
    tempi.wait_enqueue(lost, stream)
    stream.synchronize()
    library().fake_deallocate(address)
    kept = FakeArray(4096)
    said["same address"] = str(kept.address == address)
    said["freed buffer"] = _error(lambda: tempi.start_enqueue(lost[0], stream))
    managed = WORLD.Send_init(FakeArray(64, kind="managed"), WORLD.rank, 11)
    stream.begin_capture()
    tempi.start_enqueue(managed, stream)
    said["captured"] = _error(lambda: tempi.wait_enqueue(managed, stream))
    stream.end_capture()
    return said


# Regular messages, and such as other processes write into bounce buffers, because they are too irregular.
GRIDS: dict[str, tuple[tuple[int, ...], tuple[tuple[int, int], ...]]] = {
    "regular": ((12, 10), ((1, 1), (2, 2))),
    "irregular": ((20, 24, 28), ((1, 2), (3, 3), (2, 0))),
}


def halo_exchanges(n: int, captured: bool, kind: str = "regular") -> dict[str, int]:
    """A halo exchange in a stream: behind work that fills the array, before work that reads it."""
    tempi.reset_stats()
    shape, widths = GRIDS[kind]
    grid = tempi.Decomposition(shape, tuple(MPI.Compute_dims(WORLD.size, len(shape))), widths, periods=True)
    whole = np.random.default_rng(5).random(shape)
    wrapped = np.pad(whole, widths, mode="wrap")
    block = zip(grid.block(WORLD.rank), widths, strict=True)
    wanted = wrapped[tuple(slice(p.start, p.stop + low + high) for p, (low, high) in block)]
    scattered = grid.scatter(whole, WORLD.rank)
    array, stream = FakeArray.from_numpy(scattered), FakeStream()
    library().fake_unfinished()
    read = []
    with tempi.HaloExchange(WORLD, array, widths, periods=True, dims=grid.dims) as exchange:
        exchange.enqueue(stream)
        if captured:
            stream.begin_capture()
            exchange.enqueue(stream)
            graph = stream.end_capture()
        for k in range(n):
            stream.copy(array, scattered)
            if captured:
                graph.launch(stream)
            elif k % 2 == 0:
                exchange.enqueue(stream)
            else:
                exchange.start(stream)
                exchange.finish(stream)
            read.append(FakeArray(array.shape, array.dtype))
            stream.copy(read[-1], array)
            stream.fill(array, 0xEE)
        stream.synchronize()
    for one in read:
        equal.check(one.to_numpy(), wanted)
    return counts()
