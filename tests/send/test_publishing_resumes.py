"""Direct messages behind what their matching cannot follow: wildcards, probes, cancelled receives, threads."""

from pathlib import Path

import pattern_worker as worker
import pytest
from schedule_plan import UNEVEN
from test_direct import DIRECT, FACES, INT, gpu_end, irregular

from support import constructors as c
from support import needs
from support.effort import IS_QUICK, scaled
from support.ranks import Ranks

PATIENT = {**DIRECT, "TEMPI_MATCH_TIMEOUT": "5000000"}
N_ROWS = scaled(100, least=12)
LEAST_SHARE = 0.99
NOT_AWAITED = 16  # behind a probe: the next receives of each rank
ENDS = gpu_end(FACES[0]), gpu_end(FACES[1])


def assert_direct(found):
    for n_direct, n_sent in found:
        assert n_direct >= min(LEAST_SHARE * n_sent, n_sent - NOT_AWAITED)


@pytest.mark.parametrize("how", worker.WAYS)
@pytest.mark.parametrize("n_ranks", [2] if IS_QUICK else [2, 3])
def test_halos_behind_a_set_up_phase_are_direct(ranks, n_ranks, how):
    """All phases on one communicator, one after the other."""
    job = ranks(n_ranks, **PATIENT, TESTS_CASE="come back")
    assert_direct(job.call(worker.halos_behind, how, *ENDS, N_ROWS, timeout=60))


def test_halos_beside_a_listener_are_direct(ranks):
    job = ranks(2, **PATIENT, TESTS_CASE="come back")
    assert_direct(job.call(worker.halos_beside_a_listener, *ENDS, N_ROWS, timeout=60))


@needs.fake_device("a kernel that runs while its program computes")
def test_cancelling_a_claimed_receive_does_not_wait_for_its_sender(ranks, tmp_path):
    job = ranks(2, **PATIENT, TEMPI_PROGRESS="calls", TESTS_THREAD_LEVEL="0", TEMPI_FAKE_SEED="5")
    in_time, _ = job.call(worker.cancelled_while_its_sender_computes, *ENDS, Path(tmp_path), timeout=60)
    assert in_time


@pytest.mark.parametrize("what", ["thread", "persistent wildcard"])
def test_what_ends_direct_messages_is_in_the_report(what):
    with Ranks(2, {**PATIENT, "TESTS_THREAD_LEVEL": "3", "TEMPI_REPORT": "1"}) as job:
        assert job.call(worker.ended_by, what, *ENDS) == [0, 0]
        text = job.close()
    assert {"thread": "a second thread uses it", "persistent wildcard": "a persistent wildcard"}[what] in text


LONGER = {
    "more elements": (c.Vector(12, 2, 5, INT), [(FACES[0], 9), (FACES[0], 5), (FACES[1], 4)], [3, 5, 1]),
    "another layout": (c.Vector(6, 4, 9, INT), [(c.Vector(8, 4, 5, INT), 7), (c.Contiguous(1000, INT), 1)], [4, 3]),
    "an end within an element": (c.Contiguous(10, INT), [(FACES[0], 3), (FACES[1], 4)], [3, 4]),
    "many elements": (
        c.Vector(3, 2, 5, INT),
        [(c.Vector(3, 2, 5, INT), 5000), (c.Contiguous(1, INT), 9000)],
        [3000, 900],
    ),
    "a bounce buffer": (c.Contiguous(1000, INT), [(irregular(1), 2), (irregular(2), 3)], [6, 7]),
    "a bounce buffer, in chunks": (c.Vector(1000, 1, 2, INT), [(c.Vector(1000, 1, 2, UNEVEN), 14)], [700]),
}


@pytest.mark.parametrize("what", LONGER)
def test_receives_that_are_longer_than_their_messages_are_direct(ranks, what):
    sent, received, n_sent = LONGER[what]
    into = [worker.End("device", spec, count, 7 + k) for k, (spec, count) in enumerate(received)]
    job = ranks(2, **PATIENT, TESTS_CASE="longer")
    [n_direct, _] = job.call(worker.longer_receives, gpu_end(sent), into, n_sent, timeout=60)
    assert n_direct == len(n_sent)
