"""Enqueued exchanges without a channel: the stream waits for the thread of TEMPI, and the CPU does not wait."""

import os
import sys
from pathlib import Path

import enqueue_worker
import ordinary_worker as worker
import pytest
from dying_peer import report_of_the_other

from support import needs, shim
from support.programs import run
from support.ranks import Ranks

FAKE = {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": "0", "TEMPI_PROGRESS": "thread"}
INDIRECT = {**FAKE, "TEMPI_NO_DIRECT": "1"}
CHANNEL, BY_CPU, BY_THREAD = enqueue_worker.CHANNEL, enqueue_worker.ORDINARY, enqueue_worker.BY_THREAD


@pytest.mark.sample(3)
@pytest.mark.parametrize("n_ranks", [1, 2, 3])
@pytest.mark.parametrize("options", [FAKE, INDIRECT, {**FAKE, "TEMPI_STREAM": "legacy"}], ids=str)
def test_exchanges_queue_up(ranks, n_ranks, options):
    for counts, _ in ranks(n_ranks, **options).call(worker.queued, 12, [worker.HOST, ("managed", "pinned")]):
        assert counts[BY_THREAD] == 12
        assert BY_CPU not in counts


def test_the_host_does_not_wait_for_a_late_peer(ranks):
    (_, taken), *_ = ranks(2, **INDIRECT).call(worker.queued, 5, [worker.HOST, worker.DEVICE], 2.0)
    assert taken < 1


def test_beside_channels_in_one_wait(ranks):
    for counts, _ in ranks(2, **FAKE).call(worker.queued, 12, [worker.HOST, worker.DEVICE, ("managed", "device")]):
        assert (counts[BY_THREAD], counts[CHANNEL]) == (12, 12)


@pytest.mark.parametrize("options", [FAKE, INDIRECT], ids=str)
def test_graphs(ranks, options):
    for counts in ranks(2, **options).call(worker.captured, 30, [worker.HOST, worker.DEVICE], timeout=60):
        assert counts[BY_THREAD] == 11
        assert BY_CPU not in counts


def test_several_streams(ranks):
    ranks(2, **FAKE).call(worker.in_several_streams, 8, timeout=60)


@pytest.mark.parametrize("options", [FAKE, INDIRECT], ids=str)
def test_requests_that_are_freed_behind_the_queue(ranks, options):
    ranks(2, **options).call(worker.freed_behind_the_queue, [worker.HOST, worker.DEVICE], timeout=60)


def test_requests_that_are_freed_while_their_exchange_ends():
    """Each request is freed once: if it is freed twice, Open MPI may abort the process, or crash in MPI_Finalize."""
    program = Path(__file__).with_name("freed_at_once_program.py")
    done = run([sys.executable, str(program)], shim.preloaded(**INDIRECT) | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.out == "right\n", done.err


@pytest.mark.parametrize("kind", ["pinned", "device"])
def test_an_error_is_reported_by_the_next_call(kind):
    with Ranks(2, INDIRECT) as job:
        _, (told, _) = job.call(worker.too_long, kind)
    assert "truncated" in told.lower()


@needs.function("Allgather_init")
def test_persistent_collectives():
    with Ranks(2, INDIRECT) as job:
        for counts in job.call(worker.a_reused_buffer_of_a_persistent_collective, 4):
            assert counts[BY_THREAD] == 3


@pytest.mark.parametrize("n_late", [0, 1])
def test_a_peer_without_the_shim(n_late):
    """Its library has no TEMPI_Start_enqueue."""
    options = {**INDIRECT, "TEMPI_CHANNEL_TIMEOUT": "100"}
    with Ranks(2, options, special={1: {"TEMPI_OFF": "1"}}) as job:
        counts = job.call(worker.with_a_plain_peer, 4, float(n_late))
    assert counts[0][BY_THREAD] == 3


@pytest.mark.parametrize("options", [{"TEMPI_PROGRESS": "calls"}, {"TEMPI_PROGRESS": "auto"}], ids=str)
def test_without_a_thread_the_cpu_waits(options):
    with Ranks(2, {**FAKE, **options}) as job:
        for counts, _ in job.call(worker.queued, 3, [worker.HOST]):
            assert counts[BY_CPU] == 3
        for told in job.call(worker.not_captured):
            assert "TEMPI_PROGRESS=thread" in told


def test_the_option_makes_the_thread():
    with Ranks(2, {**FAKE, "TESTS_THREAD_LEVEL": "0", "TEMPI_PROGRESS": "thread"}) as job:
        for counts, _ in job.call(worker.queued, 3, [worker.HOST]):
            assert counts[BY_THREAD] == 3


@needs.open_mpi("its launcher can be stopped")
@pytest.mark.parametrize("when", ["idle", "started", "queued"])
def test_a_peer_that_dies_ends_the_wait(tmp_path, when):
    """The stream does not hang, and the next call says so."""
    assert "at the other end" in report_of_the_other(tmp_path, when, {**FAKE, "TESTS_KIND": "managed"})


def test_a_process_without_a_gpu(ranks):
    """Its exchanges are ordinary messages: a default stream has no work there."""
    for rank, (found, words) in enumerate(ranks(2, TEMPI_DEVICE="none").call(worker.without_gpu)):
        assert found == [[turn * 10.0 + 1 - rank] * 3 for turn in range(2)]
        assert words.endswith("this process uses no GPU")
