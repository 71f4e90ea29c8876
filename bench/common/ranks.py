"""MPI in the ranks of a benchmark that choose their GPU before it is initialised."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable


def run_rank(body: Callable[[], None], thread_level: str = "multiple") -> None:
    """Runs `body` between the start and the end of MPI.

    An exception on one rank ends all: the others would wait for it.
    ``mpi4py.rc.initialize`` is false, and `thread_level` is "single", "funneled", "serialized" or "multiple".
    """
    from mpi4py import MPI

    MPI.Init_thread(getattr(MPI, f"THREAD_{thread_level.upper()}"))
    try:
        body()
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)
    MPI.Finalize()
