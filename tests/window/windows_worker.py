"""Windows over GPU memory: cases that are written by hand."""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy as np
from mpi4py import MPI
from window_calls import COMM, Memory, ints, read, rma, window_of

import tempi
from support import calls, equal
from support.memory import at_hand
from support.p2p import PLAIN, Piece
from tempi._library import library


def attributes(kind: str) -> None:
    """Base, size and unit are the program's."""
    memory = Memory(kind, np.zeros(4096, np.uint8))
    win = memory.window(8)
    assert win.Get_attr(MPI.WIN_BASE) == memory.buffer.address
    assert win.Get_attr(MPI.WIN_SIZE) == 4096
    assert win.Get_attr(MPI.WIN_DISP_UNIT) == 8
    assert win.Get_attr(MPI.WIN_CREATE_FLAVOR) == MPI.WIN_FLAVOR_CREATE
    win.Free()


def sums_of_all(kind: str, origin: str, rounds: int, sync: str) -> None:
    """All ranks add to all parts at the same time: every addition counts."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    with window_of(kind, np.zeros(50, np.int64), 8) as (win, own):
        mine = at_hand(origin, np.arange(50, dtype=np.int64).view(np.uint8))
        piece = Piece(mine.address, 50, MPI.INT64_T)
        win.Fence(0) if sync == "fence" else win.Lock_all()
        for i in range(rounds):
            rma(PLAIN, "Accumulate", win, piece, (me + i) % size, 0, (50, MPI.INT64_T), MPI.SUM)
        if sync == "fence":
            win.Fence(0)
        else:
            win.Flush_all()
            COMM.Barrier()
            win.Unlock_all()
        total = sum(1 for rank in range(size) for i in range(rounds) if (rank + i) % size == me)
        equal.check(read(own, np.int64), np.arange(50) * total)
        COMM.Barrier()


def tickets(kind: str, n: int) -> None:
    """MPI_Fetch_and_op and MPI_Compare_and_swap give each number once."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    with window_of(kind if me == 0 else "host", np.zeros(2, np.int32), 4) as (win, own):
        one, _ = ints("host", [1])
        found, _ = ints(kind, [0])
        got = []
        win.Lock_all()
        for _ in range(n):
            _fetch_and_add(win, one, found, 0, 0)
            got.append(int(read(found)[0]))
        old = 0
        for _ in range(n):  # one more than before, by exchange
            while True:
                new, _ = ints("host", [old + 1])
                compared, _ = ints(kind, [old])
                _swap(win, new, compared, found, 0, 1)
                was, before = old, int(read(found)[0])
                old = before if before != was else was + 1
                if before == was:
                    break
        win.Flush(0)
        COMM.Barrier()
        win.Unlock_all()
        all_got = sorted(number for of_rank in COMM.allgather(got) for number in of_rank)
        assert all_got == list(range(n * size))
        if me == 0:
            assert read(own).tolist() == [n * size, n * size]
        COMM.Barrier()


def _fetch_and_add(win: MPI.Win, added: Any, result: Any, target: int, at: int) -> None:
    addresses = (ctypes.c_void_p(one.address) for one in (added, result))
    words = (calls.handle(MPI.INT), target, ctypes.c_int64(at), calls.handle(MPI.SUM), calls.handle(win))
    PLAIN("Fetch_and_op", *addresses, *words)


def _swap(win: MPI.Win, new: Any, compared: Any, result: Any, target: int, at: int) -> None:
    addresses = (ctypes.c_void_p(one.address) for one in (new, compared, result))
    words = (calls.handle(MPI.INT), target, ctypes.c_int64(at), calls.handle(win))
    PLAIN("Compare_and_swap", *addresses, *words)


ELEMENTS = {
    "INT": ("i4", ("SUM", "PROD", "MIN", "MAX", "BAND", "BOR", "BXOR", "LAND", "LOR", "LXOR")),
    "DOUBLE": ("f8", ("SUM", "PROD", "MIN", "MAX")),
    "C_DOUBLE_COMPLEX": ("c16", ("SUM", "PROD")),
    "LONG_DOUBLE": ("g", ("SUM", "MAX")),
    "BYTE": ("u1", ("BAND", "BOR", "BXOR")),
    "TWOINT": ([("value", "i4"), ("index", "i4")], ("MINLOC", "MAXLOC")),
    "DOUBLE_INT": ({"names": ["value", "index"], "formats": ["f8", "i4"], "itemsize": 16}, ("MINLOC", "MAXLOC")),
    "SHORT_INT": ({"names": ["value", "index"], "formats": ["i2", "i4"], "offsets": [0, 4]}, ("MINLOC", "MAXLOC")),
}


