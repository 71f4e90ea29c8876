"""Direct messages of a rank to itself: the FIN message goes while the kernel runs."""

import own_messages_worker as worker
import pytest
from test_bounce_buffers import irregular
from test_direct import DIRECT, FACES, INT, gpu_end

from support import constructors as c
from support import needs
from support.messages import End
from support.ranks import Ranks

pytestmark = needs.fake_device("its work runs when somebody asks for it, or fails on demand")
OUT, INTO = gpu_end(FACES[0], 1), gpu_end(FACES[1], 2)
# Blocks of 8 and of 12 bytes, or at places of two long tables: more than 1024 boxes from one to the other.
MISFITS = {
    "blocks": (c.Vector(6000, 2, 5, INT), c.Vector(4000, 3, 4, INT)),
    "tables": (irregular(3000, 1), irregular(3000, 2)),
    "large": (irregular(360_000, 3), irregular(360_000, 4)),
}
COMPLETIONS = ("Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome")


@pytest.mark.parametrize("completion", COMPLETIONS)
def test_a_send_returns_while_its_kernel_runs(ranks, completion):
    [left] = ranks(1, **DIRECT, TEMPI_PROGRESS="calls").call(worker.left_by_a_send, OUT, INTO, completion)
    assert left == (True, 1)  # a thread would ask for the kernel


def test_a_send_that_is_cancelled_too_late(ranks):
    assert ranks(1, **DIRECT).call(worker.cancelled, OUT, INTO) == [1]


@pytest.mark.parametrize("completion", ["Wait", "Waitall", "Waitany", "Waitsome"])
def test_a_kernel_that_fails_behind_its_fin_message(completion):
    with Ranks(1, {**DIRECT, "TEMPI_PROGRESS": "calls", "TEMPI_FAKE_FAIL": "finish:1"}) as fresh:
        assert fresh.call(worker.left_by_a_send, OUT, INTO, completion) == [(True, 0)]


def test_bytes_that_are_lost_are_an_error_of_both_ends(ranks):
    job = ranks(1, **DIRECT, TEMPI_FAKE_FAIL="finish:1,launch:2,copy:1")
    [(receive, send)] = job.call(worker.lost, OUT, INTO)
    assert receive != 0
    assert send != 0


@needs.function("Isendrecv")
def test_a_half_whose_bytes_are_lost_is_an_error_of_its_call():
    failures = "finish:1,launch:3,copy:1"
    with Ranks(1, {**DIRECT, "TEMPI_PROGRESS": "calls", "TEMPI_FAKE_FAIL": failures}) as fresh:
        assert fresh.call(worker.lost_half, OUT, INTO) == [(1, 2)]


@pytest.mark.parametrize("progress", ["thread", "calls"])
def test_threads_that_wait_for_each_other(progress):
    with Ranks(1, {**DIRECT, "TEMPI_PROGRESS": progress, "TEMPI_FAKE_SEED": "7", "TESTS_THREAD_LEVEL": "3"}) as fresh:
        for _ in range(20):
            [n_direct] = fresh.call(worker.one_waits_for_the_other, OUT, INTO, timeout=20)
            assert n_direct >= 1


def misfit(name):
    return tuple(gpu_end(spec, 1) for spec in MISFITS[name])


@pytest.mark.parametrize("name", MISFITS)
@pytest.mark.parametrize("completion", ["Waitall", "Test"])
def test_layouts_that_do_not_combine_go_through_a_bounce_buffer(ranks, name, completion):
    job = ranks(1, **DIRECT)
    for _ in range(2):
        assert job.call(worker.left_by_a_misfit, *misfit(name), completion) == [(1, 0, 0)]


# The counts of the first message: through the bounce buffer, declined, through the host after a failure.
AFTER_FAILURES = {
    "launch:1": (0, 0, 1),
    "launch:2": (1, 0, 0),  # the CPU unpacks
    "finish:1": (0, 0, 1),
    "finish:2": (0, 0, 1),
    "copy:1": (0, 0, 1),
    "allocate:2": (0, 0, 1),
}


@pytest.mark.parametrize("failure", AFTER_FAILURES)
def test_a_gpu_that_fails_on_the_way_through_a_bounce_buffer(failure):
    with Ranks(1, {**DIRECT, "TEMPI_FAKE_FAIL": failure}) as fresh:
        for counts in (AFTER_FAILURES[failure], (1, 0, 0)):
            assert fresh.call(worker.left_by_a_misfit, *misfit("tables"), "Waitall") == [counts]


@pytest.mark.parametrize(("count", "went"), [(2, (1, 0, 0)), (4, (1, 0, 0)), (9, (0, 1, 0))])
def test_receives_that_are_longer_than_the_message(ranks, count, went):
    """A bounce buffer is at most four times as long as the message."""
    out, into = MISFITS["tables"]
    assert ranks(1, **DIRECT).call(worker.left_by_a_misfit, gpu_end(out, 1), End("device", into, count), "Wait") == [
        went
    ]


def test_persistent_requests_whose_layouts_do_not_combine(ranks):
    assert ranks(1, **DIRECT).call(worker.started_several_times, *misfit("tables"), 5) == [(5, 0)]
