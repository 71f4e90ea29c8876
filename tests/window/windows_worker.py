"""Windows over GPU memory: random programs against a serial model, and cases that are written by hand."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import windows_plan as plans
from mpi4py import MPI

import tempi
from support import calls
from support.building import Builder
from support.error_handlers import Handlers, Told
from support.memory import at_hand
from support.messages import End, Side
from support.p2p import FORMS, PLAIN, Form, Piece, Requests
from support.typemap import Bytes, Named, message_map
from tempi._library import library

COMM = MPI.COMM_WORLD
INT = Named("INT")


class Memory:
    """A rank's part of a window."""

    def __init__(self, kind: str, contents: Bytes) -> None:
        self._context = at_hand("device", np.zeros(1, np.uint8))  # each process of the window needs one
        self.buffer = at_hand(kind, contents)
        self.n_bytes = len(contents)

    def window(self, unit: int = 1, comm: MPI.Comm = COMM) -> MPI.Win:
        return MPI.Win.Create(MPI.memory.fromaddress(self.buffer.address, self.n_bytes), unit, comm=comm)


@contextmanager
def window_of(kind: str, values: Any, unit: int = 1) -> Iterator[tuple[MPI.Win, Any]]:
    memory = Memory(kind, np.ascontiguousarray(values).view(np.uint8).ravel())
    win = memory.window(unit)
    yield win, memory.buffer
    win.Free()


def rma(
    form: Form, name: str, win: MPI.Win, origin: Piece, target: int, at: int, there: tuple[int, MPI.Datatype],
    op: MPI.Op | None = None, result: Piece | None = None,
) -> Requests | None:  # fmt: skip
    """Makes the call; its request, if it has one."""
    function, large = form.symbol(name)
    count = ctypes.c_int64 if large else ctypes.c_int
    pieces = [origin] if result is None else [origin, result]
    words: list[object] = []
    for piece in pieces:
        words += [ctypes.c_void_p(piece.address), count(piece.count), calls.handle(piece.datatype)]
    words += [target, ctypes.c_int64(at), count(there[0]), calls.handle(there[1])]
    words += [calls.handle(op)] if op is not None else []
    words.append(calls.handle(win))
    request = Requests() if name.startswith("R") else None
    words += [request.at(0)] if request else []
    if code := function(*words):
        raise MPI.Exception(code)
    return request


# ---- random programs


class Model:
    def __init__(self, plan: plans.Plan) -> None:
        self.windows = [np.arange(plan.n_ints, dtype=np.int32) * (3 + rank) - 50 for rank in range(len(plan.kinds))]
        self.plan = plan

    def places(self, of: plans.Operation, builder: Builder) -> np.ndarray[Any, Any]:
        runs = message_map(*of.at_target, builder.bounds)
        return (runs.byte_offsets()[::4] + of.displacement * self.plan.units[of.target]) // 4

    def apply(self, of: plans.Operation, payload: Bytes, builder: Builder) -> None:
        window, at, values = self.windows[of.target], self.places(of, builder), payload.view(np.int32)
        combine = {"SUM": np.add, "BXOR": np.bitwise_xor, "MAX": np.maximum, "MIN": np.minimum}
        window[at] = combine[of.op](window[at], values) if of.op in combine else values


