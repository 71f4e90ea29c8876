"""MPI_Win_allocate of GPU memory, and MPI_Win_shared_query."""

from __future__ import annotations

import ctypes

import numpy as np
from mpi4py import MPI
from window_calls import COMM, ints, read, rma

from support import calls
from support.p2p import PLAIN


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
        assert read(got).tolist() == expected
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