def _values(dtype: Any, seed: int, n: int) -> Any:
    drawn = np.random.default_rng(seed)
    values = np.zeros(n, dtype)
    for field in values.dtype.names or (None,):
        whole = values if field is None else values[field]
        whole[:] = drawn.integers(0, 9, n)
    return values


def elements(origin: str, strided: bool) -> None:
    """Every datatype and operation, against the library's MPI_Reduce_local on host memory."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    for name, (dtype, operations) in ELEMENTS.items():
        datatype = getattr(MPI, name)
        for op in (*operations, "REPLACE", "NO_OP"):
            before = _values(dtype, 1, 24)
            sent = _values(dtype, 2 + me, 8)
            with window_of("device", before, before.dtype.itemsize) as (win, own):
                mine = at_hand(origin, sent.view(np.uint8))
                result = at_hand(origin, np.zeros(sent.nbytes, np.uint8))
                there = datatype.Create_vector(8, 1, 3).Commit() if strided else datatype.Create_contiguous(8).Commit()
                target = (me + 1) % size
                win.Lock(target)
                rma(
                    PLAIN, "Get_accumulate", win, Piece(mine.address, 8, datatype), target, 0, (1, there),
                    getattr(MPI, op), Piece(result.address, 8, datatype),
                )  # fmt: skip
                win.Unlock(target)
                COMM.Barrier()
                at = np.arange(8) * (3 if strided else 1)
                expected, their = before.copy(), _values(dtype, 2 + (me - 1) % size, 8)
                if op == "REPLACE":
                    expected[at] = their
                elif op != "NO_OP":
                    combined = before[at].copy()
                    spec = [their.view(np.uint8), 8, datatype], [combined.view(np.uint8), 8, datatype]
                    getattr(MPI, op).Reduce_local(*spec)
                    expected[at] = combined
                _same(read(own, dtype), expected, f"{name} {op}")
                _same(read(result, dtype), before[at], f"{name} {op}: fetched")
                there.Free()


def _same(found: Any, expected: Any, what: str) -> None:
    if found.dtype.names is None:
        return equal.check(found, expected, what)
    for field in found.dtype.names:
        equal.check(found[field], expected[field], what)


def is_put_while_the_target_computes(kind: str) -> None:
    """Passive target: rank 1 makes no MPI call until the bytes are there."""
    with window_of(kind, np.zeros(4, np.int32), 4) as (win, own):
        COMM.Barrier()
        if COMM.Get_rank() == 0:
            _, piece = ints("host", [7, 8])
            win.Lock(1, MPI.LOCK_EXCLUSIVE)
            rma(PLAIN, "Put", win, piece, 1, 2, (2, MPI.INT))
            win.Unlock(1)
        else:
            end = time.monotonic() + 20
            while read(own).tolist() != [0, 0, 7, 8]:
                assert time.monotonic() < end
                time.sleep(0.01)
        COMM.Barrier()


def exclusive_updates(kind: str, n: int) -> None:
    """Get, add one, put, under the exclusive lock: no update is lost. Readers with shared locks see whole updates."""
    me = COMM.Get_rank()
    with window_of(kind, np.zeros(64, np.int32), 4) as (win, own):
        mine, piece = ints("device" if me % 2 else "host", [0] * 64)
        COMM.Barrier()
        for i in range(n):
            shares = (i + me) % 3 == 2
            win.Lock(0, MPI.LOCK_SHARED if shares else MPI.LOCK_EXCLUSIVE)
            rma(PLAIN, "Get", win, piece, 0, 0, (64, MPI.INT))
            win.Flush(0)
            values = read(mine)
            assert (values == values[0]).all()
            if not shares:
                mine.write((values + 1).view(np.uint8))
                rma(PLAIN, "Put", win, piece, 0, 0, (64, MPI.INT))
            win.Unlock(0)
        COMM.Barrier()
        n_updates = sum(1 for rank in range(COMM.Get_size()) for i in range(n) if (i + rank) % 3 != 2)
        if me == 0:
            assert read(own).tolist() == [n_updates] * 64
        COMM.Barrier()


def again(kind: str, n: int) -> None:
    """Windows that are freed and made again, over the same memory and over memory that is allocated anew."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    kept = Memory(kind, np.zeros(64, np.uint8))
    for i in range(n):
        memory = kept if i % 2 else Memory(kind, np.zeros(64 + 4 * i, np.uint8))
        win = memory.window(4)
        _, piece = ints("device", [i, me])
        win.Fence(0)
        rma(PLAIN, "Put", win, piece, (me + 1) % size, 3, (2, MPI.INT))
        win.Fence(0)
        assert memory.buffer.read().view(np.int32)[3:5].tolist() == [i, (me - 1) % size]
        win.Free()


