"""Messages between two ranks, both ways at the same time, against the bytes that MPI promises."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tempi._library import stats
from tempi.check.layouts import Layout
from tempi.check.memory import Buffer, Bytes

if TYPE_CHECKING:
    from mpi4py import MPI

TAG = 77
NOT_COUNTED = "not counted"
BOUNCED = "taken: direct (packed into a bounce buffer)"  # src/base/outcomes.def
DIRECT = frozenset({"taken: direct (written into the receive buffer)", BOUNCED})
Maker = Callable[[int], Buffer]


@dataclass(frozen=True)
class Found:
    """The result of one exchange on one rank.

    Attributes
    ----------
    wrong : int
        Bytes of the receive buffer that are not as they should be, those that no message names included.
    seconds : float
        Least time of both messages, to the end of the slower one.
    outcomes : dict of str to int
        Of this rank's sends. TEMPI does not count all of them: the others have the outcome `NOT_COUNTED`.
    """

    wrong: int
    seconds: float
    outcomes: dict[str, int]


def _cells(seed: int, n_bytes: int) -> Bytes:
    return np.random.default_rng(seed).integers(0, 256, n_bytes, np.uint8)


def _mpi_buffer(buffer: Buffer, n_bytes: int, datatype: MPI.Datatype) -> list[Any]:
    from mpi4py import MPI

    return [MPI.buffer.fromaddress(buffer.address, n_bytes), 1, datatype]


def _sends() -> Counter[str]:
    """The number of sends by outcome. A direct one is counted as what it would have been else, too."""
    rows = [row for row in stats() if row.function == "MPI_Isend" or row.outcome in DIRECT]
    return Counter({row.outcome: row.calls for row in rows})


def _went(sends: Counter[str], n_sends: int) -> dict[str, int]:
    """The outcomes of `n_sends` sends, each counted once."""
    direct = Counter({outcome: n for outcome, n in sends.items() if outcome in DIRECT})
    others = sends - direct
    for outcome, _ in others.most_common(1):
        others[outcome] -= direct.total()
    counted = +(others + direct)
    rest = Counter({NOT_COUNTED: n_sends - counted.total()})
    return dict(counted + rest)


def exchange(
    comm: MPI.Intracomm, peer: int, sent: Layout, received: Layout, make: Maker, n_times: int
) -> Found:
    """Exchange messages with a peer, which may be the calling rank itself."""
    out, into = make(sent.span), make(received.span)
    sent_places, received_places = sent.places, received.places
    wrong, seconds, before = 0, float("inf"), _sends()
    with sent.datatype() as of_sent, received.datatype() as of_received:
        given_from = _mpi_buffer(out, sent.span, of_sent)
        asked_into = _mpi_buffer(into, received.span, of_received)
        for turn in range(n_times):
            seed = 1000 * turn + sent.n_bytes
            out.write(_cells(seed + comm.rank, sent.span))
            junk = _cells(seed + 500, received.span)
            into.write(junk)
            begun = time.perf_counter()
            asked = comm.Irecv(asked_into, peer, TAG)
            given = comm.Isend(given_from, peer, TAG)
            asked.Wait()
            given.Wait()
            seconds = min(seconds, time.perf_counter() - begun)
            expected = junk
            expected[received_places] = _cells(seed + peer, sent.span)[sent_places]
            wrong += int(np.count_nonzero(into.read() != expected))
    return Found(wrong, seconds, _went(_sends() - before, n_times))
