"""Accesses of files in chunks: cases that are written by hand."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import numpy as np
from file_chunks_worker import How, access, accesses, at_access, buffer_of
from mpi4py import MPI

from support.building import Builder
from support.error_handlers import Handlers, Told
from support.messages import ALL_MAKERS, Side, make_end
from support.typemap import Bytes


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
        with at_access("fails_at", 2), handlers.recorded():
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
        with at_access("is_half_at", 1):
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
