"""Large accesses of files, which the shim carries out in chunks, against a model of the file's bytes."""

from __future__ import annotations

import ctypes
import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from file_views import draw_view, set_view
from mpi4py import MPI

from support.building import Builder
from support.defects import loses_file_requests_of_threads, misplaces_contiguous_data_in_files
from support.error_handlers import Handlers, Told
from support.messages import ALL_MAKERS, KINDS, Side, check_status, leaf_bytes, make_end
from support.typemap import Bytes

ALWAYS_CUT = ("contiguous", "named")  # others may have rows that are longer than a chunk, or lists of boxes


def _tool(name: str) -> ctypes.c_int:
    return ctypes.c_int.in_dll(ctypes.CDLL(None), name)


@contextmanager
def _at_access(name: str, n: int) -> Iterator[None]:
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
    is_whole = how.way != "blocking" and loses_file_requests_of_threads()
    if side.end.kind in ("host", "pinned") or n_bytes < 2 * chunk or is_whole:
        assert len(given) == 1
    elif maker in ALWAYS_CUT:
        assert len(given) > 1, (maker, side.end)
    assert len(given) == 1 or max(given) <= max(chunk, n_bytes // 4)
    return len(given) > 1


def short_reads(folder: str, kind: str, how: How, seed: int) -> list[int]:
    """Reads over the end of a file, from each of its etypes on; the positions of the file pointer after them."""
    positions = []
    draw = random.Random(seed)
    contents = np.random.default_rng(seed).integers(0, 256, 4 * 61, np.uint8)
    path = str(Path(folder, f"short {kind} {how} {seed}"))
    contents.tofile(path)
    file = MPI.File.Open(MPI.COMM_SELF, path, MPI.MODE_RDONLY)
    file.Set_view(0, MPI.INT, MPI.INT, "native")
    for first in range(0, 64, 3):
        with Builder() as builder:
            maker = "contiguous" if kind == "host" else draw.choice(ALL_MAKERS)
            side = Side(make_end(kind, maker, "INT", 60, draw), builder)
            status = access(file, "Read", how, side, first)
            there = contents[4 * first : 4 * (first + 60)]
            assert status.Get_elements(MPI.BYTE) == len(there), (first, maker)
            side.check_received(there)
            positions.append(file.Get_position())
    file.Close()
    accesses()
    return positions


def whole_accesses(folder: str, kind: str) -> dict[str, list[int]]:
    """How accesses that may not be cut reach the library."""
    found = {}
    for how in ("atomic", "external32", "half an etype", "two chunks less a byte", "cut"):
        with Builder() as builder:
            end = make_end(kind, "named", "BYTE" if how == "two chunks less a byte" else "INT", 127, random.Random(how))
            side = Side(end, builder)
            path = str(Path(folder, f"{how} {kind}"))
            file = MPI.File.Open(MPI.COMM_SELF, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
            etype = MPI.DOUBLE if how == "half an etype" else side.datatype
            file.Set_view(0, etype, etype, "external32" if how == "external32" else "native")
            file.Set_atomicity(how == "atomic")
            try:
                access(file, "Write", How(True), side, 0)
            except MPI.Exception:
                assert how == "half an etype"
            found[how] = accesses()
            file.Close()
    return found


def failures(folder: str, kind: str, how: How) -> list[object]:
    """What the program is told of an access whose third call of the library fails, and what is in the file."""
    path = str(Path(folder, f"failure {kind} {how}"))
    with Builder() as builder, Handlers() as handlers:
        side = Side(make_end(kind, "vector", "INT", 240, random.Random(1)), builder)
        file = MPI.File.Open(MPI.COMM_SELF, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
        handlers.watch(file)
        with _at_access("fails_at", 2), handlers.recorded():
            access(file, "Write", how, side, 0)
        told = handlers.told.copy()
        file.Close()
        right = bool((np.fromfile(path, np.uint8) == side.payload()[: sum(accesses()[:2])]).all())
    return [told, right]


def refusals(path: str, kind: str) -> list[Told]:
    """What the program is told of writing to a file that is only for reading."""
    Path(path).write_bytes(bytes(64))
    with Builder() as builder, Handlers() as handlers:
        side = Side(make_end(kind, "vector", "INT", 240, random.Random(1)), builder)
        file = MPI.File.Open(MPI.COMM_SELF, path, MPI.MODE_RDONLY)
        handlers.watch(file)
        with handlers.recorded():
            access(file, "Write", How(True), side, 0)
        told = handlers.told.copy()
        file.Close()
    return told


def sequential_reads(path: str, kind: str) -> list[Told]:
    """What the program is told of a read by the individual file pointer, which a sequential file does not have."""
    Path(path).write_bytes(bytes(960))
    with Builder() as builder, Handlers() as handlers:
        side = Side(make_end(kind, "vector", "INT", 240, random.Random(1)), builder)
        file = MPI.File.Open(MPI.COMM_SELF, path, MPI.MODE_RDONLY | MPI.MODE_SEQUENTIAL)
        handlers.watch(file)
        with handlers.recorded():
            file.Read(buffer_of(side))
        told = handlers.told.copy()
        file.Close()
    return told


def frees_the_datatype(path: str, kind: str) -> bool:
    """The program frees the datatype of a nonblocking write, and its request, before the write ends."""
    with Builder() as builder:
        side = Side(make_end(kind, "indexed", "INT", 1500, random.Random(1)), builder)
        datatype = side.piece.datatype.Dup()
        payload = side.payload()
        file = MPI.File.Open(MPI.COMM_SELF, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
        request = file.Iwrite_at(0, [buffer_of(side)[0], side.piece.count, datatype])
        datatype.Free()
        request.Wait()
        file.Close()
        accesses()
        return bool((np.fromfile(path, np.uint8) == payload).all())


def steps_of(path: str, kind: str) -> list[int]:
    """How many calls of the library each MPI_Test makes while a write of many chunks is pending."""
    with Builder() as builder:
        side = Side(make_end(kind, "named", "BYTE", 1920, random.Random(1)), builder)
        file = MPI.File.Open(MPI.COMM_SELF, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
        request, steps = file.Iwrite_at(0, buffer_of(side)), [len(accesses())]
        while not request.Test():
            steps.append(len(accesses()))
        steps.append(len(accesses()))
        file.Close()
        assert (np.fromfile(path, np.uint8) == side.payload()).all()
    return steps


def half_writes(path: str, kind: str) -> tuple[int, bool]:
    """A write of which the library moves only a half of the second chunk ends there."""
    with Builder() as builder:
        side = Side(make_end(kind, "named", "BYTE", 960, random.Random(1)), builder)
        file = MPI.File.Open(MPI.COMM_SELF, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
        with _at_access("is_half_at", 1):
            status = access(file, "Write", How(True), side, 0)
        file.Close()
    n_bytes: int = status.Get_elements(MPI.BYTE)
    written: Bytes = np.fromfile(path, np.uint8)
    n_calls = len(accesses())
    return n_calls, bool(len(written) == n_bytes and (written == side.payload()[:n_bytes]).all())


def threads(path: str, kinds: tuple[str, ...], n: int) -> bool:
    """Threads that write by one file pointer: each write is in one piece, in some order."""
    size = 480
    file = MPI.File.Open(MPI.COMM_SELF, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
    with Builder() as builder:
        sides = [Side(make_end(kind, "named", "BYTE", size, random.Random(kind)), builder) for kind in kinds]

        def write(side: Side) -> None:
            for _ in range(n):
                file.Write(buffer_of(side))

        running = [threading.Thread(target=write, args=(side,)) for side in sides]
        for one in running:
            one.start()
        for one in running:
            one.join()
        file.Close()
        pieces = sorted(map(bytes, np.fromfile(path, np.uint8).reshape(-1, size)))
        accesses()
        return pieces == sorted(side.payload().tobytes() for side in sides for _ in range(n))
