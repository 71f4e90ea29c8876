"""Truncation, cancelling, bad arguments and failing devices: an MPI error or the right bytes, and never a hang."""

import errors_worker as worker
import pytest

from support import effort
from support.messages import KINDS
from support.ranks import Ranks

RECEIVES = ("Recv", "Irecv", "Mrecv", "Recv_init", "Sendrecv")


@pytest.fixture
def pair(ranks):
    return ranks(2, TEMPI_DEVICE="fake")


@pytest.mark.sample(2)
@pytest.mark.parametrize("strategy", ["", "oneshot", "staged"])
@pytest.mark.parametrize("n_bytes", [8 << 10, 2 << 20])
@pytest.mark.parametrize("kind", KINDS)
def test_truncated(ranks, kind, n_bytes, strategy):
    """The error, and nothing beside the buffer touched. The libraries themselves write beside host receives."""
    options = {"TEMPI_STRATEGY": strategy} if strategy else {}
    job = ranks(2, TEMPI_DEVICE="fake", **options)
    for vector in (False, True):
        for recv in RECEIVES:
            job.call(worker.truncated, kind, n_bytes, recv, vector)


@pytest.mark.parametrize("completion", ["Waitall", "Testall", "Waitsome", "Testsome"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_of_several_truncated(pair, kind, completion):
    """MPI_ERR_IN_STATUS, and each status says which."""
    for n_bytes in (8 << 10, 2 << 20):
        pair.call(worker.one_of_several_truncated, kind, n_bytes, completion)


@pytest.mark.parametrize("kind", KINDS)
def test_cancelled_receive(pair, kind):
    pair.call(worker.cancelled_receive, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_cancelled_send(pair, kind):
    """Cancelled and not delivered, or delivered and not cancelled; and the program can tell."""
    for n_ints in (30, 75_000):
        for persistent in (False, True):
            pair.call(worker.cancelled_send, kind, n_ints, persistent)


@pytest.mark.parametrize("kind", KINDS)
def test_bad_arguments(pair, kind):
    """The same error class as on host memory with the library alone, for every way to send and receive."""
    pair.call(worker.bad_arguments, kind)


STEPS = ("pinned", "allocate", "launch", "copy", "finish")


@pytest.mark.sample(2)
@pytest.mark.parametrize("nth", [1, 2, 3, 4] if effort.IS_FULL else [1, 3])
@pytest.mark.parametrize("first", STEPS[::2])
def test_failing_devices(first, nth):
    """One fault on each rank, of different kinds. Each exchange gives right bytes or an MPI error."""
    second = STEPS[(STEPS.index(first) + 1) % len(STEPS)]
    failing = {rank: {"TEMPI_FAKE_FAIL": f"{step}:{nth}"} for rank, step in enumerate((first, second))}
    with Ranks(2, {"TEMPI_DEVICE": "fake"}, failing) as job:
        for kind in KINDS:
            job.call(worker.with_faults, kind)