class Run:
    """One rank's part of a program."""

    def __init__(self, plan: plans.Plan) -> None:
        self.plan, self.model = plan, Model(plan)
        self.me = COMM.Get_rank()

    def run(self) -> int:
        own = Memory(self.plan.kinds[self.me], self.model.windows[self.me].view(np.uint8))
        win = own.window(self.plan.units[self.me])
        n = 0
        COMM.Barrier()
        win.Fence(MPI.MODE_NOPRECEDE | MPI.MODE_NOSUCCEED)
        for epoch in self.plan.epochs:
            with Builder() as builder:
                n += self._epoch(epoch, win, own, builder)
        win.Free()
        return n

    def _epoch(self, epoch: plans.Epoch, win: MPI.Win, own: Memory, builder: Builder) -> int:
        sides: list[tuple[plans.Operation, Side, Side | None]] = []
        form = FORMS[len(epoch.operations[self.me]) % len(FORMS)]
        for of in epoch.operations[self.me]:
            sides.append((of, *self._sides(of, builder)))
        self._synchronised(epoch, win, lambda mine: self._access(mine, win, form, builder), sides)
        self._check_origins(epoch, sides, builder)
        if epoch.writes:
            for origin in range(COMM.Get_size()):
                for of in epoch.operations[origin]:
                    self.model.apply(of, self._sides(of, builder)[0].payload(), builder)
        COMM.Barrier()
        expected = self.model.windows[self.me]
        np.testing.assert_array_equal(own.buffer.read().view(np.int32), expected, str(epoch.synchronisation))
        COMM.Barrier()
        return len(sides)

    def _sides(self, of: plans.Operation, builder: Builder) -> tuple[Side, Side | None]:
        origin = Side(End(of.kind, *of.at_origin, of.seed), builder)
        fetches = "et_accumulate" in of.name and of.result is not None
        return origin, Side(End(of.kind, *of.result, of.seed + 1), builder) if fetches else None

    def _access(self, mine: Any, win: MPI.Win, form: Form, builder: Builder) -> Requests | None:
        of, origin, result = mine
        op = getattr(MPI, of.op) if of.op else None
        spec, n = of.at_target
        there = (n, builder.build(spec).Commit())
        name = of.name
        if name.startswith("R") and not self.may_have_requests:
            name = name[1:].capitalize()
        return rma(
            form, name, win, origin.piece, of.target, of.displacement, there, op, result.piece if result else None
        )

    def _check_origins(self, epoch: plans.Epoch, sides: Any, builder: Builder) -> None:
        for of, origin, result in sides:
            before = self.model.windows[of.target][self.model.places(of, builder)].view(np.uint8)
            if result is not None:
                result.check_received(before)
                origin.check_untouched()
            elif "et" in of.name:
                origin.check_received(before)
            else:
                origin.check_untouched()

    def _synchronised(self, epoch: plans.Epoch, win: MPI.Win, access: Any, sides: Any) -> None:
        how = epoch.synchronisation
        self.may_have_requests = how not in ("fence", "post and start")
        if how == "fence":
            win.Fence(0)
            for mine in sides:
                access(mine)
            win.Fence(MPI.MODE_NOSUCCEED)
        elif how == "post and start":
            self._posted(epoch, win, access, sides)
        elif how.startswith("lock") and how != "lock all":
            for mine in sides:
                win.Lock(mine[0].target, MPI.LOCK_EXCLUSIVE if "exclusive" in how else MPI.LOCK_SHARED)
                self._wait(access(mine))
                win.Unlock(mine[0].target)
        else:
            win.Lock_all()
            requests = [(mine, access(mine)) for mine in sides]
            for mine, request in requests:
                if how == "flush":
                    win.Flush(mine[0].target)
                self._wait(request)
            if how == "flush local and all":
                win.Flush_local_all()
                win.Flush_all()
            win.Unlock_all()

    def _wait(self, request: Requests | None) -> None:
        if request is not None:
            PLAIN("Wait", request.at(0), MPI.Status())
            assert request.is_null()

    def _posted(self, epoch: plans.Epoch, win: MPI.Win, access: Any, sides: Any) -> None:
        """Each rank exposes its window to those that access it."""
        group = COMM.Get_group()
        targets = sorted({mine[0].target for mine in sides})
        origins = [rank for rank, ops in enumerate(epoch.operations) if any(of.target == self.me for of in ops)]
        exposed, accessed = group.Incl(origins), group.Incl(targets)
        win.Post(exposed)
        win.Start(accessed)
        for mine in sides:
            access(mine)
        win.Complete()
        win.Wait()
        for made in (group, exposed, accessed):
            made.Free()


def run_programs(seeds: list[int], window_kinds: tuple[str, ...], own_kinds: tuple[str, ...]) -> int:
    return sum(Run(plans.draw(seed, COMM.Get_size(), window_kinds, own_kinds)).run() for seed in seeds)


# ---- cases


def ints(kind: str, values: Any) -> tuple[Any, Piece]:
    array = np.array(values, np.int32)
    buffer = at_hand(kind, array.view(np.uint8))
    return buffer, Piece(buffer.address, array.size, MPI.INT)


