"""Calls with the same arguments, or almost: between them datatypes, memory and communicators change."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import ways
from mpi4py import MPI

from support import equal, memory
from support.building import Builder
from support.messages import End, Image, Side
from support.p2p import PLAIN, Piece, Requests
from support.typemap import Bytes, Spec, reference_pack, reference_unpack

ROOM_BYTES = 4096
OTHER_TAG = 9  # that nobody sends


class Round(NamedTuple):
    """A message each way.

    Attributes
    ----------
    kind : str
        "exchange"; "twice": two equal sends at once; "cancelled": a receive that never comes is cancelled before;
        "freed": the program frees the send's request; "truncated": there is too little room; "renewed": the
        communicator is freed while the message is under way, and another one takes its place.
    sent, received : int
        Datatypes of the life.
    shift : int
        Bytes from the beginning of the memory.
    send, completion : str
        Calls.
    """

    kind: str
    sent: int
    received: int
    shift: int
    count: int
    tag: int
    send: str
    completion: str


class Life(NamedTuple):
    """Rounds with the same datatypes and memory.

    Attributes
    ----------
    specs : tuple of Spec
    kinds : tuple of str
        Memory that is sent, and received into.
    rounds : tuple of Round
    """

    specs: tuple[Spec, ...]
    kinds: tuple[str, str]
    rounds: tuple[Round, ...]


class Placed(Image):
    """A datatype in a buffer that others use, too."""

    def __init__(self, spec: Spec, one: Round, count: int, buffer: memory.Buffer, builder: Builder) -> None:
        super().__init__(End("", spec, count), builder)
        self.buffer = buffer
        self.origin += one.shift
        self.piece = Piece(buffer.address + self.origin, count, self.datatype)

    def contents(self, seed: int) -> Bytes:
        return np.random.default_rng(seed).integers(0, 256, ROOM_BYTES, np.uint8)

    def fill(self, seed: int) -> None:
        self.buffer.write(self.contents(seed))

    def payload_of(self, seed: int) -> Bytes:
        return reference_pack(self.message, self.contents(seed), self.origin)

    def check_received(self, seed: int, payload: Bytes) -> None:
        expected = self.contents(seed)
        reference_unpack(self.message, payload, expected, self.origin)
        equal.check(self.buffer.read(), expected)


class Player:
    def __init__(self) -> None:
        self.comm = MPI.COMM_WORLD.Dup()
        self.peer = self.comm.size - 1 - self.comm.rank
        self.n = 0

    def live(self, life: Life) -> None:
        buffers = [memory.at_hand(kind, np.zeros(ROOM_BYTES, np.uint8)) for kind in (*life.kinds, life.kinds[1])]
        with Builder() as builder:
            for spec in life.specs:
                builder.build(spec).Commit()
            for one in life.rounds:
                self.play(one, life, buffers, builder)

    def play(self, one: Round, life: Life, buffers: list[memory.Buffer], builder: Builder) -> None:
        self.n += 1
        is_truncated = one.kind == "truncated"
        out = Placed(life.specs[one.sent], one, one.count + is_truncated, buffers[0], builder)
        n_messages = 1 + (one.kind == "twice")
        intos = [Placed(life.specs[one.received], one, one.count, buffers[1 + k], builder) for k in range(n_messages)]
        out.fill(1000 * self.n + self.comm.rank)
        for k, into in enumerate(intos):
            into.fill(1000 * self.n + 10 + k)
        payload = out.payload_of(1000 * self.n + self.peer)
        if one.kind == "cancelled":
            self.cancel(intos[0].piece)
        requests = self.begin(one, out, intos)
        if one.kind == "renewed":
            self.comm.Free()
            self.comm = MPI.COMM_WORLD.Dup()
        if is_truncated:
            return self.complete_truncated(requests)
        ways.complete(PLAIN, one.completion, requests)
        for k, into in enumerate(intos):
            into.check_received(1000 * self.n + 10 + k, payload)

    def begin(self, one: Round, out: Placed, intos: list[Placed]) -> Requests:
        requests = Requests(2 * len(intos))
        for k, into in enumerate(intos):
            PLAIN("Irecv", into.piece, self.peer, one.tag, self.comm, requests.at(k))
        for k in range(len(intos)):
            at = requests.at(len(intos) + k)
            PLAIN(one.send, out.piece, self.peer, one.tag, self.comm, at)
            if one.kind == "freed":
                PLAIN("Request_free", at)
        return requests

    def cancel(self, piece: Piece) -> None:
        requests, status = Requests(1), MPI.Status()
        PLAIN("Irecv", piece, self.peer, OTHER_TAG, self.comm, requests.at(0))
        PLAIN("Cancel", requests.at(0))
        PLAIN("Wait", requests.at(0), status)
        assert status.Is_cancelled()

    def complete_truncated(self, requests: Requests) -> None:
        """Of a message to oneself Open MPI does not always tell."""
        code = MPI.SUCCESS
        try:
            PLAIN("Wait", requests.at(0), MPI.Status())
        except MPI.Exception as error:
            code = error.Get_error_class()
        assert code == MPI.ERR_TRUNCATE or (code == MPI.SUCCESS and self.peer == self.comm.rank)
        PLAIN("Wait", requests.at(1), MPI.Status())


def run(lives: tuple[Life, ...]) -> int:
    """Returns the rounds played."""
    player = Player()
    for life in lives:
        player.live(life)
    player.comm.Free()
    return player.n


def large(specs: tuple[Spec, ...], n_rounds: int) -> int:
    """Exchanges a message of each datatype, all at once, again and again. Returns the rounds."""
    peer = MPI.COMM_WORLD.size - 1 - MPI.COMM_WORLD.rank

    def end(k: int, at: int, rank: int | None) -> End:
        """Of a round, with the bytes that a rank sends, or other ones."""
        return End("device", specs[k], 1, 100 * at + 10 * k + (7 if rank is None else rank))

    with Builder() as builder:
        outs, intos = ([Side(end(k, 0, None), builder) for k in range(len(specs))] for _ in range(2))
        for at in range(1, n_rounds + 1):
            requests = Requests(2 * len(specs))
            for k, (out, into) in enumerate(zip(outs, intos, strict=True)):
                out.refill(end(k, at, MPI.COMM_WORLD.rank).seed)
                into.refill(end(k, at, None).seed)
                PLAIN("Irecv", into.piece, peer, k, MPI.COMM_WORLD, requests.at(k))
            for k, out in enumerate(outs):
                PLAIN("Isend", out.piece, peer, k, MPI.COMM_WORLD, requests.at(len(specs) + k))
            ways.complete(PLAIN, "Waitall", requests)
            for k, into in enumerate(intos):
                into.check_received(into.payload_of(end(k, at, peer).seed))
    return n_rounds
