"""Large blocks with gaps, in host memory on some ranks and in GPU memory on others."""

from __future__ import annotations

from typing import Any

import numpy as np
from by_messages_worker import filled, ints, spec
from mpi4py import MPI

from support import equal

N = 20_000  # elements a block: two ints of data, a gap of two
TILE = 100  # ints: a tile has over 32 KiB


def _values(rank: int, n_blocks: int) -> np.ndarray:
    return (np.arange(n_blocks * N * 4) + 10_000_000 * rank).astype("i4")


def _expected(before: np.ndarray, blocks: list[np.ndarray]) -> np.ndarray:
    after = before.copy().reshape(len(blocks), N, 4)
    for mine, theirs in zip(after, blocks, strict=True):
        mine[:, ::2] = theirs.reshape(N, 4)[:, ::2]
    return after.ravel()


class Buffers:
    def __init__(self, kinds: dict[int, str]) -> None:
        self.comm = MPI.COMM_WORLD
        self.rank, self.size = self.comm.rank, self.comm.size
        self.element = MPI.INT.Create_vector(2, 1, 2).Create_resized(0, 16).Commit()
        self.kind = kind = kinds.get(self.rank, "device")
        self.before = _values(self.rank + 100, self.size)
        self.out, self.into = filled(_values(self.rank, self.size), kind), filled(self.before, kind)

    def one(self, buffer: Any) -> list[Any]:
        return spec(buffer, N, self.element)

    def several(self, buffer: Any) -> list[Any]:
        return spec(buffer, ([N] * self.size, [N * i for i in range(self.size)]), self.element)

    def check(self, blocks: list[np.ndarray]) -> None:
        equal.check(ints(self.into), _expected(self.before, blocks))


def _own(of: Buffers) -> list[np.ndarray]:
    """The first block of each rank."""
    return [_values(rank, of.size)[: 4 * N] for rank in range(of.size)]


def allgather(of: Buffers) -> None:
    of.comm.Allgather(of.one(of.out), of.one(of.into))
    of.check(_own(of))


def allgatherv(of: Buffers) -> None:
    of.comm.Allgatherv(of.one(of.out), of.several(of.into))
    of.check(_own(of))


def iallgatherv(of: Buffers) -> None:
    of.comm.Iallgatherv(of.one(of.out), of.several(of.into)).Wait()
    of.check(_own(of))


def allgatherv_in_place(of: Buffers) -> None:
    of.comm.Allgatherv(MPI.IN_PLACE, of.several(of.into))
    of.check([_values(rank + 100, of.size).reshape(of.size, -1)[rank] for rank in range(of.size)])


def alltoallv(of: Buffers) -> None:
    of.comm.Alltoallv(of.several(of.out), of.several(of.into))
    of.check([_values(rank, of.size).reshape(of.size, -1)[of.rank] for rank in range(of.size)])


def bcast(of: Buffers) -> None:
    of.comm.Bcast(of.several(of.into)[:1] + [N * of.size, of.element], 0)
    of.check(list(_values(100, of.size).reshape(of.size, -1)))


def tiles(of: Buffers) -> None:
    """Blocks of a matrix whose datatype is narrower than its data: those of a row of blocks lie between each other."""
    _gather_tiles(of, False)


def tiles_in_place(of: Buffers) -> None:
    _gather_tiles(of, True)


def _gather_tiles(of: Buffers, is_in_place: bool) -> None:
    """Rank r has the r-th tile of a row of tiles; each is TILE x TILE ints, of extent TILE ints."""
    width = of.size * TILE
    tile = MPI.INT.Create_vector(TILE, TILE, width).Create_resized(0, 4 * TILE).Commit()
    before, theirs = _values(of.rank + 100, 1)[: TILE * width], _values(of.rank, 1)[: TILE * width]
    of.into = filled(theirs if is_in_place else before, of.kind)
    of.out = filled(theirs, of.kind)
    sent = MPI.IN_PLACE if is_in_place else spec(of.out, 1, tile)
    of.comm.Allgatherv(sent, spec(of.into, ([1] * of.size, list(range(of.size))), tile))
    matrix = np.empty((TILE, width), "i4")
    for rank in range(of.size):
        first = rank * TILE if is_in_place else 0
        whole = _values(rank, 1)[: TILE * width].reshape(TILE, width)
        matrix[:, rank * TILE : (rank + 1) * TILE] = whole[:, first : first + TILE]
    equal.check(ints(of.into), matrix.ravel())
    tile.Free()


_ALL = (allgather, allgatherv, iallgatherv, allgatherv_in_place, alltoallv, bcast, tiles, tiles_in_place)
CALLS = {one.__name__: one for one in _ALL}


def call(name: str, kinds: dict[int, str]) -> bool:
    of = Buffers(kinds)
    CALLS[name](of)
    of.element.Free()
    return True


def nothing_from_one_rank(kinds: dict[int, str], sizes: list[int]) -> list[int]:
    """MPI_Allgatherv to which rank 1 contributes nothing, and says so by bytes where the others send ints."""
    comm = MPI.COMM_WORLD
    for n in sizes:
        counts = [0 if rank == 1 else n for rank in range(comm.size)]
        values = [np.full(count, 1 + rank) for rank, count in enumerate(counts)]
        kind = kinds.get(comm.rank, "device")
        out, into = filled(np.full(n, 1 + comm.rank), kind), filled(np.zeros(sum(counts)), kind)
        sent = spec(out, 0, MPI.BYTE) if comm.rank == 1 else spec(out, n, MPI.INT)
        places = [sum(counts[:rank]) for rank in range(comm.size)]
        comm.Allgatherv(sent, spec(into, (counts, places), MPI.INT))
        equal.check(ints(into), np.concatenate(values))
    return sizes
