"""One-sided calls of two ranks with buffers of the origin in memory of any kind."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

from support import constructors as c
from support import equal
from support.building import Builder
from support.error_handlers import Handlers, Told
from support.messages import End, Side
from support.one_sided import N_INTS, OF_ONE_ELEMENT, Access, access, exposed, made_window
from support.p2p import FORMS, PLAIN, Piece
from support.typemap import Bytes, Named, Spec

INT = Named("INT")
NOTHING = Piece(0, 5, MPI.DATATYPE_NULL)


def _spec(name: str, contiguous: bool = True) -> Spec:
    return INT if name in OF_ONE_ELEMENT or contiguous else c.Vector(N_INTS // 2, 1, 3, INT)


def _count(name: str, contiguous: bool = True) -> int:
    return 1 if name in OF_ONE_ELEMENT else N_INTS if contiguous else 2


def _theirs(name: str) -> Bytes:
    peer = 1 - MPI.COMM_WORLD.Get_rank()
    memory = np.arange(N_INTS, dtype=np.int32) + 1000 * (1 + peer)
    return memory[: _count(name)].view(np.uint8)


def fetches_with_no_op(kind: str, name: str, has_origin: bool) -> None:
    """With MPI_NO_OP the origin's buffer, count and datatype mean nothing."""
    me = MPI.COMM_WORLD.Get_rank()
    for form in FORMS:
        with exposed() as (win, memory), Builder() as builder:
            result = Side(End(kind, _spec(name), _count(name), seed=me), builder)
            origin = Side(End(kind, _spec(name), _count(name), seed=7), builder)
            before = memory.copy()
            MPI.COMM_WORLD.Barrier()
            win.Lock(1 - me)
            given = Access(win, 1 - me, origin.piece if has_origin else NOTHING, result.piece, MPI.NO_OP)
            if request := access(form, name, given):
                form("Wait", request.at(0), MPI.Status())
            win.Unlock(1 - me)
            result.check_received(_theirs(name))
            origin.check_untouched()
            MPI.COMM_WORLD.Barrier()
            equal.check(memory, before)


def accesses_to_nobody(kind: str, name: str) -> None:
    """An access to MPI_PROC_NULL touches no buffer."""
    with exposed() as (win, _), Builder() as builder:
        origin, result = (Side(End(kind, _spec(name), _count(name), seed=seed), builder) for seed in (1, 2))
        win.Lock_all()
        if request := access(PLAIN, name, Access(win, MPI.PROC_NULL, origin.piece, result.piece)):
            PLAIN("Wait", request.at(0), MPI.Status())
        win.Unlock_all()
        origin.check_untouched()
        result.check_untouched()


COMPLETIONS: dict[str, Callable[[MPI.Win, int], None]] = {
    "flush": lambda win, peer: win.Flush(peer),
    "flush_local": lambda win, peer: win.Flush_local(peer),
    "flush_all": lambda win, _: win.Flush_all(),
    "flush_local_all": lambda win, _: win.Flush_local_all(),
    "unlock": lambda win, peer: win.Unlock(peer),
    "unlock_all": lambda win, _: win.Unlock_all(),
}


def bytes_before_the_wait(kind: str, name: str, completion: str, contiguous: bool) -> None:
    """The call that completes the access brings the bytes. The wait for its request leaves the buffer alone."""
    me = MPI.COMM_WORLD.Get_rank()
    locks_one = completion == "unlock"
    with exposed() as (win, _), Builder() as builder:
        result = Side(End(kind, _spec(name, contiguous), _count(name, contiguous), seed=me), builder)
        MPI.COMM_WORLD.Barrier()
        win.Lock(1 - me) if locks_one else win.Lock_all()
        request = access(PLAIN, name, Access(win, 1 - me, NOTHING, result.piece, MPI.NO_OP))
        assert request
        COMPLETIONS[completion](win, 1 - me)
        result.check_received(_theirs(name))
        result.refill(me + 3)
        PLAIN("Wait", request.at(0), MPI.Status())
        assert request.is_null()
        result.check_untouched()
        if not completion.startswith("unlock"):
            win.Unlock_all()


