"""Random programs that call MPI behind queued work of a stream, and queue work behind the call, without a wait."""

import pytest
import stream_programs as programs
import streams_worker as worker

from support.effort import scaled
from support.ranks import RanksFailed

FAKE = {"TEMPI_DEVICE": "fake"}
PATHS = {
    "packed": {},
    "staged": {"TEMPI_STRATEGY": "staged"},
    "oneshot": {"TEMPI_STRATEGY": "oneshot"},
    "device": {"TEMPI_STRATEGY": "device", "TEMPI_CUDA_AWARE": "1"},
    "library": {"TEMPI_CUDA_AWARE": "1"},
    "direct": {"TEMPI_NO_DIRECT": "0", "TEMPI_STRATEGY": "direct", "TEMPI_MATCH_TIMEOUT": "20000"},
    "bounced": {"TEMPI_NO_DIRECT": "0", "TEMPI_BOUNCE_SPAN": "0", "TEMPI_MATCH_TIMEOUT": "20000"},
    "thread": {"TEMPI_PROGRESS": "thread"},
}
ALL_KINDS = ("device", "device", "device", "managed", "pinned")
WAITED, ORDERED = (
    "waits of the CPU for the program's stream",
    "buffers that a GPU reads or writes after the program's stream",
)
QUEUED = "taken: queued in the program's stream"


@pytest.mark.sample(2)
@pytest.mark.parametrize("order", ["stream", "view"])
@pytest.mark.parametrize("path", PATHS)
def test_random_programs(ranks, drawn, path, order):
    job = ranks(2, **FAKE, **PATHS[path])
    for _ in range(scaled(30, least=2)):
        for counts in job.call(worker.run_program, drawn.getrandbits(30), order, ALL_KINDS, programs.WAYS, 12):
            assert counts.get(ORDERED, 0) + counts.get(QUEUED, 0) > 0


@pytest.mark.sample(10)
@pytest.mark.parametrize("order", ["stream", "view"])
@pytest.mark.parametrize("way", programs.WAYS)
@pytest.mark.parametrize("path", ["packed", "device", "direct"])
def test_each_way(ranks, drawn, path, way, order):
    job = ranks(2, **FAKE, **PATHS[path])
    job.call(worker.run_program, drawn.getrandbits(30), order, ("device",), (way,), 6)
    job.call(worker.run_program, drawn.getrandbits(30), order, ALL_KINDS, (way,), 6)


@pytest.mark.parametrize("way", ["Sendrecv", "Isend, Irecv, Waitall", "Pack, Sendrecv, Unpack"])
def test_the_programs_are_wrong_without_an_order(ranks, drawn, way):
    with pytest.raises(RanksFailed, match="Arrays are not equal"):
        ranks(2, **FAKE).call(worker.run_program, drawn.getrandbits(30), "none", ("device",), (way,), 60)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(3))
def test_other_delays(ranks, drawn, seed):
    for path in ("packed", "direct"):
        job = ranks(2, **FAKE, **PATHS[path], TEMPI_FAKE_SEED=str(100 + seed))
        job.call(worker.run_program, drawn.getrandbits(30), "stream", ALL_KINDS, programs.WAYS, 20)


def test_messages_of_device_memory_do_not_wait_on_the_cpu(ranks, drawn):
    ways = ("Isend, Irecv, Waitall", "Send_init, Recv_init", "Send, Recv")
    for counts in ranks(2, **FAKE).call(worker.run_program, drawn.getrandbits(30), "stream", ("device",), ways, 6):
        assert counts.get(WAITED, 0) == 0
        assert counts[ORDERED] > 0
        assert counts[f"unpacking {QUEUED}"] > 0


def test_packs_and_unpacks_are_queued(ranks, drawn):
    ways = ("Pack, Sendrecv, Unpack",)
    for counts in ranks(2, **FAKE).call(worker.run_program, drawn.getrandbits(30), "stream", ("device",), ways, 6):
        assert counts[f"MPI_Pack {QUEUED}"] == counts[f"MPI_Unpack {QUEUED}"] == 6


@pytest.mark.usefixtures("thread_multiple")
def test_two_threads_have_two_streams(ranks, drawn):
    job = ranks(2, **FAKE, TESTS_THREAD_LEVEL="3")
    for _ in range(scaled(20, least=2)):
        for streams in job.call(worker.run_programs_in_threads, drawn.getrandbits(30), ("device", "managed"), 6):
            assert streams == [worker.NONE, worker.NONE]


@pytest.mark.parametrize(("name", "handle"), [("legacy", 1), ("per-thread", 2)])
def test_the_option_sets_the_stream_of_all_threads(ranks, name, handle):
    assert ranks(2, **FAKE, TEMPI_STREAM=name).call(worker.send_in_default_stream, 20) == [handle] * 2


def test_without_a_stream_nothing_is_ordered(ranks):
    assert ranks(2, **FAKE).call(worker.unordered_without_a_stream) == [{}, {}]