def _read(buffer: Any, dtype: Any = np.int32) -> Any:
    return buffer.read().view(dtype).copy()


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
        np.testing.assert_array_equal(_read(own, np.int64), np.arange(50) * total)
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
            got.append(int(_read(found)[0]))
        old = 0
        for _ in range(n):  # one more than before, by exchange
            while True:
                new, _ = ints("host", [old + 1])
                compared, _ = ints(kind, [old])
                _swap(win, new, compared, found, 0, 1)
                was, before = old, int(_read(found)[0])
                old = before if before != was else was + 1
                if before == was:
                    break
        win.Flush(0)
        COMM.Barrier()
        win.Unlock_all()
        all_got = sorted(number for of_rank in COMM.allgather(got) for number in of_rank)
        assert all_got == list(range(n * size))
        if me == 0:
            assert _read(own).tolist() == [n * size, n * size]
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
                _same(_read(own, dtype), expected, f"{name} {op}")
                _same(_read(result, dtype), before[at], f"{name} {op}: fetched")
                there.Free()


def _same(found: Any, expected: Any, what: str) -> None:
    if found.dtype.names is None:
        return np.testing.assert_array_equal(found, expected, what)
    for field in found.dtype.names:
        np.testing.assert_array_equal(found[field], expected[field], what)


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
            while _read(own).tolist() != [0, 0, 7, 8]:
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
            values = _read(mine)
            assert (values == values[0]).all()
            if not shares:
                mine.write((values + 1).view(np.uint8))
                rma(PLAIN, "Put", win, piece, 0, 0, (64, MPI.INT))
            win.Unlock(0)
        COMM.Barrier()
        n_updates = sum(1 for rank in range(COMM.Get_size()) for i in range(n) if (i + rank) % 3 != 2)
        if me == 0:
            assert _read(own).tolist() == [n_updates] * 64
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


def several_windows(kind: str) -> None:
    """Two windows at a time, of two communicators; a part of no bytes."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    half = COMM.Split(me % 2, -me)
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
                found = _read(own)
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


# ---- errors


def errors(kind: str) -> dict[str, list[Told]]:
    """What the window's error handler and the program are told. Nothing is written."""
    me = COMM.Get_rank()
    found = {}
    before = np.arange(8, dtype=np.int32)
    uncommitted = MPI.INT.Create_contiguous(2)
    mixed = MPI.Datatype.Create_struct([1, 1], [0, 4], [MPI.INT, MPI.FLOAT]).Commit()
    distant = MPI.INT.Create_resized(0, 2**40).Commit()
    product = MPI.Op.Create(lambda a, b, _: None)
    with window_of("device", before, 4) as (win, own), Handlers() as handlers:
        _, two = ints(kind, [70, 80])
        _, result = ints(kind, [1, 2])
        large = Piece(two.address, 1, MPI.LONG_DOUBLE)
        peer = 1 - me
        cases: dict[str, tuple[Any, ...]] = {
            "beyond": ("Put", two, peer, 7, (2, MPI.INT)),
            "far beyond": ("Put", two, peer, 2**62, (2, MPI.INT)),
            "beyond 64 bits": ("Put", two, peer, 0, (2**24 + 1, distant)),
            "before": ("Put", two, peer, -1, (2, MPI.INT)),
            "get beyond": ("Get", two, peer, 8, (2, MPI.INT)),
            "accumulate beyond": ("Accumulate", two, peer, 7, (2, MPI.INT), MPI.SUM),
            "no such rank": ("Put", two, 2, 0, (2, MPI.INT)),
            "uncommitted": ("Put", two, peer, 0, (1, uncommitted)),
            "too short": ("Put", two, peer, 0, (1, MPI.INT)),
            "own operation": ("Accumulate", two, peer, 0, (2, MPI.INT), product),
            "wrong operation": ("Accumulate", Piece(two.address, 2, MPI.FLOAT), peer, 0, (2, MPI.FLOAT), MPI.BAND),
            "wrong for the library": ("Accumulate", large, peer, 0, (1, MPI.LONG_DOUBLE), MPI.BAND),
            "mixed": ("Accumulate", two, peer, 0, (1, mixed), MPI.SUM),
            "other element": ("Accumulate", two, peer, 0, (1, MPI.DOUBLE), MPI.SUM),
            "fetch beyond": ("Get_accumulate", two, peer, 7, (2, MPI.INT), MPI.SUM, result),
        }
        handlers.watch(win)
        with handlers.recorded():
            rma(PLAIN, "Put", win, two, peer, 0, (2, MPI.INT))
        found["no epoch"] = list(handlers.told)
        win.Lock_all()
        for case, (name, origin, *rest) in cases.items():
            handlers.told.clear()
            with handlers.recorded():
                rma(PLAIN, name, win, origin, *rest)
            found[case] = list(handlers.told)
        handlers.told.clear()
        rma(PLAIN, "Put", win, two, MPI.PROC_NULL, 0, (2, MPI.INT))
        request = rma(PLAIN, "Rput", win, two, MPI.PROC_NULL, 0, (2, MPI.INT))
        assert request
        PLAIN("Wait", request.at(0), MPI.Status())
        found["nobody"] = list(handlers.told)
        win.Unlock_all()
        COMM.Barrier()
        assert _read(own).tolist() == before.tolist()
    mixed.Free()
    uncommitted.Free()
    distant.Free()
    product.Free()
    return found


