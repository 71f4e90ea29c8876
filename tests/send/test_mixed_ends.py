"""One end under the shim, the other without it; device memory here, host memory there; a vector against dense data."""

import calls_worker as worker
import pytest
from calls_worker import Case, check_all

from support.effort import IS_QUICK
from support.messages import KINDS, End, make_end
from support.ranks import Ranks

WITH, WITHOUT = 0, 1  # ranks
N_CASES = 10 if IS_QUICK else 60  # of 60


@pytest.fixture(scope="module", params=["switched off", "not preloaded"])
def pair(request):
    special = {WITHOUT: {"TEMPI_DISABLE": "1"} if request.param == "switched off" else {"LD_PRELOAD": ""}}
    with Ranks(2, {"TEMPI_DEVICE": "fake"}, special) as job:
        yield job


CALLS = (("Send", "Recv"), ("Isend", "Irecv"), ("Ssend", "Mrecv"), ("Send_init", "Recv_init"), ("Bsend", "Recv probed"))


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("maker", ["vector", "indexed", "struct", "contiguous", "named"])
def test_the_other_end_does_without(pair, maker, kind, drawn):
    cases = []
    for n in (12, 1200, 75_000):
        for send, recv in CALLS:
            ours = make_end(kind, maker, "INT", n, drawn)
            for theirs in (make_end("host", "named", "INT", n, drawn), make_end("host", "vector", "INT", n, drawn)):
                cases.append(Case(send, recv, ours, theirs, "INT", sender=WITH))
                cases.append(Case(send, recv, theirs, ours, "INT", sender=WITHOUT))
    check_all(pair, worker.transfer, drawn.sample(cases, N_CASES))


def test_bytes_sent_are_the_packed_bytes(pair, drawn):
    """The receiver takes the message as MPI_PACKED or as bytes, whatever it was sent as."""
    cases = []
    for kind in KINDS:
        for raw in ("PACKED", "BYTE"):
            sent = make_end(kind, "vector", "BYTE", 240, drawn)
            received = End("host", make_end("host", "named", "BYTE", 1, drawn).spec, 240)
            if raw == "PACKED":
                received = End("host", type(received.spec)("PACKED"), 240)
            cases.append(Case("Send", "Recv", sent, received, "BYTE", sender=WITH))
    check_all(pair, worker.transfer, cases)
