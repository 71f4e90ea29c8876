"""Programs that drop a HaloExchange between its start and its finish."""

from __future__ import annotations

import gc
import weakref

import numpy as np
from mpi4py import MPI

import tempi
from support.memory import on_real_gpu

COMM = MPI.COMM_WORLD


class Interrupted(Exception):
    pass


def new_array(kind: str, n: int, value: int):
    values = np.full((n, n), value, np.int64)
    if kind == "host":
        return values
    if on_real_gpu():
        import cupy

        return cupy.asarray(values)
    from tempi.testing import FakeArray

    return FakeArray.from_numpy(values)


def contents_of(array) -> np.ndarray:
    if on_real_gpu() and not isinstance(array, np.ndarray):
        return array.get()
    return array if isinstance(array, np.ndarray) else array.to_numpy()


def exchange_of(array) -> tempi.HaloExchange:
    return tempi.HaloExchange(COMM, array, dims=(COMM.size, 1), periods=True)


def interrupted_exchange(kind: str, n: int, inside_with: bool) -> weakref.ref[object]:
    """Starts, and raises before it finishes."""
    array = new_array(kind, n, COMM.rank)
    exchange = exchange_of(array)
    try:
        if inside_with:
            with exchange:
                exchange.start()
                raise Interrupted
        exchange.start()
        raise Interrupted
    except Interrupted:
        return weakref.ref(array)


def one_rank_drops(kind: str, n: int, inside_with: bool) -> None:
    """Rank 0 drops its exchange and uses the memory again before the others start theirs."""
    if COMM.rank == 0:
        watched = interrupted_exchange(kind, n, inside_with)
        gc.collect()
        others = [new_array(kind, n, -1) for _ in range(8)]
        COMM.Barrier()
        finish_on_others(None)
        assert watched() is not None
        for other in others:
            assert (contents_of(other) == -1).all(), "a message was written into another array"
    else:
        array = new_array(kind, n, COMM.rank)
        exchange = exchange_of(array)
        COMM.Barrier()
        finish_on_others(exchange)
        check_ghost_cells(array)
    exchange_of(new_array(kind, 8, 0)).free()
    gc.collect()
    if COMM.rank == 0:
        assert watched() is None, "an exchange whose messages are done is kept alive"


def finish_on_others(exchange: tempi.HaloExchange | None) -> None:
    if exchange:
        exchange()
    COMM.Barrier()


def check_ghost_cells(array) -> None:
    found = contents_of(array)
    assert (found[1:-1] == COMM.rank).all()
    assert (found[0] == (COMM.rank - 1) % COMM.size).all()
    assert (found[-1] == (COMM.rank + 1) % COMM.size).all()


def all_drop(kind: str, n: int) -> None:
    """All ranks, again and again."""
    for _ in range(5):
        interrupted_exchange(kind, n, False)
        gc.collect()
        other = new_array(kind, n, -1)
        COMM.Barrier()
        assert (contents_of(other) == -1).all()
