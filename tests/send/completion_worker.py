"""The two ranks of a plan of completion_plan.py. Rank 1 tells what its calls have told, and what came of the data."""

from __future__ import annotations

import ctypes
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from completion_plan import Item, Plan, Round
from mpi4py import MPI

from support import calls, memory
from support import constructors as c
from support.building import Builder
from support.messages import End, Image, Side
from support.p2p import PLAIN, Requests, Statuses
from support.typemap import Named

INT = Named("INT")
UNSET = 0x11111111  # fills statuses before a call
PATIENCE_SECONDS = 10.0
QUERY_SECONDS = 0.002  # between queries: MPICH forgets the class of an error after 1,024 more
TOKEN = [None, 0, MPI.BYTE]


class Told(NamedTuple):
    """What completing calls have told of a request: an error class (-1: none was set), and its status."""

    error: int
    source: int
    tag: int
    n_ints: int
    is_cancelled: bool


Key = tuple[int, int]  # round, item


class Outcome(NamedTuple):
    told: dict[Key, list[Told]]
    moved: dict[Key, bool]  # the data of the messages that fit have arrived
    handlers: list[tuple[str, str, int]]  # function, whose handler it called, the error class


@cache
def comms() -> dict[str, MPI.Comm]:
    world = MPI.COMM_WORLD
    return {"a": world.Dup(), "b": world.Dup(), "tokens": world.Dup()}


def _end(item: Item, index: int, n: int, kind: str, n_ints: int) -> End:
    spec = c.Vector(n_ints, 1, 2, INT) if item.is_short else c.Contiguous(n_ints, INT)
    return End(kind, spec, 1, 1000 * n + index)


def sent_end(item: Item, index: int, n: int, kind: str) -> End:
    return _end(item, index, n, kind, item.sent[n])


def room_end(item: Item, index: int, n: int, kind: str) -> End:
    return _end(item, index, n + 500, kind, item.room)


def spacious(end: End, builder: Builder, n_ints: int) -> Side:
    """Room behind it: libraries write there what is too long for the receive."""
    side = Side(end, builder)
    side.before = np.concatenate([side.before, np.zeros(8 * n_ints, np.uint8)])
    side.buffer = memory.at_hand(end.kind, side.before)
    return side


def kind_here(kind: str, is_plain: bool) -> str:
    return memory.HOST if is_plain else kind


# ---- rank 0: the other ends


class OtherEnds:
    def __init__(self, the_plan: Plan, is_plain: bool, builder: Builder) -> None:
        self.plan, self.is_plain, self.builder = the_plan, is_plain, builder
        self.moved: dict[Key, bool] = {}

    def _act(self, n: int, early: bool, requests: Requests, sides: dict[int, Side]) -> None:
        for i, item in enumerate(self.plan.items):
            if not item.lives_in(n) or item.is_file or item.is_early[n] != early:
                continue
            kind, comm = kind_here(item.peer_kind, self.is_plain), comms()[item.comm]
            end = room_end if item.what == "send" else sent_end
            sides[i] = side = Side(end(item, i, n, kind), self.builder)
            PLAIN("Irecv" if item.what == "send" else "Isend", side.piece, 1, i, comm, requests.at(i))

    def round(self, n: int) -> None:
        requests, sides, tokens = Requests(len(self.plan.items)), {}, comms()["tokens"]
        if self.plan.rounds[n].posts_first:
            tokens.Recv(TOKEN, 1)
        self._act(n, True, requests, sides)
        tokens.Send(TOKEN, 1)
        tokens.Recv(TOKEN, 1)
        self._act(n, False, requests, sides)
        statuses = Statuses(requests.size)
        PLAIN("Waitall", requests.size, requests.handles, statuses.pointer)
        for i, side in sides.items():
            item = self.plan.items[i]
            if item.what == "send":
                payload = Image(sent_end(item, i, n, memory.HOST), self.builder).payload()
                self.moved[n, i] = bool((side.buffer.read() == side.after(payload)).all())
        tokens.Send(TOKEN, 1)
        tokens.Barrier()


# ---- rank 1: the set


