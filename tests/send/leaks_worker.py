"""The two ranks of test_leaks.py: many small exchanges, and the resources that stay in use."""

from __future__ import annotations

from pathlib import Path

import ways
from calls_worker import comms
from mpi4py import MPI
from ways import Place

from support import constructors as c
from support.building import Builder
from support.messages import End, Image, Side
from support.p2p import Form, Requests
from support.typemap import Named

FORM = Form()
WARM_UP = 500
WINDOW = 4  # exchanges open at the same time


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def exchange_often(kind: str, times: int, persistent: bool) -> int:
    """Returns the growth of this process since the first exchanges, in bytes."""
    comm = comms()["world"]
    other = 1 - comm.Get_rank()
    spec = c.Vector(16, 2, 5, Named("INT"))
    with Builder() as builder:
        sides = [Side(End(kind, spec, 1, seed=comm.Get_rank()), builder) for _ in range(WINDOW)]
        targets = [Side(End(kind, spec, 1, seed=9 + i), builder) for i in range(WINDOW)]
        send, recv = ("Send_init", "Recv_init") if persistent else ("Isend", "Irecv")
        before = 0
        for turn in range((times + WARM_UP) // WINDOW):
            if turn == WARM_UP // WINDOW:
                before = resident_bytes()
            requests = Requests(2 * WINDOW)
            for i, (side, target) in enumerate(zip(sides, targets, strict=True)):
                place = Place(comm, other, i)
                received = ways.receive(FORM, recv, target.piece, place, MPI.Status())
                sent = ways.send(FORM, send, side.piece, place)
                assert received
                assert sent
                requests.put(2 * i, received)
                requests.put(2 * i + 1, sent)
            ways.complete(FORM, "Waitall", requests)
            ways.free(FORM, requests)
        for target in targets:
            target.check_received(Image(End(kind, spec, 1, seed=other), builder).payload())
    return resident_bytes() - before
