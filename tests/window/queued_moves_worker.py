"""MPI_Put and MPI_Get whose kernels share launches."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from mpi4py import MPI
from window_calls import COMM, Memory, read, rma, window_of

from support import equal, error_handlers, outcomes
from support.memory import at_hand
from support.p2p import PLAIN, Piece

ROWS, CELLS = 26, 64  # of int32, in each rank's part
TAKEN = 16  # cells of a row that move: every third one, to or from every fourth one
INTS = np.dtype(np.int32)

Told = Callable[[], AbstractContextManager[None]]


def epoch(sync: str, win: MPI.Win, accesses: Callable[[], None], told: Told = nullcontext) -> None:
    """Makes the accesses to the neighbours, and completes them. The errors of these calls go through told()."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    right, both = (me + 1) % size, COMM.Get_group().Incl(sorted({(me - 1) % size, (me + 1) % size}))
    if sync == "fence":
        win.Fence(0)
        with told():
            accesses()
            win.Fence(0)
    elif sync == "start":
        win.Post(both)
        win.Start(both)
        with told():
            accesses()
            win.Complete()
        win.Wait()
    elif sync == "lock":
        COMM.Barrier()
        win.Lock(right, MPI.LOCK_SHARED)
        with told():
            accesses()
            win.Unlock(right)
        COMM.Barrier()
    else:
        COMM.Barrier()
        win.Lock_all()
        with told():
            accesses()
            if sync != "unlock all":
                getattr(win, sync)(*(() if sync.endswith("all") else (right,)))
        COMM.Barrier()
        with told():
            win.Unlock_all()
        COMM.Barrier()


def _vector(step: int) -> MPI.Datatype:
    return MPI.INT.Create_vector(TAKEN, 1, step).Commit()


def _rows(name: str, win: MPI.Win, mine: Any) -> None:
    """One access for each row to the part of the next rank. The datatypes are freed at once."""
    for row in range(ROWS):
        here, there = _vector(3), _vector(4)
        piece = Piece(mine.address + row * CELLS * INTS.itemsize, 1, here)
        rma(PLAIN, name, win, piece, (COMM.Get_rank() + 1) % COMM.Get_size(), row * CELLS, (1, there))
        here.Free()
        there.Free()


def _numbers(turn: int, rank: int) -> Any:
    return np.arange(ROWS * CELLS, dtype=INTS).reshape(ROWS, CELLS) + 10_000 * (rank + 10 * turn)