class Handlers:
    """Error handlers that return, and remember."""

    def __init__(self) -> None:
        self.called: list[tuple[str, int]] = []
        self._all = {"world": MPI.COMM_WORLD, "self": MPI.COMM_SELF, "a": comms()["a"], "b": comms()["b"]}
        self._made = {name: MPI.Comm.Create_errhandler(partial(self._remember, name)) for name in self._all}

    def comm(self, name: str) -> MPI.Comm:
        return self._all[name]

    def _remember(self, name: str, _: MPI.Comm, code: int) -> None:
        self.called.append((name, MPI.Get_error_class(code)))

    @contextmanager
    def set(self) -> Iterator[None]:
        for name, comm in self._all.items():
            comm.Set_errhandler(self._made[name])
        try:
            yield
        finally:
            for comm in self._all.values():
                comm.Set_errhandler(MPI.ERRORS_RETURN)


@cache
def handlers() -> Handlers:
    """mpi4py can make only a few of them."""
    return Handlers()


def _filled(statuses: Statuses) -> Statuses:
    ctypes.memset(statuses.pointer, 0x11, ctypes.sizeof(statuses._memory))
    return statuses


def _error_in(status: MPI.Status) -> int:
    error = status.Get_error()
    return -1 if error == UNSET else MPI.Get_error_class(error)


