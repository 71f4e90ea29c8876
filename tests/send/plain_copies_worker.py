"""Two ranks that fill and read their buffers with plain synchronous copies and nothing else, as most programs do.

No call synchronises: a copy that has returned has promised its bytes. Buffers are used again, freed, and made anew at
the same address; each is filled right before the call that sends it or receives into it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from mpi4py import MPI

from support import equal, memory, outcomes
from support.building import Builder
from support.messages import ALL_MAKERS, End, make_end
from support.p2p import PLAIN, Piece, Requests
from support.typemap import Bytes, TypeMap, message_map

GUARD_BYTES = 64
LEAVES = ("INT", "DOUBLE", "BYTE")
# Elements of a message. Pageable copies of 64 KiB and more return early; small ones are most of a program's.
SIZES = (24,) * 3 + (600,) * 5 + (7_200,) * 5 + (60_000,) * 2 + (260_000,)
CALLS = {"blocking": ("Send", "Recv"), "nonblocking": ("Isend", "Irecv"), "persistent": ("Send_init", "Recv_init")}
KEPT = 12  # buffers that a rank holds to use them again


@dataclass
class Layout:
    end: End
    message: TypeMap
    datatype: MPI.Datatype
    offsets: np.ndarray  # of every byte of the message in the buffer
    origin: int  # of the datatype in the buffer
    n_bytes: int  # of the buffer


def layout(end: End, builder: Builder) -> Layout:
    message = message_map(end.spec, end.count, builder.bounds)
    origin = GUARD_BYTES - message.true_bounds.lower
    datatype = builder.build(end.spec)
    if not datatype.is_predefined:
        datatype.Commit()
    offsets, n_bytes = message.byte_offsets() + origin, message.true_bounds.extent + 2 * GUARD_BYTES
    return Layout(end, message, datatype, offsets, origin, n_bytes)


class Buffers:
    """This rank's buffers of each kind of memory. Half of them are used again, others freed and made anew."""

    def __init__(self, draw: random.Random) -> None:
        self._draw, self._held = draw, {}
        self._contents = np.random.default_rng(draw.getrandbits(31)).integers(0, 256, 8 << 20, np.uint8)

    def contents(self, n_bytes: int) -> Bytes:
        start = self._draw.randrange(len(self._contents) - n_bytes)
        return self._contents[start : start + n_bytes]

    def filled(self, kind: str, n_bytes: int) -> tuple[memory.Buffer, Bytes]:
        """A buffer with new contents, which a plain copy has just put there: from ordinary memory or from a GPU's."""
        contents = self.contents(n_bytes)
        key, again = (kind, n_bytes), self._draw.random() < 0.5
        if again and key in self._held:
            buffer = self._held.pop(key)
            if self._draw.random() < 0.25 and kind != memory.HOST:
                buffer.copy_from(memory.at_hand(kind, contents))
            else:
                buffer.write(contents)
        else:
            self._held.pop(key, None)  # freed: the next one may get its address
            buffer = memory.at_hand(kind, contents)
        self._held[key] = buffer
        if len(self._held) > KEPT:
            self._held.pop(next(iter(self._held)))
        return buffer, contents


def exchange(seed: int, n_messages: int, kinds: tuple[str, ...]) -> int:
    """A schedule that both ranks draw alike. Returns the number of messages that this rank has received and checked."""
    draw, own = random.Random(seed), random.Random(f"{seed} {MPI.COMM_WORLD.Get_rank()}")
    checked, tag = 0, 0
    with Builder() as builder:
        buffers = Buffers(own)
        while tag < n_messages:
            n, leaf = draw.choice(SIZES), draw.choice(LEAVES)
            ends = [layout(make_end(draw.choice(kinds), draw.choice(ALL_MAKERS), leaf, n, draw), builder) for _ in "sr"]
            for _ in range(draw.choice((4, 8, 16))):
                source, way = draw.randrange(2), draw.choice(tuple(CALLS))
                contents_seed = draw.getrandbits(31)
                checked += one_message(ends, source, way, tag, contents_seed, buffers)
                tag += 1
    return checked


def one_message(ends: list[Layout], source: int, way: str, tag: int, contents_seed: int, buffers: Buffers) -> int:
    """One message from `source` to the other rank, or two of a persistent request. The bytes that are sent follow
    `contents_seed`, so that the receiver knows them."""
    is_source = MPI.COMM_WORLD.Get_rank() == source
    mine = ends[0] if is_source else ends[1]
    call = CALLS[way][0 if is_source else 1]
    buffer, before = buffers.filled(mine.end.kind, mine.n_bytes)
    piece = Piece(buffer.address + mine.origin, mine.end.count, mine.datatype)
    request, peer = Requests(), (1 - source if is_source else source, tag % 30_000, MPI.COMM_WORLD)
    checked = 0
    with outcomes.claimed((call, mine)):
        if way == "persistent":
            PLAIN(call, piece, *peer, request.at(0))
        for round_number in range(2 if way == "persistent" else 1):
            sent = np.random.default_rng(contents_seed + round_number).integers(0, 256, len(mine.offsets), np.uint8)
            if is_source:
                before = before.copy()
                before[mine.offsets] = sent
            buffer.write(before)
            transfer(call, piece, peer, request)
            if not is_source:
                expected = before.copy()
                expected[mine.offsets] = sent
                equal.check(buffer.read(), expected, f"message {tag}, {way}: {ends!r}")
                checked += 1
        if way == "persistent":
            PLAIN("Request_free", request.at(0))
    return checked


def remade_buffer(kind: str, n_ints: int) -> None:
    """Persistent requests whose buffers are freed between two rounds, and made anew at the same address."""
    me, rounds = MPI.COMM_WORLD.Get_rank(), 3
    call, peer = CALLS["persistent"][me], (1 - me, 7, MPI.COMM_WORLD)
    with Builder() as builder:
        mine = layout(make_end(kind, "vector", "INT", n_ints, random.Random(me)), builder)
        contents = np.random.default_rng(me).integers(0, 256, (rounds, mine.n_bytes), np.uint8)
        payloads = np.random.default_rng(9).integers(0, 256, (rounds, len(mine.offsets)), np.uint8)
        if me == 0:
            contents[:, mine.offsets] = payloads
        request, buffer = Requests(), memory.at_hand(kind, contents[0])
        address = buffer.address
        with outcomes.claimed((call, mine)):
            PLAIN(call, Piece(address + mine.origin, mine.end.count, mine.datatype), *peer, request.at(0))
            for turn in range(rounds):
                if turn:
                    del buffer
                    buffer = memory.at_hand(kind, contents[turn])
                    assert buffer.address == address
                transfer(call, Piece(0, 0, MPI.BYTE), peer, request)
                if me == 1:
                    contents[turn, mine.offsets] = payloads[turn]
                equal.check(buffer.read(), contents[turn], f"round {turn}")
            PLAIN("Request_free", request.at(0))


def transfer(call: str, piece: Piece, peer: tuple[int, int, MPI.Comm], request: Requests) -> None:
    """Straight behind the copies, and finished before the buffer is read."""
    status = MPI.Status()
    if call == "Send":
        return PLAIN(call, piece, *peer)
    if call == "Recv":
        return PLAIN(call, piece, *peer, status)
    if call.endswith("_init"):
        PLAIN("Start", request.at(0))
    else:
        PLAIN(call, piece, *peer, request.at(0))
    return PLAIN("Wait", request.at(0), status)
