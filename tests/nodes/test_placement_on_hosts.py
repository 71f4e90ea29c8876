"""TEMPI_PLACEMENT on four hosts: neighbours come to one host."""

import cluster
import nodes_worker
import pytest
import reorder_worker
from test_placement import between, faces
from test_reorder import lists_of

from support import needs

PLACED = {"TEMPI_PLACEMENT": "1"}
PAIRS = [(2 * i, 2 * i + 1, 100) for i in range(4)] + [(i, (i + 1) % 8, 1) for i in range(8)]


@pytest.fixture(scope="module")
def job(four_hosts):
    """Ranks that are dealt out to the hosts in turn."""
    with cluster.job(four_hosts, 2, PLACED, cyclic=True) as started:
        yield started


def weights_between(job, edges, rows):
    """The weight between hosts, of the new ranks and of the old ones."""
    names, _ = job.call(nodes_worker.neighbours)[0]
    assert names == ["node1", "node2", "node3", "node4"] * 2
    processes = rows[0].processes
    same = range(len(names))
    return between(edges, same, [names[process] for process in processes]), between(edges, same, names)


def test_positions_of_a_grid(job):
    dims, periods = [4, 2], [False, False]
    rows = job.call(reorder_worker.cart, "world", dims, periods)
    assert weights_between(job, faces(dims, periods), rows) == (6, 10)


def test_vertices_of_a_weighted_graph(job):
    rows = job.call(reorder_worker.adjacent, "world", lists_of(PAIRS, 8), True)
    assert weights_between(job, PAIRS, rows) == (4, 408)


DISTRIBUTED = needs.open_mpi("MPICH 5.0.2 hangs in MPI_Dist_graph_create over TCP, with the shim off, too")


@DISTRIBUTED
def test_edges_that_any_process_tells(job):
    rows = job.call(reorder_worker.distributed, "world", PAIRS, True, 3)
    assert weights_between(job, PAIRS, rows) == (4, 408)


@DISTRIBUTED
def test_uneven_hosts(four_hosts):
    edges = [(i, i + 1, 1) for i in range(6)]
    with cluster.uneven_job(four_hosts, (3, 1, 2, 1), PLACED, cyclic=True) as job:
        rows = job.call(reorder_worker.distributed, "world", edges, False, 4)
        names, _ = job.call(nodes_worker.neighbours)[0]
    assert between(edges, range(7), [names[process] for process in rows[0].processes]) == 3
