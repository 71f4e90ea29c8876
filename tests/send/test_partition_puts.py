"""Partitions between GPUs of a node: each is written into the receive buffer when MPI_Pready is called."""

import os
import subprocess
import sys
from pathlib import Path

import partition_puts_worker as worker
import pytest
from mpi4py import MPI
from partition_puts_worker import Pair
from partitioned_worker import INT, N_LEAVES
from test_direct import DIRECT

from support import constructors as c
from support import effort, memory, needs, shim
from support.messages import MAKERS, End
from support.programs import mpirun_python
from support.ranks import Ranks

pytestmark = needs.function("Psend_init")

GAPS = c.Vector(2, 1, 3, INT)
N_PUT_ROUNDS = 3
SUCCESS, MOST_SECONDS = 0, 60


@pytest.fixture
def pair(ranks):
    return ranks(2, **DIRECT)


def vector_pair(n_sent=4, n_received=4, received="device"):
    return Pair(End("device", GAPS, N_LEAVES // 2), End(received, INT, N_LEAVES, 1), n_sent, n_received)


def drawn_end(drawn, count, kind="device"):
    maker = drawn.choice([*MAKERS, "named"])
    n_elements = N_LEAVES if maker == "named" else drawn.choice((1, 2, 3, 4, 6, 12))
    spec = INT if maker == "named" else MAKERS[maker](INT, N_LEAVES // n_elements, drawn)
    return End(kind, spec, n_elements, drawn.getrandbits(31) + count)


def drawn_pair(drawn, i):
    sent, received = drawn_end(drawn, i), drawn_end(drawn, i)
    divisions = [drawn.choice([n for n in range(1, end.count + 1) if end.count % n == 0]) for end in (sent, received)]
    return Pair(sent, received, *divisions)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_pairs_of_one_tag(ranks, thread_multiple, drawn, n_threads):
    """Any datatypes, any divisions, in any order."""
    job = ranks(2, **DIRECT, TESTS_THREAD_LEVEL="3")
    for _ in range(effort.scaled(12, least=3)):
        pairs = [drawn_pair(drawn, i) for i in range(drawn.randint(1, 4))]
        rounds = worker.ROUNDS_OF_LIBRARY + N_PUT_ROUNDS
        job.call(worker.several_pairs, pairs, rounds, drawn.getrandbits(30), n_threads, timeout=60)


@pytest.mark.parametrize(("n_sent", "n_received"), [(4, 4), (12, 3), (3, 12), (4, 6), (1, 8), (6, 1)])
def test_each_partition_arrives_alone(pair, n_sent, n_received):
    pair.call(worker.partitions_arrive_alone, vector_pair(n_sent, n_received))


def test_partitions_are_put(pair, drawn):
    """One or more puts a round, after the rounds in which the ends find each other."""
    puts, _ = pair.call(worker.several_pairs, [vector_pair()], worker.ROUNDS_OF_LIBRARY + N_PUT_ROUNDS, 1, 1)
    assert puts >= N_PUT_ROUNDS


@pytest.mark.sample(4)
@pytest.mark.parametrize("progress", ["thread", "calls"])
@pytest.mark.parametrize("completion", ["Wait", "Test", "Waitall", "Waitany"])
def test_kernels_make_partitions_ready(ranks, thread_multiple, drawn, completion, progress):
    """In the library's rounds and in puts, which need the thread; some partitions by MPI_Pready."""
    job = ranks(2, **DIRECT, TEMPI_PROGRESS=progress, TESTS_THREAD_LEVEL="3")
    rounds = worker.ROUNDS_OF_LIBRARY + N_PUT_ROUNDS
    for mixed in (0, 3):
        seed = drawn.getrandbits(30)
        puts, _ = job.call(worker.ready_by_words, vector_pair(12, 3), rounds, seed, completion, mixed, timeout=60)
        assert puts >= N_PUT_ROUNDS if progress == "thread" else puts == 0


def test_kernels_make_partitions_ready_without_direct_messages(ranks, drawn):
    job = ranks(2, **(DIRECT | {"TEMPI_NO_DIRECT": "1"}))
    assert job.call(worker.ready_by_words, vector_pair(12, 3), 4, drawn.getrandbits(30), "Wait", 2) == [0, 0]


def test_requests_whose_partitions_kernels_cannot_make_ready(ranks):
    found = ranks(2, **DIRECT).call(worker.words_of_others, vector_pair())
    assert found == [[MPI.ERR_REQUEST] * 2] * 2


@pytest.mark.parametrize("received", ["host", "pinned", "managed"])
def test_the_library_carries_other_memory(received):
    """Also beside a pair of GPU memory with the same tag. In a job of its own: behind earlier partitioned messages,
    Open MPI 5.0.11 may complete such receives before their bytes have arrived."""
    pairs = [vector_pair(), vector_pair(received=received), vector_pair(2, 8)]
    with Ranks(2, DIRECT) as job:
        puts, _ = job.call(worker.several_pairs, pairs, worker.ROUNDS_OF_LIBRARY + N_PUT_ROUNDS, 2, 1)
    assert puts >= 2 * N_PUT_ROUNDS


def test_no_puts_if_direct_messages_are_off(ranks):
    job = ranks(2, **(DIRECT | {"TEMPI_NO_DIRECT": "1"}))
    assert job.call(worker.several_pairs, [vector_pair()], 6, 3, 1) == [0, 0]


def test_one_end_without_direct_messages():
    with Ranks(2, DIRECT, {1: {"TEMPI_NO_DIRECT": "1"}}) as job:
        assert job.call(worker.several_pairs, [vector_pair()], 6, 3, 1) == [0, 0]


def test_a_receiver_that_starts_late(pair):
    pair.call(worker.sender_computes)


def test_a_request_that_is_freed(pair):
    pair.call(worker.sender_frees_its_request, vector_pair())


def test_wrong_partitions(pair):
    pair.call(worker.errors, vector_pair())


def test_statuses(pair):
    pair.call(worker.statuses, vector_pair(4, 2))


def test_messages_to_oneself(ranks):
    [puts] = ranks(1, **DIRECT).call(worker.to_itself, 6)
    assert puts >= N_PUT_ROUNDS


@pytest.mark.sample(3)
@needs.fake_device("failures on demand")
@pytest.mark.parametrize("step", ["launch:7", "launch:9", "write:1", "write:2", "finish:5", "query:1", "map:1"])
def test_a_failing_gpu(step):
    with Ranks(2, {**DIRECT, "TEMPI_FAKE_FAIL": step}) as job:
        job.call(worker.several_pairs, [vector_pair()], worker.ROUNDS_OF_LIBRARY + N_PUT_ROUNDS, 4, 1)


@needs.open_mpi()
def test_a_sender_that_dies(tmp_path):
    report = tmp_path / "class"
    common = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LD_PRELOAD": shim.preload(), **DIRECT}
    common |= {"TESTS_REPORT": str(report)}
    if memory.on_real_gpu():
        del common["TEMPI_DEVICE"]
    program = Path(__file__).parent / "dead_partitions_program.py"
    done = subprocess.run(
        mpirun_python([common, common], program),
        env=shim.clean_environment(),
        capture_output=True,
        timeout=MOST_SECONDS,
    )
    assert done.returncode != 0, "nobody died"
    assert int(report.read_text()) != SUCCESS
