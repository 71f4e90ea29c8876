"""The ranks of test_staging.py: receives that fail, receives under limits, and their leftovers."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import ways
from calls_worker import comms
from errors_worker import error_class
from leaks_worker import resident_bytes
from mpi4py import MPI
from ways import Place

from support import constructors as c
from support import equal, outcomes
from support.building import Builder
from support.messages import End, Image, Side
from support.p2p import PLAIN, Form, Piece, Requests
from support.typemap import Named

FORM = Form()
BYTE = Named("BYTE")
SMALL = c.Vector(16, 4, 7, BYTE)  # 64 bytes


def address_space_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def limit_address_space(more_bytes: int) -> None:
    """From now on this process may map so much more."""
    _exchange(SMALL, 0)  # memory that is mapped only once
    limit = address_space_bytes() + more_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def limit_private_memory(more_bytes: int) -> None:
    """Counts what vm.overcommit_memory=2 counts: private writable mappings, touched or not."""
    _exchange(SMALL, 0)
    [used_kb] = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmData" in line]
    limit = int(used_kb) * 1024 + more_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def _exchange(spec: c.Vector, seed: int, kind: str = "device") -> None:
    many_at_once(kind, spec, 1, seed)


def many_at_once(kind: str, spec: c.Vector, n: int, seed: int = 0) -> None:
    """`n` receives are outstanding before the first message is sent; all of them arrive."""
    comm, me = comms()["world"], MPI.COMM_WORLD.Get_rank()
    with Builder() as builder:
        sides = [Side(End(kind, spec, 1, seed + i + 1000 * me), builder) for i in range(n)]
        requests = Requests(n)
        with outcomes.claimed(*(("Irecv" if me == 1 else "Isend", side) for side in sides)):
            for i, side in enumerate(sides):
                if me == 1:
                    FORM("Irecv", side.piece, 0, i, comm, requests.at(i))
            comm.Barrier()
            for i, side in enumerate(sides):
                if me == 0:
                    FORM("Isend", side.piece, 1, i, comm, requests.at(i))
            ways.complete(FORM, "Waitall", requests)
        for i, side in enumerate(sides if me == 1 else ()):
            side.check_received(Image(End(kind, spec, 1, seed + i), builder).payload())


def fail_often(kind: str, times: int) -> int:
    """The growth of address space by `times` truncated receives and as many from a bad rank."""
    comm, me = comms()["world"], MPI.COMM_WORLD.Get_rank()
    big = np.zeros(16 << 10, np.uint8)
    before = 0
    with Builder() as builder:
        side = Side(End(kind, SMALL, 1, 3), builder)
        for turn in range(times):
            if turn == times // 4:
                before = address_space_bytes()
            if me == 0:
                FORM("Send", Piece(big.ctypes.data, len(big), MPI.BYTE), 1, 4, comm)
                continue
            way = ("Recv", "Irecv", "Sendrecv")[turn % 3]
            assert error_class(_receive, way, side, Place(comm, 0, 4)) == MPI.ERR_TRUNCATE
            assert error_class(_receive, way, side, Place(comm, 7, 4)) == MPI.ERR_RANK
    return address_space_bytes() - before


def _receive(way: str, side: Side, at: Place) -> None:
    if request := ways.receive(FORM, way, side.piece, at, MPI.Status()):
        ways.complete(FORM, "Wait", request)


def one_of_many_is_too_long(kind: str, n_bytes: int, room: int, n: int = 9) -> None:
    """`n` receives with room for `room` bytes, and a message of `n_bytes` to the middle one."""
    comm, me = comms()["world"], MPI.COMM_WORLD.Get_rank()
    spec = c.Vector(room // 4, 4, 5, BYTE) if room >= 4 else c.Contiguous(room, BYTE)
    with Builder() as builder:
        sides = [Side(End(kind, spec, 1, 50 + i + 1000 * me), builder) for i in range(n)]
        requests = Requests(n)
        for i, side in enumerate(sides):
            if me == 1:
                FORM("Irecv", side.piece, 0, i, comm, requests.at(i))
        comm.Barrier()
        big = np.full(n_bytes if me == 0 else 0, 0x77, np.uint8)
        for i in [i for i in range(n) if i != n // 2] + [n // 2]:
            piece = sides[i].piece if i != n // 2 else Piece(big.ctypes.data, n_bytes, MPI.BYTE)
            if me == 0:
                FORM("Isend", piece, 1, i, comm, requests.at(i))
        order = [n // 2] + [i for i in range(n) if i != n // 2]  # the others are unpacked after the overrun
        found = []
        for i in order:
            one = Requests()
            one.put(0, _only(requests, i))
            found.append(error_class(ways.complete, FORM, "Wait", one))
        if me == 1:
            assert found == [MPI.ERR_TRUNCATE] + [MPI.SUCCESS] * (n - 1)
            for i in order[1:]:
                sides[i].check_received(Image(End(kind, spec, 1, 50 + i), builder).payload())
            _check_nothing_beside(sides[n // 2])


def _only(requests: Requests, i: int) -> Requests:
    one = Requests()
    one.handles[0] = requests.handles[i]
    return one


def _check_nothing_beside(side: Side) -> None:
    inside = side.message.byte_offsets() + side.origin
    found, before = side.buffer.read().copy(), side.before.copy()
    found[inside] = before[inside] = 0
    equal.check(found, before, "bytes beside the receive buffer")


def of_all_sizes(kind: str) -> None:
    """Whole and shorter messages, persistent receives, from two bytes on."""
    comm, me = comms()["world"], MPI.COMM_WORLD.Get_rank()
    for n in (1, 2, 3, 64, 4096, 65_536, 65_537, 1 << 20):
        for sent in {n, max(1, n // 2), n - 1} - {0}:
            with Builder() as builder:
                spec = c.Resized(0, 3, BYTE)
                mine, theirs = End(kind, spec, n if me else sent, me), End(kind, spec, sent, 0)
                side = Side(mine, builder)
                if me == 0:
                    FORM("Send", side.piece, 1, 1, comm)
                    FORM("Send", side.piece, 1, 1, comm)
                    continue
                _receive("Recv", side, Place(comm, 0, 1))
                side.check_received(Image(theirs, builder).payload())
                side.refill(77)
                _receive_persistent(side, Place(comm, 0, 1))
                side.check_received(Image(theirs, builder).payload())


STAGED = ("MPI_Recv_init", "taken: staged (packed in device memory, copied to host)")


def short_then_whole(n_bytes: int) -> None:
    """Messages of host memory to a persistent receive of device memory: a short one, a whole one, and again."""
    comm, me = comms()["world"], MPI.COMM_WORLD.Get_rank()
    before = outcomes.rows()
    with Builder() as builder:
        side, requests = Side(End("device", c.Vector(n_bytes // 64, 4, 5, BYTE), 16, 7), builder), Requests()
        if me == 1:
            PLAIN("Recv_init", side.piece, 0, 5, comm, requests.at(0))
        for turn, sent in enumerate((n_bytes // 4, n_bytes, n_bytes // 2 + 3, n_bytes)):
            payload = np.random.default_rng(turn).integers(0, 256, sent, np.uint8)
            if me == 0:
                comm.Send(payload, 1, 5)
                continue
            side.refill(100 + turn)
            ways.again(PLAIN, requests)
            ways.complete(PLAIN, "Wait", requests)
            side.check_received(payload)
        if me == 1:
            ways.free(PLAIN, requests)
    assert (outcomes.rows() - before)[STAGED] == me


def _receive_persistent(side: Side, at: Place) -> None:
    request = ways.receive(FORM, "Recv_init", side.piece, at, MPI.Status())
    assert request
    ways.complete(FORM, "Wait", request)
    ways.free(FORM, request)


def packed_often(times: int) -> int:
    """The growth of this process, in bytes, by messages that are packed in ordinary memory."""
    comm, me = MPI.COMM_WORLD, MPI.COMM_WORLD.Get_rank()
    vector = MPI.INT.Create_vector(16, 1, 2).Commit()
    out, into = np.zeros(32, np.int32), np.zeros(32, np.int32)
    before = 0
    for turn in range(times):
        if turn == times // 10:
            before = resident_bytes()
        requests = [comm.Irecv([into, 1, vector], 1 - me, 1), comm.Isend([out, 1, vector], 1 - me, 1)]
        MPI.Request.Waitall(requests)
    vector.Free()
    return resident_bytes() - before