def told(name: str) -> list[Told]:
    error = getattr(MPI, f"ERR_{name}")
    return [("window", error), ("code", error)]


# ---- MPI_Win_allocate and MPI_Win_shared_query


def _allocated(n_bytes: int, unit: int, info: MPI.Info) -> tuple[MPI.Win, int]:
    win, base = MPI.Win(), ctypes.c_void_p()
    handle = ctypes.c_void_p(MPI._addressof(win))
    words = (ctypes.c_int64(n_bytes), unit, calls.handle(info), COMM, ctypes.byref(base), handle)
    PLAIN("Win_allocate", *words)
    return win, base.value or 0


def _query(win: MPI.Win, rank: int) -> tuple[int, int, int]:
    size, unit, base = ctypes.c_int64(), ctypes.c_int(), ctypes.c_void_p()
    PLAIN("Win_shared_query", calls.handle(win), rank, *(ctypes.byref(one) for one in (size, unit, base)))
    return size.value, unit.value, base.value or 0


def allocates(kinds: tuple[str, ...], n: int) -> None:
    """GPU memory where the info key asks for it. Every process reaches it by the address of the query."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    for i in range(n):
        info = MPI.Info.Create()
        info.Set("tempi_memory", kinds[me])
        win, base = _allocated(64 + 4 * i, 4, info)
        info.Free()
        assert base
        assert win.Get_attr(MPI.WIN_BASE) == base
        assert win.Get_attr(MPI.WIN_SIZE) == 64 + 4 * i
        assert win.Get_attr(MPI.WIN_CREATE_FLAVOR) == MPI.WIN_FLAVOR_ALLOCATE
        _, piece = ints("host", [me, i, 5])
        win.Fence(0)
        rma(PLAIN, "Put", win, piece, (me + 1) % size, 2, (3, MPI.INT))
        win.Fence(0)
        expected = [(me - 1) % size, i, 5]
        got, result = ints("device", [0] * 3)
        win.Lock(me)
        rma(PLAIN, "Get", win, result, me, 2, (3, MPI.INT))
        win.Unlock(me)
        assert _read(got).tolist() == expected
        for rank in range(size):
            if kinds[rank] == "device":
                n_bytes, unit, address = _query(win, rank)
                assert (n_bytes, unit) == (64 + 4 * i, 4)
                assert (address == base) == (rank == me)
                _check_packed(address + 8, [(rank - 1) % size, i, 5])
        if kinds[0] == "device":
            assert _query(win, MPI.PROC_NULL) == _query(win, 0)
        COMM.Barrier()
        win.Free()


def _check_packed(address: int, expected: list[int]) -> None:
    into = np.zeros(3, np.int32)
    calls.program().pack(address, 3, MPI.INT, into.ctypes.data, 12)
    assert into.tolist() == expected


def allocates_without_the_key() -> None:
    win, base = _allocated(64, 1, MPI.INFO_NULL)
    ctypes.memset(base, 7, 64)
    assert win.Get_attr(MPI.WIN_BASE) == base
    win.Free()
