"""Receives with MPI_ANY_TAG, mpi4py's default, between processes."""

import exchange_worker as worker
import pytest
import ways
from mpi4py import MPI
from test_direct import DIRECT, FACES, gpu_end

ANY_TAG = MPI.ANY_TAG
PATIENT = {**DIRECT, "TEMPI_MATCH_TIMEOUT": "5000000"}


@pytest.mark.parametrize("recv", ["Irecv", "Recv_init"])
@pytest.mark.parametrize("at_once", [1, 4])
@pytest.mark.parametrize(
    ("received", "n_direct"),
    [
        ([ANY_TAG] * 8, 8),
        ([ANY_TAG, ANY_TAG, 1, 2, 3, 1, 1, 2], 2),
        ([3, 1, ANY_TAG, ANY_TAG, 3, 1, 1, 2], 6),
    ],
    ids=["all any", "any first", "any later"],
)
def test_receives_of_any_tag(ranks, recv, at_once, received, n_direct):
    """From one source with tags and without: those of the first one's kind are direct while no other is open."""
    sent = [3, 1, 1, 2, 3, 1, 1, 2]
    ends = gpu_end(FACES[0]), gpu_end(FACES[1])
    counts, _ = ranks(2, **PATIENT).call(worker.rows_of_messages, *ends, sent, at_once, received, recv)
    assert counts.direct == n_direct


@pytest.mark.parametrize("recv", [way for way in ("Recv", "Irecv", "Recv_init", "Sendrecv") if way in ways.RECVS])
def test_every_call_that_receives_any_tag_is_direct(ranks, recv):
    job, ends = ranks(2, **PATIENT), (gpu_end(FACES[0]), gpu_end(FACES[1]))
    for send in ("Isend", "Send", "Ssend"):
        (counts, _), _ = job.call(worker.one_message, *ends, send, recv, False, ANY_TAG)
        assert counts == (1, 0, 0), send
