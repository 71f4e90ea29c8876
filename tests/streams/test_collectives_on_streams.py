"""Persistent collective operations that are started and completed on a stream: exchanges and kernels in the stream."""

import re
from pathlib import Path

import collectives_on_streams_worker as worker
import pytest
from enqueue_worker import CHANNEL, ORDINARY
from node_reductions_worker import COMBINATIONS, OPERATIONS, OPTIONS, Case

from support import effort, needs
from support.ranks import Ranks

pytestmark = needs.function("Allreduce_init")
WAYS = ("enqueued", "captured", "MPI_Start", "enqueued", "captured", "captured")
N_RANKS = (1, 2, 3, 4)
MACHINES = Path(__file__).parents[2] / "perfmodel/machines"


@pytest.fixture
def job(ranks):
    return lambda size, **options: ranks(size, **{**OPTIONS, **options})


@pytest.mark.parametrize("size", N_RANKS)
def test_random_reductions(job, drawn, size):
    seeds = [drawn.getrandbits(30) for _ in range(effort.scaled(60, least=20))]
    for _, counted in job(size).call(worker.reduce_drawn, seeds, timeout=120):
        assert ORDINARY not in counted


@pytest.mark.sample(1)
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("size", [2, 3])
def test_large_counts_are_divided_among_the_ranks(job, size, operation, in_place):
    counts = (511, 40_003, 300_001, 700_001)  # in one step, and in two
    cases = [Case(operation, "DOUBLE", "SUM", count, in_place, root=1, seed=7) for count in counts]
    for counted in job(size).call(worker.reduce_all, cases, WAYS, timeout=120):
        assert ORDINARY not in counted


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("root", [0, 1])
def test_two_ranks_reduce_much_data_to_one_of_them(job, root, in_place):
    cases = [Case("Reduce", "DOUBLE", "SUM", count, in_place, root=root, seed=8) for count in (2_097_152, 2_200_001)]
    for counted in job(2).call(worker.reduce_all, cases, ["enqueued", "captured"], timeout=120):
        assert ORDINARY not in counted


@pytest.mark.parametrize(("count", "kernels"), [(1, 1), (1000, 1), (100_000, 2)])
def test_the_kernel_of_the_exchange_reduces_small_data(job, count, kernels):
    assert job(2).call(worker.launches_of, count, 5) == [5 * kernels] * 2


@pytest.mark.parametrize("slow", [(), (0,), (2,), (0, 1, 2)])
def test_one_rank_that_predicts_two_steps_is_enough(tmp_path, slow):
    """Of slow links; two steps are two exchanges, and 8 KiB need no other kernel."""
    profile = tmp_path / "slow.fit"
    shipped = (MACHINES / "nvidia-h200-openmpi-4.1.6.fit").read_text()
    profile.write_text(re.sub(r"(?m)^(term reduce.other_gpu) .*", r"\1 0 1e-5 1e-8 0.0 0.0 0.0", shipped))
    with Ranks(3, OPTIONS, {rank: {"TEMPI_PROFILE": str(profile)} for rank in slow}) as job:
        assert job.call(worker.launches_of, 1024, 5, timeout=60) == [5 * (2 if slow else 1)] * 3
        cases = [Case(operation, "DOUBLE", "SUM", 1024, seed=9) for operation in OPERATIONS]
        for counted in job.call(worker.reduce_all, cases, ["enqueued", "captured"], timeout=60):
            assert ORDINARY not in counted


def test_all_datatypes_and_operations(job, drawn):
    cases = [
        Case("Allreduce", *each, drawn.choice((3, 17, 1001)), drawn.random() < 0.5, seed=drawn.getrandbits(30))
        for each in COMBINATIONS
    ]
    for counted in job(2).call(worker.reduce_all, cases, ["enqueued", "enqueued"], timeout=120):
        assert ORDINARY not in counted


@pytest.mark.parametrize("n", [7, 5000])
@pytest.mark.parametrize("size", [2, 3, 4])  # one rank sends no messages: the library carries it out
def test_movements(job, size, n):
    for counted in job(size).call(worker.move_all, n, WAYS, timeout=60):
        assert ORDINARY not in counted
        assert counted[CHANNEL] > 0


def test_movements_in_place(job):
    job(3).call(worker.move_all, 100, ["enqueued"] * 3, True, timeout=60)


@pytest.mark.sample(2)
@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_solver_exchanges_and_reduces(job, size):
    for counted in job(size).call(worker.together, effort.scaled(20, least=8), timeout=60):
        assert ORDINARY not in counted


def test_a_late_rank_is_waited_for(job):
    for counted in job(3).call(worker.a_rank_is_late, 0.5, 4, timeout=60):
        assert ORDINARY not in counted


def test_requests_are_freed_while_their_work_is_queued(job):
    job(3).call(worker.freed_behind_the_wait, 12, timeout=60)


def test_a_request_is_started_once(job):
    for said in job(2).call(worker.started_twice, timeout=30):
        assert len(said) == 2


@pytest.mark.parametrize("options", [{"TEMPI_NO_DIRECT": "1"}, {"TEMPI_STRATEGY": "oneshot"}], ids=str)
def test_without_direct_messages(job, options):
    cases = [Case(operation, "INT", "SUM", 100, root=1, seed=3) for operation in OPERATIONS]
    job(3, **options).call(worker.reduce_all, cases, ["enqueued"] * 3, timeout=60)
    job(3, **options).call(worker.move_all, 50, ["enqueued"] * 3, timeout=60)


def test_in_two_streams_in_turn(job):
    for counted in job(3).call(worker.in_two_streams_in_turn, 8, timeout=60):
        assert ORDINARY not in counted


@pytest.mark.sample(1)
@pytest.mark.parametrize("progress", ["calls", "thread"])
def test_parts_without_a_channel(job, progress):
    """A rank comes too late: the others give up the channels with it, and keep those among themselves."""
    options = {"TEMPI_CHANNEL_TIMEOUT": "100"}
    if progress == "thread":
        needs.thread_multiple()
        options["TEMPI_PROGRESS"] = "thread"
    for counted in job(3, **options).call(worker.in_two_streams_in_turn, 6, 1.5, timeout=60):
        assert counted[ORDINARY] > 0


def test_the_communicator_is_freed_first(job):
    for counted in job(3).call(worker.communicator_is_freed_first, timeout=60):
        assert ORDINARY not in counted


def test_a_freed_buffer_is_an_error(job):
    for said in job(2).call(worker.a_freed_buffer, timeout=30):
        assert "freed a buffer" in said


def test_by_the_thread(job):
    needs.thread_multiple()
    options = {"TEMPI_PROGRESS": "thread", "TEMPI_NO_DIRECT": "1"}
    job(3, **options).call(worker.move_all, 50, WAYS, timeout=60)
