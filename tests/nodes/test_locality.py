"""Ranks of different hosts are never taken for neighbours, however they are placed; those of one host are."""

import cluster
import nodes_worker as worker
import pytest
from test_direct import DIRECT, FACES, gpu_end

from support import needs

PATIENT = {"TEMPI_MATCH_TIMEOUT": "5000000"}
PLACEMENTS = [False, True]


@pytest.fixture(scope="module", params=PLACEMENTS, ids=["block", "cyclic"])
def placed(request, two_hosts):
    with cluster.job(two_hosts, 2, {**DIRECT, **PATIENT}, cyclic=request.param) as job:
        yield job, request.param


def hosts_of(job):
    names, _ = job.call(worker.neighbours)[0]
    return names


def test_the_launcher_places_ranks_as_it_is_told(placed):
    """Else the other tests would not tell."""
    job, is_cyclic = placed
    assert hosts_of(job) == ["node1", "node2"] * 2 if is_cyclic else ["node1"] * 2 + ["node2"] * 2


def test_the_ranks_of_a_node_are_those_with_its_name(placed):
    job, _ = placed
    for rank, (names, here) in enumerate(job.call(worker.neighbours)):
        assert here == [other for other, name in enumerate(names) if name == names[rank]], rank


def test_messages_are_direct_within_a_node_only(placed):
    job, _ = placed
    names = hosts_of(job)
    n = 3
    for rank, counts in enumerate(job.call(worker.messages_to_all, gpu_end(FACES[0]), gpu_end(FACES[1]), n)):
        n_near = n * (names.count(names[rank]) - 1)
        assert counts == (n_near, n_near), rank


@needs.open_mpi()
def test_shared_segments_of_other_nodes_are_not_looked_for(placed):
    job, _ = placed
    assert job.call(worker.searches, gpu_end(FACES[0]), gpu_end(FACES[1])) == [0] * job.size


def test_uneven_hosts(two_hosts):
    with cluster.uneven_job(two_hosts, (3, 1), DIRECT) as job:
        assert hosts_of(job) == ["node1"] * 3 + ["node2"]
        assert [here for _, here in job.call(worker.neighbours)] == [[0, 1, 2]] * 3 + [[3]]
