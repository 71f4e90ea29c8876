"""The ranks of test_kept_published_receives.py, in a ring: each sends to the next one, which may be itself."""

from __future__ import annotations

from typing import NamedTuple

import freed_memory_worker as freed
import numpy as np
import ways
from mpi4py import MPI

from support import constructors as c
from support import memory, outcomes
from support.building import Builder
from support.direct_counts import direct_since
from support.messages import End, Side
from support.p2p import PLAIN, Piece, Requests
from support.typemap import Named

TAG = 3
ORDER = (0, 0, 1, 2, 2, 3, 1, 1, 0, 3)  # of four buffers: one again, and one behind others


class Ring(NamedTuple):
    comm: MPI.Intracomm
    next: int
    last: int

    @classmethod
    def make(cls) -> Ring:
        comm = MPI.COMM_WORLD.Dup()
        return cls(comm, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)

    def receive(self, piece: Piece, tag: int) -> Requests:
        return self._request("Recv_init", piece, self.last, tag)

    def send(self, piece: Piece, tag: int) -> Requests:
        return self._request("Send_init", piece, self.next, tag)

    def _request(self, function: str, piece: Piece, peer: int, tag: int) -> Requests:
        requests = Requests()
        PLAIN(function, piece, peer, tag, self.comm, requests.at(0))
        return requests


def started_again(ends: list[tuple[End, End]], rounds: int, at_once: int) -> int:
    """Persistent pairs, some of them at a time, with other bytes in each round. The direct messages."""
    ring = Ring.make()
    before = outcomes.rows()
    with Builder() as builder:
        sides = [(Side(out, builder), Side(into, builder)) for out, into in ends]
        pairs = [(ring.receive(i.piece, tag), ring.send(o.piece, tag)) for tag, (o, i) in enumerate(sides)]
        for k in range(rounds):
            sent = [Side(out.later(k), builder) for out, _ in ends]
            for (source, into), now in zip(sides, sent, strict=True):
                source.buffer.write(now.before)
                into.buffer.write(into.before)
            for first in range(0, len(pairs), at_once):
                some = pairs[first : first + at_once]
                for receive, send in some:
                    PLAIN("Start", receive.at(0))
                    PLAIN("Start", send.at(0))
                for receive, send in some:
                    ways.complete(PLAIN, "Wait", receive)
                    ways.complete(PLAIN, "Wait", send)
            for (_, into), now in zip(sides, sent, strict=True):
                into.check_received(now.payload())
            ring.comm.Barrier()
        for receive, send in pairs:
            ways.free(PLAIN, receive)
            ways.free(PLAIN, send)
    ring.comm.Free()
    return direct_since(before)


def meets_other_buffers(ends: list[End], out: End, rounds: int, is_persistent: bool) -> int:
    """A persistent send meets the receives of several buffers in turn."""
    ring = Ring.make()
    before = outcomes.rows()
    with Builder() as builder:
        source, targets = Side(out, builder), [Side(end, builder) for end in ends]
        assert len(targets) == len(set(ORDER))
        send = ring.send(source.piece, TAG)
        kept = [ring.receive(target.piece, TAG) for target in targets]
        for k in range(rounds):
            which = ORDER[k % len(ORDER)]
            target, receive = targets[which], kept[which]
            target.buffer.write(target.before)
            if is_persistent:
                PLAIN("Start", receive.at(0))
            else:
                receive = Requests()
                PLAIN("Irecv", target.piece, ring.last, TAG, ring.comm, receive.at(0))
            PLAIN("Start", send.at(0))
            ways.complete(PLAIN, "Wait", receive)
            ways.complete(PLAIN, "Wait", send)
            target.check_received(source.payload())
            ring.comm.Barrier()
        for request in (send, *kept):
            ways.free(PLAIN, request)
    ring.comm.Free()
    return direct_since(before)


def many_layouts_beside_a_kept_receive(kept: End, n_layouts: int, blocks: int) -> int:
    """A persistent pair, then a message of each of many irregular layouts. The direct ones of these."""
    ring = Ring.make()
    with Builder() as builder:
        source, into = Side(kept, builder), Side(kept.later(1), builder)
        receive, send = ring.receive(into.piece, TAG), ring.send(source.piece, TAG)

        def start_kept() -> None:
            PLAIN("Start", receive.at(0))
            PLAIN("Start", send.at(0))
            ways.complete(PLAIN, "Wait", receive)
            ways.complete(PLAIN, "Wait", send)
            into.check_received(source.payload())

        start_kept()
        before = outcomes.rows()
        for k in range(n_layouts):
            places = np.cumsum(np.random.default_rng(k).integers(2, 5, blocks))
            spec = c.Indexed((1,) * blocks, tuple(int(place) for place in places), Named("INT"))
            with Builder() as inner:
                out, back = Side(End("device", spec, 1, k), inner), Side(End("device", spec, 1, 1000 + k), inner)
                requests = Requests(2)
                PLAIN("Irecv", back.piece, ring.last, TAG + 1, ring.comm, requests.at(0))
                PLAIN("Isend", out.piece, ring.next, TAG + 1, ring.comm, requests.at(1))
                ways.complete(PLAIN, "Waitall", requests)
                back.check_received(out.payload())
            ring.comm.Barrier()
        n_direct = direct_since(before)
        start_kept()
        ways.free(PLAIN, receive)
        ways.free(PLAIN, send)
    ring.comm.Free()
    return n_direct


def taken_beside_kept_transfers(n_buffers: int, n_bytes: int) -> tuple[int, int, int]:
    """Rank 0 starts one persistent send again and again, rank 1 receives into buffers that it frees: the bytes that are
    taken before, with all buffers, and with none, while the request lives; a last buffer gets its bytes."""
    world, datatype = MPI.COMM_WORLD, freed.datatype_of(n_bytes)
    contents = np.random.default_rng(11).integers(0, 256, n_bytes, np.uint8)
    source = memory.at_hand("device", contents)
    begin = freed.rest()

    def place(buffer: memory.Buffer) -> list[object]:
        return [MPI.buffer.fromaddress(buffer.address, n_bytes), 1, datatype]

    send = world.Send_init(place(source), dest=1, tag=TAG)

    def exchange_with(buffer: memory.Buffer) -> None:
        receive = world.Recv_init(place(buffer), source=0, tag=TAG)
        for _ in range(3):
            world.Barrier()
            request = send if world.rank == 0 else receive
            request.Start()
            request.Wait()
        if world.rank == 1:
            assert (buffer.read().reshape(-1, 1024)[:, :512] == contents.reshape(-1, 1024)[:, :512]).all()
        receive.Free()

    buffers = [memory.at_hand("device", contents * 0) for _ in range(n_buffers)]
    for buffer in buffers:
        exchange_with(buffer)
    world.Barrier()
    most = freed.taken_bytes()
    world.Barrier()
    del buffer
    buffers.clear()
    left = freed.rest_until(begin + n_bytes // 2)
    exchange_with(memory.at_hand("device", contents * 0))
    send.Free()
    datatype.Free()
    return begin, most, left
