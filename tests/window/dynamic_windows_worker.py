"""Dynamic windows: cases that are written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI
from window_calls import COMM, Attached, ints, read, rma

from support.error_handlers import Handlers, Told
from support.memory import at_hand
from support.p2p import PLAIN


def exclusive_updates(kinds: tuple[str, str], n: int) -> None:
    """Under the lock of rank 0, each rank adds one to both halves: of host and of GPU memory, they are always equal."""
    me = COMM.Get_rank()
    memory = Attached(kinds, np.zeros(2 * 64, np.int32).view(np.uint8))
    win = memory.window()
    ranges = COMM.bcast(memory.ranges)
    halves = [ints("device" if me % 2 else "host", [0] * 64) for _ in range(2)]
    for i in range(n):
        shares = (i + me) % 3 == 2
        win.Lock(0, MPI.LOCK_SHARED if shares else MPI.LOCK_EXCLUSIVE)
        for (_, piece), (address, _) in zip(halves, ranges, strict=True):
            rma(PLAIN, "Get", win, piece, 0, address, (64, MPI.INT))
        win.Flush(0)
        values = [read(buffer) for buffer, _ in halves]
        assert (np.concatenate(values) == values[0][0]).all()
        if not shares:
            for (buffer, piece), (address, _) in zip(halves, ranges, strict=True):
                buffer.write((values[0] + 1).view(np.uint8))
                rma(PLAIN, "Put", win, piece, 0, address, (64, MPI.INT))
        win.Unlock(0)
    COMM.Barrier()
    n_updates = sum(1 for rank in range(COMM.Get_size()) for i in range(n) if (i + rank) % 3 != 2)
    if me == 0:
        assert memory.read().view(np.int32).tolist() == [n_updates] * 128
    COMM.Barrier()
    memory.detach(win)
    win.Free()


def attached_again(n: int) -> None:
    """Memory that is attached, detached and freed while the window lives, some of it at addresses of earlier memory."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    win = MPI.Win.Create_dynamic(comm=COMM)
    for i in range(n):
        kinds = [("device", "device"), ("device", "host"), ("managed", "device")][i % 3]
        memory = Attached(kinds, np.zeros(64 + 8 * (i % 5), np.uint8))
        for address, n_bytes in memory.ranges:
            win.Attach(MPI.memory.fromaddress(address, n_bytes))
        all_ranges = COMM.allgather(memory.ranges)
        sent, piece = ints("device" if i % 2 else "host", [i, me])
        peer = (me + 1) % size
        win.Lock_all()
        for address, _ in all_ranges[peer]:
            rma(PLAIN, "Put", win, piece, peer, address + 8, (2, MPI.INT))
        win.Unlock_all()
        COMM.Barrier()
        assert read(sent).tolist() == [i, me]
        for half in np.split(memory.read().view(np.int32), 2):
            assert half[2:4].tolist() == [i, (me - 1) % size]
        memory.detach(win)
        COMM.Barrier()
    win.Free()


def linked_list(n: int) -> list[int]:
    """The elements of a list on GPUs are attached one by one, and lie on all ranks in turn. Returns the values that
    this rank has found on its way along the list."""
    me, size = COMM.Get_rank(), COMM.Get_size()
    win = MPI.Win.Create_dynamic(comm=COMM)
    elements = [at_hand("device", np.zeros(3, np.int64).view(np.uint8)) for _ in range(n)]
    for one in elements:
        win.Attach(MPI.memory.fromaddress(one.address, 24))
    places = COMM.allgather([one.address for one in elements])
    order = [(rank, place) for i in range(n) for rank, place in ((rank, places[rank][i]) for rank in range(size))]
    for i, one in enumerate(elements):
        at = i * size + me
        following = order[at + 1] if at + 1 < len(order) else (-1, 0)
        one.write(np.array([10 * at, *following], np.int64).view(np.uint8))
    COMM.Barrier()
    found, (rank, place) = [], order[0]
    result, piece = ints("device", [0] * 6)
    while rank >= 0:
        win.Lock(rank, MPI.LOCK_SHARED)
        rma(PLAIN, "Get", win, piece, rank, place, (6, MPI.INT))
        win.Unlock(rank)
        value, rank, place = (int(one) for one in read(result, np.int64))
        found.append(value)
    COMM.Barrier()
    win.Free()
    return found


def errors() -> dict[str, list[Told]]:
    """What the window's error handler and the program are told. Nothing is written."""
    found: dict[str, list[Told]] = {}
    before = np.arange(16, dtype=np.int32)
    memory = Attached(("device", "device"), before.view(np.uint8))
    win = memory.window()
    (first, n_bytes), _ = COMM.allgather(memory.ranges)[1 - COMM.Get_rank()]
    _sent, piece = ints("device", [70, 80])
    cases: dict[str, Any] = {
        "beyond": lambda: rma(PLAIN, "Put", win, piece, 1 - COMM.Get_rank(), first + n_bytes - 4, (2, MPI.INT)),
        "before": lambda: rma(PLAIN, "Put", win, piece, 1 - COMM.Get_rank(), first - 4, (2, MPI.INT)),
        "locked": lambda: win.Lock(0),
    }
    with Handlers() as handlers:
        handlers.watch(win)
        win.Lock(0)
        win.Lock(1, MPI.LOCK_SHARED) if COMM.Get_rank() == 0 else None
        for case, call in cases.items():
            if case != "locked" and COMM.Get_rank() == 1:
                continue
            handlers.told.clear()
            with handlers.recorded():
                call()
            found[case] = list(handlers.told)
        win.Unlock(1) if COMM.Get_rank() == 0 else None
        win.Unlock(0)
    COMM.Barrier()
    assert memory.read().view(np.int32).tolist() == before.tolist()
    memory.detach(win)
    win.Free()
    return found


def too_many(n: int) -> list[Told]:
    """One range of a GPU allocation more than TEMPI has room for; then one is detached, and there is room."""
    memory = at_hand("device", np.zeros(8 * (n + 1), np.uint8))
    win = MPI.Win.Create_dynamic(comm=COMM)
    ranges = [MPI.memory.fromaddress(memory.address + 8 * i, 8) for i in range(n + 1)]
    for one in ranges[:n]:
        win.Attach(one)
    with Handlers() as handlers:
        handlers.watch(win)
        with handlers.recorded():
            win.Attach(ranges[n])
        told = list(handlers.told)
    win.Detach(ranges[0])
    win.Attach(ranges[n])
    win.Free()
    return told


def attach_is_refused(kind: str) -> list[Told]:
    """Where the processes cannot share GPU memory. Host memory is attached."""
    memory = at_hand(kind, np.zeros(64, np.uint8))
    host, piece = ints("host", [1, 2])
    win = MPI.Win.Create_dynamic(comm=COMM)
    with Handlers() as handlers:
        handlers.watch(win)
        with handlers.recorded():
            win.Attach(MPI.memory.fromaddress(memory.address, 64))
        told = list(handlers.told)
    own, _ = ints("host", [0, 0])
    win.Attach(MPI.memory.fromaddress(own.address, 8))
    peer = 1 - COMM.Get_rank()
    address = COMM.allgather(own.address)[peer]
    win.Lock_all()
    rma(PLAIN, "Put", win, piece, peer, address, (2, MPI.INT))
    win.Unlock_all()
    COMM.Barrier()
    assert read(own).tolist() == read(host).tolist()
    win.Free()
    return told
