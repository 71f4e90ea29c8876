"""Two transports in one job: files for some peers (file_transport.cpp), shared segments for the others."""

import sys
from collections import Counter
from itertools import permutations

import cluster
import exchange_worker
import nodes_worker
import pytest
import two_transports_worker as worker
from hosts import Hosts, why_not
from test_direct import DIRECT, FACES, gpu_end

from support import lanes, needs, shim
from support.programs import succeed
from support.ranks import Ranks

PATIENT = {"TEMPI_MATCH_TIMEOUT": "5000000"}
SHORT = {"TEMPI_MATCH_TIMEOUT": "100000"}
FAR_PAIRS = [(a, b) for a, b in permutations(range(4), 2) if a // 2 != b // 2]
NEXT_BUT_ONE = [(a, (a + 2) % 4) for a in range(4)]  # the other rank is on the other host


@pytest.fixture
def with_files(other_shim, tmp_path, monkeypatch):
    """The environment of ranks with both transports."""
    monkeypatch.setenv("TESTS_SHIM", str(other_shim))
    monkeypatch.delenv(lanes.VARIABLE, raising=False)
    shim.path.cache_clear()
    yield DIRECT | PATIENT | {"TESTS_TRANSPORT": str(tmp_path), "TESTS_FILE_PEERS": "odd"}
    shim.path.cache_clear()


def carried(folder):
    """The number of messages that went by files, by sender and receiver."""
    lines = [line for file in folder.rglob("carried") for line in file.read_text().splitlines()]
    return Counter(tuple(map(int, line.split("-")[1:3])) for line in lines)


def test_each_transport_carries_the_messages_of_its_peers(with_files, tmp_path):
    with Ranks(3, with_files) as job:
        sent = job.call(nodes_worker.messages_to_all, gpu_end(FACES[0], 1), gpu_end(FACES[1], 2), 4)
    assert sent == [(8, 8)] * 3
    assert carried(tmp_path) == dict.fromkeys([(0, 1), (1, 0), (1, 2), (2, 1)], 4)


def test_a_ring_over_both_transports_is_direct(with_files, tmp_path):
    with Ranks(3, with_files) as job:
        assert job.call(exchange_worker.ring, gpu_end(FACES[0]), gpu_end(FACES[1]), 7) == [7] * 3
    assert carried(tmp_path) == {(0, 1): 7, (1, 2): 7}


@pytest.mark.parametrize("on_gpu", [False, True])
def test_both_transports_learn_of_a_receive_from_any_source(with_files, tmp_path, on_gpu):
    """It is complete: later receives are published in the segment. The files take no receive any more."""
    with Ranks(3, with_files | SHORT) as job:
        assert job.call(worker.any_source_then_two, gpu_end(FACES[0]), gpu_end(FACES[1]), on_gpu) == [0, 0, 2]
    assert not carried(tmp_path)


def test_a_call_may_have_a_peer_of_each_transport(with_files, tmp_path):
    with Ranks(3, with_files | SHORT) as job:
        job.call(worker.send_right_receive_left, gpu_end(FACES[0]), gpu_end(FACES[1]))
        assert job.call(exchange_worker.ring, gpu_end(FACES[0]), gpu_end(FACES[1]), 3) == [3] * 3
    assert carried(tmp_path)[0, 1] >= 3


def test_a_cancelled_receive_ends_the_order_of_its_transport_only(with_files):
    with Ranks(3, with_files | SHORT) as job:
        job.call(worker.cancel_a_receive_of_the_library)
        assert job.call(exchange_worker.ring, gpu_end(FACES[0]), gpu_end(FACES[1]), 2) == [0, 2, 2]


def test_the_user_is_told_the_names_of_the_transports(with_files):
    program = [sys.executable, "-c", "from mpi4py import MPI"]
    text = succeed(program, shim.preloaded(**with_files, TEMPI_LOG="info")).text
    assert "(transports: files ipc)" in text
    with Ranks(2, with_files) as job:
        why = job.call(worker.reason_for_no_channel)
    assert why == ["the transport to its peer, files, has no channels"] * 2


@pytest.fixture
def far_job(with_files, tmp_path, tmp_path_factory):
    """Two ranks on each of two hosts: files carry the messages between the hosts."""
    needs.hosts(why_not())
    hosts = Hosts(2, tmp_path_factory.mktemp("hosts"), [*cluster.shared_folders(), tmp_path])
    try:
        with cluster.job(hosts, 2, with_files | {"TESTS_FILE_PEERS": "far"}) as job:
            yield job
    finally:
        hosts.close()


def test_files_carry_the_messages_between_hosts(far_job, tmp_path):
    sent = far_job.call(nodes_worker.messages_to_all, gpu_end(FACES[0], 1), gpu_end(FACES[1], 2), 2)
    assert sent == [(6, 6)] * 4
    assert carried(tmp_path) == dict.fromkeys(FAR_PAIRS, 2)


def test_files_carry_the_messages_of_blocking_calls_between_hosts(far_job, tmp_path):
    sent = far_job.call(worker.blocking_calls_to_the_other_host, gpu_end(FACES[0], 1), gpu_end(FACES[1], 2))
    assert sent == [(2, 2)] * 4  # on MPI_COMM_WORLD, and on a communicator with other ranks
    assert carried(tmp_path) == dict.fromkeys(NEXT_BUT_ONE, 4)
