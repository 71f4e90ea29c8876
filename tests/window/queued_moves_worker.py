"""MPI_Put and MPI_Get whose kernels share launches."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from mpi4py import MPI
from window_calls import COMM, Attached, Memory, ints, read, rma, window_of

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
    """MPI_Wait completes MPI_Rget without a flush, also between accesses without a request."""
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


def random_sets(seed: int, turns: int) -> None:
    """Random accesses to random ranks, which are repeated with other bytes: all bytes of all buffers are checked."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    drawn = random.Random(seed)  # the same on all ranks
    slots = [(rank, slot) for rank in range(size) for slot in range(12)]  # of 64 bytes, in each part and each buffer
    accesses = [
        (name, origin, own, target, slot, drawn.choice([1, 2, 4, 8]), drawn.randint(1, 4))
        for (origin, own), (target, slot) in zip(slots, drawn.sample(slots, len(slots)), strict=True)
        for name in [drawn.choice(["Put", "Get", "nothing"])]
    ]
    contents = [[np.zeros(12 * 64, np.uint8) for _ in range(size)] for _ in range(2)]
    parts, buffers = contents
    with window_of("device", parts[me]) as (win, part):
        mine = at_hand("device", buffers[me])
        for turn in range(turns):
            values = np.random.default_rng(seed + turn)
            for of in (parts, buffers):
                of[:] = [values.integers(0, 256, 12 * 64, np.uint8) for _ in range(size)]
            part.write(parts[me])
            mine.write(buffers[me])
            win.Fence(0)
            for name, origin, own, target, slot, width, n in accesses:
                step = 2 * width
                cells = (np.arange(n)[:, None] * step + np.arange(width)).ravel()
                if name == "Put":
                    parts[target][slot * 64 + cells] = buffers[origin][own * 64 + np.arange(n * width)]
                elif name == "Get":
                    buffers[origin][own * 64 + np.arange(n * width)] = parts[target][slot * 64 + cells]
                if name == "nothing" or origin != me:
                    continue
                there = MPI.BYTE.Create_vector(n, width, step).Commit()
                piece = Piece(mine.address + own * 64, n * width, MPI.BYTE)
                rma(PLAIN, name, win, piece, target, slot * 64, (1, there))
                there.Free()
            win.Fence(0)
            equal.check(part.read(), parts[me])
            equal.check(mine.read(), buffers[me])
            COMM.Barrier()


def gets_of_host_memory(sync: str) -> list[error_handlers.Told]:
    """A move fails, and the same call completes MPI_Get from host memory: its bytes are there, and are never written
    again. What the window's handler and the program are told."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    memory = Attached(("device", "host"), np.arange(128, dtype=INTS).view(np.uint8))
    win = memory.window()
    (on_gpu, _), (on_host, _) = COMM.allgather(memory.ranges)[(me + 1) % size]
    got, into = ints("device", [-1] * 4)
    _, sent = ints("device", [1, 2])
    rows = MPI.INT.Create_vector(2, 1, 2).Commit()

    def accesses() -> None:
        rma(PLAIN, "Get", win, into, (me + 1) % size, on_host, (4, MPI.INT))
        rma(PLAIN, "Put", win, sent, (me + 1) % size, on_gpu, (1, rows))

    with error_handlers.Handlers() as handlers:
        handlers.watch(win)
        epoch(sync, win, accesses, handlers.recorded)
        assert read(got).tolist() == [64, 65, 66, 67]
        got.write(np.full(4, 555, INTS).view(np.uint8))
        epoch(sync, win, lambda: None)
        assert read(got).tolist() == [555] * 4
        told = list(handlers.told)
    rows.Free()
    memory.detach(win)
    win.Free()
    return told


def failure_behind_another_error() -> list[error_handlers.Told]:
    """A flush of a rank that is not locked; then the unlock tells the failure of the move."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    with window_of("device", np.zeros(64, INTS), INTS.itemsize) as (win, _), error_handlers.Handlers() as handlers:
        handlers.watch(win)
        _, sent = ints("device", [1, 2])
        rows = MPI.INT.Create_vector(2, 1, 2).Commit()
        win.Lock((me + 1) % size, MPI.LOCK_SHARED)
        rma(PLAIN, "Put", win, sent, (me + 1) % size, 0, (1, rows))
        for call in (lambda: win.Flush(me), lambda: win.Unlock((me + 1) % size)):
            with handlers.recorded():
                call()
        rows.Free()
        COMM.Barrier()
        return list(handlers.told)
