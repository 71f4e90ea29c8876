"""The two ranks of test_progress.py: things that hang if a pending send waits for the wrong event."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable

import ways
from calls_worker import comms
from mpi4py import MPI
from ways import Place
from window_and_file_calls import opened_file

from support import outcomes
from support.building import Builder
from support.messages import End, Image, Side, make_end
from support.p2p import Form, Piece, Requests

FORM = Form()


def ends_of(kind: str, n_ints: int, tag: int) -> tuple[End, End]:
    """The messages of the two ranks."""
    return tuple(make_end(kind, "vector", "INT", n_ints, random.Random(f"{tag} {rank}")) for rank in range(2))


class Exchange:
    """A message each way with one tag; the steps are taken one by one."""

    def __init__(self, kind: str, n_ints: int, tag: int, builder: Builder) -> None:
        self.me, self.builder = comms()["world"].Get_rank(), builder
        self.ends = ends_of(kind, n_ints, tag)
        self.side, self.target = Side(self.ends[self.me], builder), Side(self.ends[1 - self.me].later(1), builder)
        self.place, self.sent, self.received = Place(comms()["world"], 1 - self.me, tag), Requests(), Requests()

    def isend(self) -> None:
        FORM("Isend", self.side.piece, self.place.peer, self.place.tag, self.place.comm, self.sent.at(0))

    def irecv(self) -> None:
        FORM("Irecv", self.target.piece, self.place.peer, self.place.tag, self.place.comm, self.received.at(0))

    def recv(self, way: str = "Recv") -> None:
        request = ways.receive(FORM, way, self.target.piece, self.place, MPI.Status())
        assert request is None

    def wait_send(self) -> None:
        ways.complete(FORM, "Wait", self.sent)

    def wait_recv(self) -> None:
        ways.complete(FORM, "Wait", self.received)

    def calls(self, recv: str = "Irecv", send: str = "Isend") -> list[tuple[str, Side]]:
        return [(send, self.side), (recv.split()[0], self.target)]

    def check(self) -> None:
        self.target.check_received(Image(self.ends[1 - self.me], self.builder).payload())
        self.side.check_untouched()


ORDERS = [
    order
    for order in itertools.permutations(("isend", "irecv", "wait_send", "wait_recv"))
    # Waits follow their starts, and the send is not waited for before the receive is posted.
    if order.index("isend") < order.index("wait_send")
    and order.index("irecv") < order.index("wait_recv")
    and order.index("irecv") < order.index("wait_send")
    and order.index("isend") < order.index("wait_recv")
]


def head_to_head(kind: str, n_ints: int) -> None:
    """Every order of the steps on one rank against every order on the other."""
    for tag, orders in enumerate(itertools.product(ORDERS, repeat=2)):
        with Builder() as builder:
            exchange = Exchange(kind, n_ints, tag, builder)
            with outcomes.claimed(*exchange.calls()):
                for step in orders[exchange.me]:
                    getattr(exchange, step)()
            exchange.check()


def crossing(kinds: tuple[str, ...], n_ints: int, n_messages: int) -> None:
    """Many sends first, then the receives in the opposite order of their tags, then the waits."""
    with Builder() as builder:
        exchanges = [Exchange(kinds[i % len(kinds)], n_ints, i, builder) for i in range(n_messages)]
        with outcomes.claimed(*(call for exchange in exchanges for call in exchange.calls("Recv"))):
            for exchange in exchanges:
                exchange.isend()
            for exchange in reversed(exchanges):
                exchange.recv()
            for exchange in exchanges:
                exchange.wait_send()
                exchange.check()


def _window() -> None:
    window = MPI.Win.Create(bytearray(64), comm=comms()["tokens"])
    window.Fence()
    window.Fence()
    window.Free()


def _file() -> None:
    comm = comms()["tokens"]
    file = opened_file(comm)
    file.Write_at_all(comm.Get_rank() * 8, bytearray(8))
    file.Close()


def _freed(comm: MPI.Comm) -> None:
    comm.Free()


def _buffers() -> tuple[bytearray, bytearray]:
    return bytearray(16), bytearray(16)


def _one_sided(blocking: str) -> Callable[[], None]:
    """Rank 1 waits in a blocking call for rank 0's first call after its Isend."""

    def run() -> None:
        tokens = comms()["tokens"]
        if tokens.Get_rank() == 0:
            tokens.Send(bytearray(4), 1, 2)
        elif blocking == "Probe":
            tokens.Probe(0, 2)
            tokens.Recv(bytearray(4), 0, 2)
        elif blocking == "Mprobe":
            tokens.Mprobe(0, 2).Recv(bytearray(4))
        else:
            tokens.Recv(bytearray(4), 0, 2)

    return run


