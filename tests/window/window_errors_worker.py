"""Errors of accesses to windows over GPU memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI
from window_calls import COMM, ints, read, rma, window_of

from support.error_handlers import Handlers, Told
from support.p2p import PLAIN, Piece


def errors(kind: str) -> dict[str, list[Told]]:
    """What the window's error handler and the program are told. Nothing is written."""
    me = COMM.Get_rank()
    found = {}
    before = np.arange(8, dtype=np.int32)
    uncommitted = MPI.INT.Create_contiguous(2)
    mixed = MPI.Datatype.Create_struct([1, 1], [0, 4], [MPI.INT, MPI.FLOAT]).Commit()
    distant = MPI.INT.Create_resized(0, 2**40).Commit()
    product = MPI.Op.Create(lambda a, b, _: None)
    with window_of("device", before, 4) as (win, own), Handlers() as handlers:
        _, two = ints(kind, [70, 80])
        _, result = ints(kind, [1, 2])
        large = Piece(two.address, 1, MPI.LONG_DOUBLE)
        peer = 1 - me
        cases: dict[str, tuple[Any, ...]] = {
            "beyond": ("Put", two, peer, 7, (2, MPI.INT)),
            "far beyond": ("Put", two, peer, 2**62, (2, MPI.INT)),
            "beyond 64 bits": ("Put", two, peer, 0, (2**24 + 1, distant)),
            "before": ("Put", two, peer, -1, (2, MPI.INT)),
            "get beyond": ("Get", two, peer, 8, (2, MPI.INT)),
            "accumulate beyond": ("Accumulate", two, peer, 7, (2, MPI.INT), MPI.SUM),
            "no such rank": ("Put", two, 2, 0, (2, MPI.INT)),
            "uncommitted": ("Put", two, peer, 0, (1, uncommitted)),
            "too short": ("Put", two, peer, 0, (1, MPI.INT)),
            "own operation": ("Accumulate", two, peer, 0, (2, MPI.INT), product),
            "wrong operation": ("Accumulate", Piece(two.address, 2, MPI.FLOAT), peer, 0, (2, MPI.FLOAT), MPI.BAND),
            "wrong for the library": ("Accumulate", large, peer, 0, (1, MPI.LONG_DOUBLE), MPI.BAND),
            "mixed": ("Accumulate", two, peer, 0, (1, mixed), MPI.SUM),
            "other element": ("Accumulate", two, peer, 0, (1, MPI.DOUBLE), MPI.SUM),
            "fetch beyond": ("Get_accumulate", two, peer, 7, (2, MPI.INT), MPI.SUM, result),
        }
        handlers.watch(win)
        with handlers.recorded():
            rma(PLAIN, "Put", win, two, peer, 0, (2, MPI.INT))
        found["no epoch"] = list(handlers.told)
        win.Lock_all()
        for case, (name, origin, *rest) in cases.items():
            handlers.told.clear()
            with handlers.recorded():
                rma(PLAIN, name, win, origin, *rest)
            found[case] = list(handlers.told)
        handlers.told.clear()
        rma(PLAIN, "Put", win, two, MPI.PROC_NULL, 0, (2, MPI.INT))
        request = rma(PLAIN, "Rput", win, two, MPI.PROC_NULL, 0, (2, MPI.INT))
        assert request
        PLAIN("Wait", request.at(0), MPI.Status())
        found["nobody"] = list(handlers.told)
        win.Unlock_all()
        COMM.Barrier()
        assert read(own).tolist() == before.tolist()
    mixed.Free()
    uncommitted.Free()
    distant.Free()
    product.Free()
    return found


def told(name: str) -> list[Told]:
    error = getattr(MPI, f"ERR_{name}")
    return [("window", error), ("code", error)]