def half_of_all(by: str) -> MPI.Intracomm:
    """The ranks of this one's parity."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    if by == "split":
        return COMM.Split(me % 2, -me)
    half = COMM.Create_group(COMM.Get_group().Incl(range(me % 2, size, 2)))
    if by == "group":
        return half
    between = MPI.COMM_SELF.Create_intercomm(0, half, 1 - half.rank)
    merged = between.Merge(half.rank == 0)
    between.Free()
    half.Free()
    return merged


def several_windows(kind: str, by: str) -> None:
    """Two windows at a time, of two communicators; a part of no bytes."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    half = half_of_all(by)
    whole = Memory(kind, np.zeros(64, np.uint8))
    other = Memory(
        kind, np.zeros(0 if half.Get_rank() == half.Get_size() - 1 and half.Get_size() > 1 else 64, np.uint8)
    )
    first, second = whole.window(4), other.window(4, half)
    _, piece = ints("device", [me + 1])
    first.Fence(0)
    second.Fence(0)
    rma(PLAIN, "Put", first, piece, (me + 1) % size, 1, (1, MPI.INT))
    rma(PLAIN, "Put", second, piece, 0, 2 + half.Get_rank(), (1, MPI.INT))
    first.Fence(0)
    second.Fence(0)
    assert whole.buffer.read().view(np.int32)[1] == (me - 1) % size + 1
    if half.Get_rank() == 0 and other.n_bytes:
        expected = [rank + 1 for rank in half.allgather(me)]
        assert other.buffer.read().view(np.int32)[2 : 2 + half.Get_size()].tolist() == expected
    else:
        half.allgather(me)
    second.Free()
    first.Free()
    half.Free()


def shorter_than_an_element(rounds: int) -> None:
    """Two ranks put into different bytes of a part at the same time; one of them ends within an element."""
    me = COMM.Get_rank()
    element = MPI.INT.Create_contiguous(1024).Commit()
    with window_of("device", np.zeros(1024, np.int32), 4) as (win, own):
        for turn in range(1, rounds + 1):
            win.Lock(0, MPI.LOCK_SHARED)
            if me == 1:
                _first, piece = ints("host", [turn] * 10)
                rma(PLAIN, "Put", win, piece, 0, 0, (1, element))
            elif me == 2:
                for at in range(20, 1024, 100):
                    _first, piece = ints("host", [turn + at])
                    rma(PLAIN, "Put", win, piece, 0, at, (1, MPI.INT))
            win.Unlock(0)
            COMM.Barrier()
            if me == 0:
                found = read(own)
                assert found[:10].tolist() == [turn] * 10
                assert found[20:1024:100].tolist() == [turn + at for at in range(20, 1024, 100)]
            COMM.Barrier()
    element.Free()


SYNCS = ("fence", "post", "unlock", "self")


def behind_a_stream(sync: str) -> None:
    """Queued work of the program's stream fills the part before others read it."""
    me, n_bytes = COMM.Get_rank(), 1 << 16
    stream = library().fake_stream_create(0)
    memory = Memory("device", np.zeros(n_bytes, np.uint8))
    win = memory.window()
    target = me if sync == "self" else 1
    result, piece = ints("host", np.zeros(n_bytes // 4))
    if sync == "self":
        win.Fence(0)
    with tempi.stream(stream):
        for value in range(1, 6):
            if sync == "unlock" and me == 1:
                win.Lock(1)
            if me == 1 or sync == "self":
                library().fake_stream_fill(memory.buffer.address, value, n_bytes, stream)
            if sync == "fence":
                win.Fence(0)
            elif sync == "post":
                group = COMM.Get_group().Incl([1 - me])
                win.Post(group) if me == 1 else win.Start(group)
                group.Free()
            elif sync == "unlock":
                if me == 1:
                    win.Unlock(1)
                COMM.Barrier()
                if me == 0:
                    win.Lock(1)
            if me == 0 or sync == "self":
                rma(PLAIN, "Get", win, piece, target, 0, (n_bytes // 4, MPI.INT))
                assert (result.read() == value).all(), value
            if sync == "fence":
                win.Fence(0)
            elif sync == "post":
                win.Wait() if me == 1 else win.Complete()
            elif sync == "unlock" and me == 0:
                win.Unlock(1)
            COMM.Barrier()
    if sync == "self":
        win.Fence(MPI.MODE_NOSUCCEED)
    win.Free()
    library().fake_stream_destroy(stream)