BLOCKING: dict[str, Callable[[], object]] = {
    "Barrier": lambda: comms()["tokens"].Barrier(),
    "Bcast": lambda: comms()["tokens"].Bcast(bytearray(8)),
    "Reduce": lambda: comms()["tokens"].Reduce([bytearray(4), 1, MPI.INT], [bytearray(4), 1, MPI.INT]),
    "Allreduce": lambda: comms()["tokens"].Allreduce([b := bytearray(4), 1, MPI.INT], [bytearray(4), 1, MPI.INT]) or b,
    "Allgather": lambda: comms()["tokens"].Allgather(bytearray(8), bytearray(16)),
    "Alltoall": lambda: comms()["tokens"].Alltoall(*_buffers()),
    "Scan": lambda: comms()["tokens"].Scan([bytearray(4), 1, MPI.INT], [bytearray(4), 1, MPI.INT]),
    "Ibarrier and Wait": lambda: comms()["tokens"].Ibarrier().Wait(),
    "Comm_dup": lambda: _freed(comms()["tokens"].Dup()),
    "Comm_split": lambda: _freed(comms()["tokens"].Split(0)),
    "Comm_create": lambda: _freed(comms()["tokens"].Create(comms()["tokens"].Get_group())),
    "Cart_create": lambda: _freed(comms()["tokens"].Create_cart([2])),
    "Intercomm_create": lambda: _freed(MPI.COMM_SELF.Create_intercomm(0, comms()["tokens"], 1 - MPI.COMM_WORLD.rank)),
    "Win_create and Win_fence": _window,
    "File_open and File_write_at_all": _file,
    "Probe": _one_sided("Probe"),
    "Mprobe": _one_sided("Mprobe"),
    "Recv": _one_sided("Recv"),
    "Sendrecv": lambda: comms()["tokens"].Sendrecv(bytearray(4), 1 - MPI.COMM_WORLD.rank, recvbuf=bytearray(4)),
    "Ssend and Recv": lambda: _ssend(),
}


def _ssend() -> None:
    tokens = comms()["tokens"]
    steps = [lambda: tokens.Ssend(bytearray(4), 1 - tokens.rank), lambda: tokens.Recv(bytearray(4))]
    for step in steps if tokens.rank == 0 else reversed(steps):
        step()


def isend_then_blocking(kind: str, n_ints: int, call: str) -> None:
    """Both ranks Isend, then make a blocking call, and receive only afterwards."""
    comms()
    for way in ("Recv",) if call.startswith(("Win", "File", "Comm")) else ("Recv", "Mrecv", "Recv probed"):
        with Builder() as builder:
            exchange = Exchange(kind, n_ints, 11, builder)
            with outcomes.claimed(*exchange.calls(way)):
                exchange.isend()
                BLOCKING[call]()
                exchange.recv(way)
                exchange.wait_send()
            exchange.check()


def one_rank_in_a_blocking_call(kind: str, n_ints: int, call: str) -> None:
    """Rank 1 receives before the blocking call: rank 0, already in that call, must have sent, and be sending."""
    with Builder() as builder:
        exchange = Exchange(kind, n_ints, 12, builder)
        with outcomes.claimed(exchange.calls("Recv")[exchange.me]):
            if exchange.me == 0:
                exchange.isend()
                BLOCKING[call]()
                exchange.wait_send()
            else:
                exchange.recv()
                BLOCKING[call]()
                exchange.check()
        exchange.side.check_untouched()


def started_persistent_then_barrier(kind: str, n_ints: int) -> None:
    comm, me = comms()["world"], MPI.COMM_WORLD.rank
    with Builder() as builder:
        exchange = Exchange(kind, n_ints, 13, builder)
        piece: Piece = exchange.side.piece
        with outcomes.claimed(("Send_init", exchange.side), *3 * [("Recv", exchange.target)]):
            FORM("Send_init", piece, 1 - me, 13, comm, exchange.sent.at(0))
            for _ in range(3):
                ways.again(FORM, exchange.sent)
                comm.Barrier()
                exchange.recv()
                exchange.wait_send()
                exchange.check()
            ways.free(FORM, exchange.sent)


def thread_level() -> int:
    return MPI.Query_thread()


def many_threads(kind: str, n_ints: int, n_threads: int, turns: int) -> int:
    """Every thread exchanges with the thread of the same number in the other rank. Returns the number of exchanges."""
    comms()
    failures: list[BaseException] = []
    checked: list[int] = []

    def work(number: int) -> None:
        try:
            for _ in range(turns):
                with Builder() as builder:
                    exchange = Exchange(kind, n_ints, 200 + number, builder)
                    exchange.irecv()
                    exchange.isend()
                    exchange.wait_recv()
                    exchange.wait_send()
                    exchange.check()
                checked.append(number)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(n_threads)]
    with Builder() as builder, outcomes.claimed(*Exchange(kind, n_ints, 200, builder).calls() * n_threads * turns):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
    return len(checked)
