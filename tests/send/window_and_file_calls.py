"""The calls of blocking_calls.py that use windows and files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

from mpi4py import MPI

Act = Callable[[], object]
FIRST, LAST = 0, 1  # ranks in `comm`: of the process that is waited for, and of the one that waits


def _window(use: Callable[[MPI.Win, int], object]) -> Callable[[MPI.Comm], Act]:
    def ready(comm: MPI.Comm) -> Act:
        window = MPI.Win.Create(bytearray(64), comm=comm)

        def act() -> None:
            use(window, comm.Get_rank())
            window.Free()

        return act

    return ready


def _peer_group(window: MPI.Win, rank: int) -> MPI.Group:
    return window.Get_group().Incl([1 - rank])


def _exposes(window: MPI.Win, rank: int) -> None:
    window.Post(_peer_group(window, rank))
    window.Wait()


def _accesses(window: MPI.Win, rank: int) -> None:
    window.Start(_peer_group(window, rank))
    window.Put(bytearray(4), 1 - rank)
    window.Complete()


def _locked(use: Callable[[MPI.Win], object]) -> Callable[[MPI.Comm], Act]:
    """FIRST holds its window's lock until LAST asks for it: LAST waits when it locks, or at its first access."""

    def ready(comm: MPI.Comm) -> Act:
        window = MPI.Win.Create(bytearray(64), comm=comm)
        holds = comm.Get_rank() == FIRST
        if holds:
            window.Lock(FIRST, MPI.LOCK_EXCLUSIVE)
        comm.Barrier()

        def act() -> None:
            if holds:
                window.Unlock(FIRST)
            else:
                use(window)
            window.Free()

        return act

    return ready


def _locks(flush: str = "Flush") -> Callable[[MPI.Comm], Act]:
    def use(window: MPI.Win) -> None:
        window.Lock(FIRST, MPI.LOCK_EXCLUSIVE)
        window.Put(bytearray(4), FIRST)
        getattr(window, flush)(FIRST)
        window.Unlock(FIRST)

    return _locked(use)


def _locks_all(flush: str = "Flush_all") -> Callable[[MPI.Comm], Act]:
    def use(window: MPI.Win) -> None:
        window.Lock_all()
        window.Put(bytearray(4), FIRST)
        getattr(window, flush)()
        window.Unlock_all()

    return _locked(use)


def _file(use: Callable[[MPI.File, int], object]) -> Callable[[MPI.Comm], Act]:
    def ready(comm: Any) -> Act:
        file = opened_file(comm)

        def act() -> None:
            use(file, comm.Get_rank())
            file.Close()

        return act

    return ready


def opened_file(comm: Any) -> MPI.File:
    """A new file of both ranks, which is deleted when it is closed."""
    name = comm.bcast(_new_file() if comm.Get_rank() == 0 else None)
    return MPI.File.Open(comm, name, MPI.MODE_RDWR | MPI.MODE_DELETE_ON_CLOSE)


def _new_file() -> str:
    descriptor, name = tempfile.mkstemp(prefix="tempi-test-")
    os.close(descriptor)
    return name


def _split_file_call(name: str, at: bool) -> Callable[[MPI.Comm], Act]:
    def use(file: MPI.File, rank: int) -> None:
        buffer = bytearray(8)
        getattr(file, f"{name}_begin")(*([8 * rank] if at else []), buffer)
        getattr(file, f"{name}_end")(buffer)

    return _file(use)


def file_calls() -> dict[str, Callable[[MPI.Comm], Act]]:
    calls: dict[str, Callable[[MPI.Comm], Act]] = {
        "File_open": lambda comm: lambda: opened_file(comm).Close(),
        "File_close": _file(lambda file, rank: None),
        "File_set_size": _file(lambda file, rank: file.Set_size(64)),
        "File_preallocate": _file(lambda file, rank: file.Preallocate(64)),
        "File_set_view": _file(lambda file, rank: file.Set_view(0, MPI.INT)),
        "File_set_info": _file(lambda file, rank: file.Set_info(MPI.Info.Create())),
        "File_set_atomicity": _file(lambda file, rank: file.Set_atomicity(True)),
        "File_sync": _file(lambda file, rank: file.Sync()),
        "File_seek_shared": _file(lambda file, rank: file.Seek_shared(0)),
    }
    for verb in ("read", "write"):
        for how, at in (("all", False), ("at_all", True), ("ordered", False)):
            name = f"{verb}_{how}".capitalize()
            calls[f"File_{verb}_{how}"] = _file(
                lambda file, rank, name=name, at=at: getattr(file, name)(*([8 * rank] if at else []), bytearray(8))
            )
            calls[f"File_{verb}_{how}_begin"] = calls[f"File_{verb}_{how}_end"] = _split_file_call(name, at)
    return calls


def window_calls() -> dict[str, Callable[[MPI.Comm], Act]]:
    return {
        "Win_create": lambda comm: lambda: MPI.Win.Create(bytearray(64), comm=comm).Free(),
        "Win_allocate": lambda comm: lambda: MPI.Win.Allocate(64, comm=comm).Free(),
        "Win_allocate_shared": lambda comm: lambda: MPI.Win.Allocate_shared(64, comm=comm).Free(),
        "Win_create_dynamic": lambda comm: lambda: MPI.Win.Create_dynamic(comm=comm).Free(),
        "Win_free": _window(lambda window, rank: None),
        "Win_fence": _window(lambda window, rank: window.Fence()),
        "Win_set_info": _window(lambda window, rank: window.Set_info(MPI.Info.Create())),
        "Win_wait": _window(lambda window, rank: (_exposes if rank == LAST else _accesses)(window, rank)),
        "Win_complete": _window(lambda window, rank: (_accesses if rank == LAST else _exposes)(window, rank)),
        "Win_lock": _locks(),
        "Win_unlock": _locks(),
        "Win_flush": _locks(),
        "Win_flush_local": _locks("Flush_local"),
        "Win_lock_all": _locks_all(),
        "Win_unlock_all": _locks_all(),
        "Win_flush_all": _locks_all(),
        "Win_flush_local_all": _locks_all("Flush_local_all"),
    }
