"""Every call that reads or writes a file, with buffers in memory of any kind, against the bytes of the file."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
from mpi4py import MPI

from support.building import Builder
from support.defects import is_lost_at_end_of_file
from support.error_handlers import Handlers, Told
from support.messages import End, Side, make_end

LEAF, N_LEAVES = "INT", 24
SETS = ("", "_all", "_at", "_at_all", "_shared", "_ordered")
SPLIT = ("_all", "_at_all", "_ordered")


def call(file: MPI.File, verb: str, which: str, how: str, buffer: object, offset: int) -> MPI.Status:
    """One call by its parts: read or write, the set of calls, and blocking, nonblocking or split."""
    status = MPI.Status()
    name = f"{'I' if how == 'nonblocking' else ''}{verb}{which}"
    function = name[0].upper() + name[1:]
    given = (offset, buffer) if "_at" in which else (buffer,)
    if how == "nonblocking":
        getattr(file, function)(*given).Wait(status)
    elif how == "split":
        getattr(file, f"{function}_begin")(*given)
        getattr(file, f"{function}_end")(buffer, status)
    else:
        getattr(file, function)(*given, status)
    return status


def hows(which: str) -> tuple[str, ...]:
    found = ["blocking"]
    if which != "_ordered":
        found.append("nonblocking")
    if which in SPLIT:
        found.append("split")
    return tuple(found)


def absolute(side: Side) -> list[object]:
    """mpi4py takes any address with MPI_BOTTOM."""
    assert side.end.bottom
    return [MPI.BOTTOM, 1, side.piece.datatype]


def sides(kind: str, maker: str, draw: random.Random, builder: Builder) -> Side:
    end: End = make_end(kind, maker, LEAF, N_LEAVES, draw, bottom=True)
    return Side(end, builder)


def check(folder: str, which: str, kind: str, representation: str, seed: int) -> int:
    """Writes and reads back through every kind of call; a read over the end of the file leaves the rest as it is."""
    comm, done = MPI.COMM_WORLD, 0
    n_bytes = 4 * N_LEAVES
    for how in hows(which):
        draw = random.Random(f"{seed} {which} {how} {comm.Get_rank()}")
        path = str(Path(folder, f"{which}{how}{kind}{representation}"))
        with Builder() as builder:
            mode = MPI.MODE_CREATE | MPI.MODE_RDWR
            file = MPI.File.Open(comm, path, mode)
            file.Set_view(0, MPI.INT, MPI.INT, representation)
            mine = comm.Get_rank() * N_LEAVES
            written = sides(kind, draw.choice(("vector", "indexed", "struct", "contiguous")), draw, builder)
            if which in ("", "_all"):
                file.Seek(mine)
            call(file, "write", which, how, absolute(written), mine)
            written.check_untouched()
            file.Sync()
            comm.Barrier()
            payloads = [bytes(one) for one in comm.allgather(written.payload().tobytes())]
            if "shared" not in which and representation == "native" and comm.Get_rank() == 0:
                assert Path(path).read_bytes() == b"".join(payloads)
            comm.Barrier()
            read = sides(kind, draw.choice(("vector", "indexed", "struct", "contiguous")), draw, builder)
            _rewind(file, which, mine)
            status = call(file, "read", which, how, absolute(read), mine)
            assert status.Get_elements(MPI.BYTE) == n_bytes
            if "shared" not in which:
                read.check_received(np.frombuffer(payloads[comm.Get_rank()], np.uint8))
            done += _check_end(file, which, how, kind, draw, builder, payloads)
            comm.Barrier()
            file.Close()
    return done


def _rewind(file: MPI.File, which: str, mine: int) -> None:
    if "shared" in which or "ordered" in which:
        file.Seek_shared(0)
    elif "_at" not in which:
        file.Seek(mine)


def _check_end(
    file: MPI.File, which: str, how: str, kind: str, draw: random.Random, builder: Builder, payloads: list[bytes]
) -> int:
    """The last half of the file is asked for as a whole buffer: half of it stays as it was."""
    if "shared" in which or "ordered" in which or is_lost_at_end_of_file(which, how, kind in ("host", "pinned")):
        return 1
    comm = MPI.COMM_WORLD
    last = sides(kind, "vector", draw, builder)
    at = comm.Get_size() * N_LEAVES - N_LEAVES // 2
    if "_at" not in which:
        file.Seek(at)
    status = call(file, "read", which, how, absolute(last), at)
    half = np.frombuffer(payloads[-1][2 * N_LEAVES :], np.uint8)
    assert status.Get_elements(MPI.BYTE) == len(half)
    last.check_received(half)
    return 1


def errors(path: str, which: str, kind: str) -> dict[tuple[str, str], list[Told]]:
    """What error handlers, and the program, are told of wrong datatypes, by kind of call."""
    found = {}
    file = MPI.File.Open(MPI.COMM_WORLD, path, MPI.MODE_CREATE | MPI.MODE_RDWR | MPI.MODE_DELETE_ON_CLOSE)
    with Builder() as builder, Handlers() as handlers:
        side = sides(kind, "vector", random.Random(which), builder)
        handlers.watch(file)
        at = side.buffer.address + side.origin
        uncommitted = MPI.Datatype.Create_struct([1], [at], [side.datatype])
        for how in hows(which):
            for verb in ("read", "write"):
                handlers.told.clear()
                for wrong in (MPI.DATATYPE_NULL, uncommitted):
                    with handlers.recorded():
                        call(file, verb, which, how, [MPI.BOTTOM, 1, wrong], 0)
                found[how, verb] = handlers.told.copy()
        uncommitted.Free()
    file.Close()
    return found
