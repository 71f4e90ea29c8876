"""Large accesses of files, which the shim carries out in chunks, against a model of the file's bytes."""

from __future__ import annotations

import ctypes
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from file_views import draw_view, set_view
from mpi4py import MPI

from support.building import Builder
from support.defects import loses_file_requests_of_threads, misplaces_contiguous_data_in_files
from support.messages import ALL_MAKERS, KINDS, Side, check_status, leaf_bytes, make_end

ALWAYS_CUT = ("contiguous", "named")  # others may have rows that are longer than a chunk, or lists of boxes


def _tool(name: str) -> ctypes.c_int:
    return ctypes.c_int.in_dll(ctypes.CDLL(None), name)


@contextmanager
def at_access(name: str, n: int) -> Iterator[None]:
    """What file_tool.c does at the n-th access from now on."""
    accesses()
    _tool(name).value = n
    yield
    _tool(name).value = -1


def accesses() -> list[int]:
    """The bytes of each access that file_tool.c has noted since the last question."""
    noted = _tool("n_accesses")
    found = list((ctypes.c_longlong * noted.value).in_dll(ctypes.CDLL(None), "accessed_bytes"))
    noted.value = 0
    return found


def buffer_of(side: Side) -> list[object]:
    """Whatever the memory, mpi4py passes its address on."""
    piece = side.piece
    if side.end.bottom:
        return [MPI.BOTTOM, 1, piece.datatype]
    reach = piece.count * max(piece.datatype.Get_size(), abs(piece.datatype.Get_extent()[1]))
    return [MPI.buffer.fromaddress(piece.address, reach), piece.count, piece.datatype]


@dataclass(frozen=True)
class How:
    """By an explicit offset, or by the file pointer; nonblocking: completed by one of WAYS."""

    is_at: bool
    way: str = "blocking"


WAYS = ("wait", "test", "waitall", "testall", "waitany", "waitsome", "get_status")


def complete(way: str, request: MPI.Request, status: MPI.Status) -> None:
    if way == "wait":
        request.Wait(status)
    elif way == "test":
        while not request.Test(status):
            pass
    elif way == "waitall":
        MPI.Request.Waitall([request], [status])
    elif way == "waitany":
        assert MPI.Request.Waitany([request], status) == 0
    elif way == "waitsome":
        assert MPI.Request.Waitsome([request], [status]) == [0]
    elif way == "testall":
        while not MPI.Request.Testall([request], [status]):
            pass
    else:
        while not request.Get_status(status):
            pass
        request.Wait()


def draw_how(draw: random.Random) -> How:
    return How(draw.random() < 0.5, "blocking" if draw.random() < 0.6 else draw.choice(WAYS))


def access(file: MPI.File, verb: str, how: How, side: Side, first: int) -> MPI.Status:
    status = MPI.Status()
    name = (verb if how.way == "blocking" else f"I{verb.lower()}") + ("_at" if how.is_at else "")
    if not how.is_at:
        file.Seek(first)
    arguments = (first, buffer_of(side)) if how.is_at else (buffer_of(side),)
    if how.way == "blocking":
        getattr(file, name)(*arguments, status)
    else:
        complete(how.way, getattr(file, name)(*arguments), status)
    return status


def random_cases(folder: str, seed: int, n: int) -> float:
    """Writes and reads random buffers through random views; the share of the accesses that were in chunks."""
    return sum(_check_case(random.Random(f"{seed} {i}"), str(Path(folder, f"{seed}-{i}"))) for i in range(n)) / (2 * n)


def _draw_side(draw: random.Random, leaf: str, n_leaves: int, builder: Builder) -> tuple[Side, str]:
    kind, maker = draw.choice(KINDS), draw.choice(ALL_MAKERS)
    if kind in ("host", "pinned") and misplaces_contiguous_data_in_files():
        maker = "named"
    return Side(make_end(kind, maker, leaf, n_leaves, draw, bottom=draw.random() < 0.3), builder), maker


def _check_case(draw: random.Random, path: str) -> int:
    chunk = int(os.environ["TEMPI_FILE_CHUNK"])
    leaf = draw.choice(("INT", "DOUBLE", "BYTE"))
    n_bytes = chunk * draw.randint(1, 6) + draw.choice((-8, 0, 0, 8, 24))
    n_leaves = n_bytes // leaf_bytes(leaf)
    view = draw_view(draw, leaf, n_leaves, has_holes=draw.random() < 0.5)
    first = draw.randint(0, 5)
    before = np.random.default_rng(draw.getrandbits(30)).integers(0, 256, 8 * n_bytes + 400, np.uint8)
    before.tofile(path)
    with Builder() as builder:
        file = MPI.File.Open(MPI.COMM_SELF, path, MPI.MODE_RDWR)
        set_view(file, view, builder)
        written, maker = _draw_side(draw, leaf, n_leaves, builder)
        payload = written.payload()
        how = draw_how(draw)
        status = access(file, "Write", how, written, first)
        is_cut = _check_cut(written, maker, len(payload), chunk, how)
        check_amounts(status, len(payload), written, leaf, is_cut=is_cut)
        assert how.is_at or file.Get_position() == first + len(payload) // view.etype_bytes
        written.check_untouched()
        file.Sync()
        expected = before.copy()
        expected[view.places(first, len(payload))] = payload
        np.testing.assert_array_equal(np.fromfile(path, np.uint8), expected)
        read, maker = _draw_side(draw, leaf, n_leaves, builder)
        status = access(file, "Read", how, read, first)
        is_read_cut = _check_cut(read, maker, len(payload), chunk, how)
        check_amounts(status, len(payload), read, leaf, is_cut=is_read_cut)
        read.check_received(payload)
        file.Close()
    return is_cut + is_read_cut


def check_amounts(status: MPI.Status, n_bytes: int, side: Side, leaf: str, *, is_cut: bool) -> None:
    """Open MPI leaves the other fields of the status of a nonblocking access as they happen to be."""
    if not is_cut:
        status.Set_cancelled(False)
    check_status(status, status.Get_source(), status.Get_tag(), n_bytes, side, leaf)


def _check_cut(side: Side, maker: str, n_bytes: int, chunk: int, how: How) -> bool:
    """True: the library was given the bytes in chunks."""
    given = accesses()
    assert sum(given) == n_bytes
    if "TEMPI_FAKE_FAIL" in os.environ:
        return False  # there may be no memory for chunks
    has_pool = os.environ.get("TEMPI_POOL_LIMIT") != "0"
    is_whole = how.way != "blocking" and loses_file_requests_of_threads() and has_pool
    if side.end.kind in ("host", "pinned") or n_bytes < 2 * chunk or is_whole:
        assert len(given) == 1
    elif maker in ALWAYS_CUT:
        assert len(given) > 1, (maker, side.end)
    assert len(given) == 1 or max(given) <= max(chunk, n_bytes // 4)
    return len(given) > 1