class Set:
    def __init__(self, the_plan: Plan, is_plain: bool, builder: Builder, folder: str) -> None:
        self.plan, self.is_plain, self.builder = the_plan, is_plain, builder
        self.requests = Requests(len(the_plan.items))
        self.sides: dict[int, Side] = {}
        self.outcome = Outcome({}, {}, [])
        self.handlers = handlers()
        self.n, self.left = 0, set[int]()
        for i, item in enumerate(the_plan.items):
            if item.what == "null":
                continue
            end = room_end(item, i, 0, kind_here(item.kind, is_plain))
            self.sides[i] = spacious(end, builder, max(item.sent)) if item.what == "recv" else Side(end, builder)
        self.file = MPI.File.Open(MPI.COMM_SELF, f"{folder}/file", MPI.MODE_CREATE | MPI.MODE_RDWR)

    # -- start

    def _make(self, i: int, item: Item) -> None:
        side, at = self.sides[i], self.requests.at(i)
        if item.is_file:
            name = "File_iread_at" if item.what == "read" else "File_iwrite_at"
            arguments = (calls.handle(self.file), ctypes.c_int64(self._offset(i)), side.piece, at)  # type: ignore[arg-type]
            PLAIN(name, *arguments)
            return
        ways = ("Recv_init", "Irecv") if item.what == "recv" else ("Send_init", "Isend")
        PLAIN(ways[0 if item.persistent else 1], side.piece, 0, i, comms()[item.comm], at)

    def _offset(self, i: int) -> int:
        return 4_000_000 * i

    def _expected(self, i: int) -> Any:
        item = self.plan.items[i]
        return Image(sent_end(item, i, self.n, memory.HOST), self.builder).payload()

    def _refill(self, i: int, item: Item) -> None:
        side = self.sides[i]
        if item.what in ("send", "write"):  # what rank 0, or the file, is to have
            image = Image(sent_end(item, i, self.n, memory.HOST), self.builder)
            side.before = image.before
            side.buffer.write(side.before)
        else:
            side.refill(5000 + 10 * self.n + i)
        if item.what == "read":
            self.file.Write_at(self._offset(i), self._expected(i))

    def start(self) -> None:
        persistent = []
        for i, item in enumerate(self.plan.items):
            if not item.lives_in(self.n):
                continue
            self._refill(i, item)
            if not item.persistent or self.n == 0:
                self._make(i, item)
            if item.persistent:
                persistent.append(i)
            self.left.add(i)
        if self.plan.rounds[self.n].starts_together and persistent:
            together = Requests(len(persistent))
            for k, i in enumerate(persistent):
                together.handles[k] = self.requests.handles[i]
            PLAIN("Startall", together.size, together.handles)
        else:
            for i in persistent:
                PLAIN("Start", self.requests.at(i))

    def free(self) -> list[int]:
        freed = [i for i in self.left if self.plan.items[i].freed_in == self.n]
        for i in freed:
            PLAIN("Request_free", self.requests.at(i))
            self.left.discard(i)
        return freed

    # -- calls

    def _called(self, name: str, *arguments: object, of: int | None = None) -> int:
        """The error class of a call, though its error handler has returned and the library says success."""
        self.handlers.called.clear()
        try:
            PLAIN(name, *arguments)
            found = MPI.SUCCESS
        except MPI.Exception as error:
            found = error.Get_error_class()
        own = self.plan.items[of].comm if of is not None else ""
        for where, error_class in self.handlers.called:
            self.outcome.handlers.append((name, self._whose(where, own), error_class))
            found = found or error_class
        return int(found)

    @staticmethod
    def _whose(where: str, own: str) -> str:
        """The handler that a call tells of one request's error; of several, any of their communicators'."""
        return "own" if where == own else "of the set" if where in ("a", "b") else where

    def _tell(self, i: int, error: int, status: MPI.Status) -> None:
        if i not in self.left:
            return
        self.left.discard(i)
        self.outcome.told.setdefault((self.n, i), []).append(self._told(error, status))

    @staticmethod
    def _told(error: int, status: MPI.Status) -> Told:
        return Told(
            error, status.Get_source(), status.Get_tag(), status.Get_elements(MPI.BYTE) // 4, status.Is_cancelled()
        )

    def one(self, name: str, i: int) -> None:
        flag, statuses = ctypes.c_int(0), _filled(Statuses(1))
        middle = (ctypes.byref(flag),) if name == "Test" else ()
        error = self._called(name, self.requests.at(i), *middle, statuses.pointer, of=i)
        if name == "Wait" or flag.value or error:
            self._tell(i, error, statuses.at(0))

    def each(self, name: str) -> None:
        for i in sorted(self.left):
            self.one(name, i)

    def any(self, name: str) -> None:
        flag, index, statuses = ctypes.c_int(0), ctypes.c_int(MPI.UNDEFINED), _filled(Statuses(1))
        middle = (ctypes.byref(flag),) if name == "Testany" else ()
        error = self._called(
            name, self.requests.size, self.requests.handles, ctypes.byref(index), *middle, statuses.pointer
        )
        if index.value != MPI.UNDEFINED:
            self._tell(index.value, error, statuses.at(0))
        elif name == "Waitany" or flag.value:
            self.left.clear()  # all are inactive

    def all(self, name: str) -> None:
        flag, statuses = ctypes.c_int(1), _filled(Statuses(self.requests.size))
        middle = (ctypes.byref(flag),) if name == "Testall" else ()
        error = self._called(name, self.requests.size, self.requests.handles, *middle, statuses.pointer)
        if not error and not flag.value:
            return
        for i in range(self.requests.size):
            its = _error_in(statuses.at(i)) if error == MPI.ERR_IN_STATUS else error
            if its != MPI.ERR_PENDING:
                self._tell(i, its, statuses.at(i))

    def some(self, name: str) -> None:
        size = self.requests.size
        count, indices, statuses = ctypes.c_int(0), (ctypes.c_int * size)(), _filled(Statuses(size))
        error = self._called(name, size, self.requests.handles, ctypes.byref(count), indices, statuses.pointer)
        if count.value == MPI.UNDEFINED:
            self.left.clear()
            return
        for k in range(count.value):
            self._tell(indices[k], _error_in(statuses.at(k)) if error == MPI.ERR_IN_STATUS else error, statuses.at(k))

    def ask(self, name: str) -> bool:
        """True: the query says that all are complete."""
        size, flag, index = self.requests.size, ctypes.c_int(0), ctypes.c_int(0)
        statuses, indices = _filled(Statuses(size)), (ctypes.c_int * size)()
        if name == "Request_get_status":
            all_done = True
            for i in sorted(self.left):
                flag.value = 0
                error = self._called(name, self.requests.value(i), ctypes.byref(flag), statuses.pointer, of=i)
                all_done = all_done and bool(flag.value or error)
            return all_done
        last = {
            "Request_get_status_all": (ctypes.byref(flag), statuses.pointer),
            "Request_get_status_any": (ctypes.byref(index), ctypes.byref(flag), statuses.pointer),
            "Request_get_status_some": (ctypes.byref(index), indices, statuses.pointer),
        }[name]
        error = self._called(name, size, self.requests.handles, *last)
        return bool(error or flag.value or (name.endswith("some") and index.value != 0))

    def call(self, name: str) -> None:
        kinds: dict[str, Callable[[str], object]] = {
            "Wait": self.each, "Test": self.each, "Waitany": self.any, "Testany": self.any, "Waitall": self.all,
            "Testall": self.all, "Waitsome": self.some, "Testsome": self.some,
        }  # fmt: skip
        kinds.get(name, self.ask)(name)

    def _poll(self, step: Callable[[], bool], what: str, pause: float = 0.0) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not step():
            time.sleep(pause)
            assert time.monotonic() < end, f"round {self.n}: {what}, items {sorted(self.left)} are left"

    def complete(self, the_round: Round) -> None:
        if the_round.query and self.left:
            self._poll(lambda: self.ask(the_round.query), the_round.query, QUERY_SECONDS)

        def step() -> bool:
            if self.left:
                self.call(the_round.completion)
            return not self.left

        self._poll(step, the_round.completion)

    # -- results

    def _has_moved(self, i: int) -> bool:
        item, side = self.plan.items[i], self.sides[i]
        if item.what == "write":
            found = np.zeros(4 * item.room, np.uint8)
            self.file.Read_at(self._offset(i), found)
            return bool((found == self._expected(i)).all())
        contents = side.buffer.read()
        if item.what == "send":
            return bool((contents == side.before).all())
        return bool((contents == side.after(self._expected(i))).all())

    def _has_moved_soon(self, i: int) -> bool:
        """A request that is freed: its end is not told, and calls of MPI carry it on."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not self._has_moved(i) and time.monotonic() < end:
            comms()["tokens"].Iprobe()
        return self._has_moved(i)

    def check(self, freed: list[int]) -> None:
        for i, item in enumerate(self.plan.items):
            if item.lives_in(self.n) and not item.is_too_long(self.n):
                looked = self._has_moved_soon if i in freed else self._has_moved
                self.outcome.moved[self.n, i] = looked(i)

    def round(self, n: int) -> None:
        self.n, tokens, the_round = n, comms()["tokens"], self.plan.rounds[n]
        self.start()
        freed = self.free()
        if the_round.posts_first:
            tokens.Send(TOKEN, 0)
        tokens.Recv(TOKEN, 0)
        for name in the_round.before:
            if self.left:
                self.call(name)
        tokens.Send(TOKEN, 0)
        self.complete(the_round)
        self._end_plain()
        tokens.Recv(TOKEN, 0)
        self.check(freed)
        tokens.Barrier()

    def _end_plain(self) -> None:
        """An error told by MPI_Testall leaves some requests of MPICH behind."""
        status = MPI.Status()
        for i, item in enumerate(self.plan.items):
            if not item.persistent and not self.requests.is_null(i):
                self._called("Wait", self.requests.at(i), status)

    def close(self) -> None:
        for i in range(self.requests.size):
            if not self.requests.is_null(i):
                PLAIN("Request_free", self.requests.at(i))
        self.file.Close()


def _run(the_plan: Plan, is_plain: bool, builder: Builder) -> Outcome:
    if MPI.COMM_WORLD.rank == 0:
        others = OtherEnds(the_plan, is_plain, builder)
        for n in range(len(the_plan.rounds)):
            others.round(n)
        return Outcome({}, others.moved, [])
    with tempfile.TemporaryDirectory() as folder:
        its = Set(the_plan, is_plain, builder, folder)
        if the_plan.has_handler:
            with its.handlers.set():
                for n in range(len(the_plan.rounds)):
                    its.round(n)
        else:
            for n in range(len(the_plan.rounds)):
                its.round(n)
        its.close()
    return its.outcome


def run(the_plan: Plan, is_plain: bool) -> Outcome:
    """`is_plain`: all memory is the host's."""
    comms()
    with Builder() as builder:
        return _run(the_plan, is_plain, builder)