def launches(name: str, sync: str, turns: int) -> list[int]:
    """Kernel launches of each epoch. Every byte is checked."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    found = []
    with window_of("device", _numbers(0, me), INTS.itemsize) as (win, part):
        mine = at_hand("device", np.zeros(ROWS * CELLS * INTS.itemsize, np.uint8))
        for turn in range(1, turns + 1):
            for buffer, rank in ((mine, me), (part, 5 + me)):
                buffer.write(_numbers(turn, rank).view(np.uint8).ravel())
            before = outcomes.rows()
            epoch(sync, win, lambda: _rows(name, win, mine))
            found.append((outcomes.rows() - before)[outcomes.LAUNCHES])
            if name == "Put":
                target, expected, to, of = part, _numbers(turn, 5 + me), 4, 3
                origin = _numbers(turn, (me - 1) % size)
            else:
                target, expected, to, of = mine, _numbers(turn, me), 3, 4
                origin = _numbers(turn, 5 + (me + 1) % size)
            expected[:, : to * TAKEN : to] = origin[:, : of * TAKEN : of]
            equal.check(read(target, INTS).reshape(ROWS, CELLS), expected)
            COMM.Barrier()
    return found


def before_the_flush(n_bytes: int, n_accesses: int) -> int:
    """Kernel launches of MPI_Put, each of two blocks of `n_bytes` / 2 bytes, before they are completed. Every byte is
    checked."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    contents = np.arange(n_bytes * n_accesses * 2, dtype=np.uint32).astype(np.uint8)
    memory = Memory("device", np.zeros(n_bytes * n_accesses, np.uint8))
    win, mine = memory.window(), at_hand("device", contents)
    blocks = MPI.BYTE.Create_vector(2, n_bytes // 2, n_bytes).Commit()
    win.Lock_all()
    before = outcomes.rows()
    for at in range(0, memory.n_bytes, n_bytes):
        rma(PLAIN, "Put", win, Piece(mine.address + 2 * at, 1, blocks), (me + 1) % size, at, (n_bytes, MPI.BYTE))
    found = (outcomes.rows() - before)[outcomes.LAUNCHES]
    win.Flush_all()
    COMM.Barrier()
    win.Unlock_all()
    equal.check(memory.read(), contents.reshape(-1, n_bytes // 2)[::2].ravel())
    blocks.Free()
    win.Free()
    return found


def requests() -> None:
    """MPI_Wait completes MPI_Rget without a flush. Accesses without a request share its launch."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    with window_of("device", np.arange(8, dtype=INTS) + 10 * me, INTS.itemsize) as (win, _):
        mine = at_hand("device", np.zeros(8 * INTS.itemsize, np.uint8))
        right = (me + 1) % size
        win.Lock_all()
        for turn in range(3):
            rma(PLAIN, "Get", win, Piece(mine.address, 2, MPI.INT), right, turn, (2, MPI.INT))
            request = rma(PLAIN, "Rget", win, Piece(mine.address + 16, 2, MPI.INT), right, turn + 2, (2, MPI.INT))
            assert request
            PLAIN("Wait", request.at(0), MPI.Status())
            assert read(mine)[4:6].tolist() == [10 * right + turn + 2, 10 * right + turn + 3]
            win.Flush_local(right)
            assert read(mine)[:2].tolist() == [10 * right + turn, 10 * right + turn + 1]
        win.Unlock_all()
        COMM.Barrier()


def threads(n_threads: int, turns: int) -> None:
    """A flush completes the accesses of its own thread, whatever other threads flush."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    bytes_each = 256
    with window_of("device", np.zeros(n_threads * bytes_each, np.uint8)) as (win, _):
        win.Lock_all()

        def put_and_get(thread: int) -> None:
            out, back = (at_hand("device", np.zeros(bytes_each, np.uint8)) for _ in range(2))
            right, at, there = (me + 1) % size, thread * bytes_each, (bytes_each, MPI.BYTE)
            for turn in range(turns):
                out.write(np.full(bytes_each, turn + thread, np.uint8))
                rma(PLAIN, "Put", win, Piece(out.address, bytes_each, MPI.BYTE), right, at, there)
                win.Flush(right)
                rma(PLAIN, "Get", win, Piece(back.address, bytes_each, MPI.BYTE), right, at, there)
                win.Flush_local(right)
                equal.check(back.read(), np.full(bytes_each, turn + thread, np.uint8))

        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(put_and_get, range(n_threads)))
        COMM.Barrier()
        win.Unlock_all()


def failures(sync: str) -> tuple[list[error_handlers.Told], bool]:
    """What the window's handler and the program are told in three epochs, and whether the bytes of the last one are
    there. No rank waits for ever."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    with (
        window_of("device", np.zeros((ROWS, CELLS), INTS), INTS.itemsize) as (win, part),
        error_handlers.Handlers() as handlers,
    ):
        mine = at_hand("device", _numbers(0, me).view(np.uint8).ravel())
        handlers.watch(win)
        for _ in range(3):
            epoch(sync, win, lambda: _rows("Put", win, mine), handlers.recorded)
        COMM.Barrier()
        expected = _numbers(0, (me - 1) % size)[:, : 3 * TAKEN : 3]
        is_there = bool((read(part, INTS).reshape(ROWS, CELLS)[:, : 4 * TAKEN : 4] == expected).all())
        return list(handlers.told), is_there