def flushes_beside_waits(kind: str, rounds: int) -> None:
    """One thread waits for its requests, another one flushes the window: each wait returns with the bytes there."""
    me = MPI.COMM_WORLD.Get_rank()
    with exposed() as (win, _), Builder() as builder:
        sides = [Side(End(kind, INT, N_INTS, seed=i), builder) for i in range(4)]
        MPI.COMM_WORLD.Barrier()
        win.Lock_all()
        is_over = threading.Event()

        def flush() -> None:
            while not is_over.is_set():
                win.Flush_local_all()

        flusher = threading.Thread(target=flush)
        flusher.start()
        try:
            for i in range(rounds):
                requests = []
                for side in sides:
                    side.refill(i)
                    requests.append(access(PLAIN, "Rget", Access(win, 1 - me, NOTHING, side.piece)))
                for request, side in zip(requests, sides, strict=True):
                    assert request
                    PLAIN("Wait", request.at(0), MPI.Status())
                    side.check_received(_theirs("Rget"))
        finally:
            is_over.set()
            flusher.join()
        win.Unlock_all()


# ---- errors


def errors(kind: str, name: str) -> list[list[Told]]:
    """What error handlers, and the program, are told of wrong datatypes of the origin, by case."""
    me = MPI.COMM_WORLD.Get_rank()
    found = []
    with exposed() as (win, _), Builder() as builder, Handlers() as handlers:
        side, others = (Side(End(kind, INT, N_INTS, seed=seed), builder) for seed in (1, 2))
        win.Lock_all()
        handlers.watch(win)
        for wrong in (MPI.DATATYPE_NULL, MPI.INT.Create_contiguous(1)):  # the latter is not committed
            for origin, result in ((wrong, wrong), (MPI.INT, wrong), (wrong, MPI.INT)):
                pieces = [Piece(one.piece.address, N_INTS, of) for one, of in ((side, origin), (others, result))]
                handlers.told.clear()
                with handlers.recorded():
                    if request := access(PLAIN, name, Access(win, 1 - me, *pieces)):
                        PLAIN("Wait", request.at(0), MPI.Status())
                found.append(handlers.told.copy())
        win.Unlock_all()
    return found


def makes_windows(kinds: tuple[str, ...]) -> list[str]:
    """Makes two windows over memory of the rank's kind, and frees what there is. The texts of the errors."""
    world = MPI.COMM_WORLD
    texts = []
    with Builder() as builder:
        kind = kinds[world.Get_rank()]
        side = Side(End(kind, INT, N_INTS, seed=world.Get_rank()), builder) if kind else None
        address, n_bytes = (side.piece.address, 4 * N_INTS) if side else (0, 0)
        for comm in (world, world.Split(0, -world.Get_rank())):
            window, text = made_window(address, n_bytes, comm)
            texts.append(text)
            if window != MPI.WIN_NULL:
                window.Free()
        if side:
            side.check_untouched()
    world.Barrier()
    return texts


def puts_into_a_refused_window(kinds: tuple[str, ...]) -> str:
    """The rank with GPU memory is refused. The others have a window, into all of which they may write."""
    world = MPI.COMM_WORLD
    me = world.Get_rank()
    with Builder() as builder:
        side = Side(End(kinds[me], INT, N_INTS, seed=me), builder)
        window, text = made_window(side.piece.address, 4 * N_INTS, world)
        window.Fence()
        access(PLAIN, "Put", Access(window, 1 - me, Side(End("host", INT, N_INTS, seed=9), builder).piece, NOTHING))
        window.Fence()
        window.Free()
        if kinds[me] == "device":
            side.check_untouched()
    return text
