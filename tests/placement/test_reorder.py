"""Topologies with reorder and TEMPI_PLACEMENT: ranks, answers of MPI, errors, on pretended nodes."""

from collections import Counter
from itertools import product
from math import prod

import pytest
import reorder_worker as worker
from test_comm_ids import DIRECT, check_trees
from test_placement import between, faces

from support import needs

CYCLIC, BLOCKS, UNEVEN, ALONE, ONE = "01010101", "00001111", "00120212", "01234567", "00000000"
NODES = (CYCLIC, BLOCKS, UNEVEN, ALONE, ONE)
PARENTS = ("world", "backwards")
EACH = pytest.mark.parametrize("nodes", NODES)
# The library carries out calls with nothing to place. Open MPI reorders by itself, and leaves the edges behind.
GRAPHS = pytest.mark.parametrize(("nodes", "of", "weighted"), list(product(NODES[:3], PARENTS, [False, True])))


def processes_of(rows):
    """The process of each rank, the same on all ranks."""
    made = [row for row in rows if row is not None]
    assert all(one.processes == made[0].processes for one in made)
    assert all(rows[process].rank == rank for rank, process in enumerate(made[0].processes))
    return made[0].processes


def identity(of, size):
    return list(range(size)) if of == "world" else list(range(size))[::-1]


def check_nodes(edges, rows, nodes, of):
    """Less weight between nodes than without reorder, or the same ranks."""
    processes, same = processes_of(rows), identity(of, len(nodes))
    if len({*nodes}) in (1, len(nodes)):
        assert processes == same[: len(processes)]
    assert len({*processes}) == len(processes)
    found, given = (between(edges, range(len(o)), [nodes[p] for p in o]) for o in (processes, same))
    assert found < given or processes == same[: len(processes)]
    return found, given


@pytest.mark.sample(10)
@EACH
@pytest.mark.parametrize("of", PARENTS)
@pytest.mark.parametrize("dims", [[2, 4], [4, 2], [8], [2, 2, 2], [2, 2], [3], [1], [], [7, 1]])
def test_grids(on_nodes, nodes, of, dims):
    for periods in {(False,) * len(dims), (True,) * len(dims), (True, False, True)[: len(dims)]}:
        rows = on_nodes(nodes).call(worker.cart, of, dims, list(periods))
        assert sum(row is not None for row in rows) == prod(dims)
        check_nodes(faces(dims, periods), rows, nodes, of)
        for row in filter(None, rows):
            coords = list(product(*map(range, dims)))[row.rank]
            (told_dims, told_periods, told_coords), shifts = row.answers
            assert (list(told_dims), [*map(bool, told_periods)]) == (dims, list(periods))
            assert tuple(told_coords) == coords
            for i, (_, up) in enumerate(shifts):
                there = (*coords[:i], coords[i] + 1, *coords[i + 1 :])
                inside = there[i] < dims[i]
                wrapped = (*there[:i], there[i] % dims[i], *there[i + 1 :])
                expected = list(product(*map(range, dims))).index(wrapped) if inside or periods[i] else None
                assert (up if up >= 0 else None) == expected


def test_neighbours_of_a_grid_come_to_one_node(on_nodes):
    rows = on_nodes(CYCLIC).call(worker.cart, "world", [2, 4], [False, False])
    assert check_nodes(faces([2, 4], [False] * 2), rows, CYCLIC, "world") == (2, 6)


@EACH
@pytest.mark.parametrize("of", PARENTS)
def test_graphs(on_nodes, nodes, of, drawn):
    for n in (8, 5, 1):
        lists = [[drawn.randrange(n) for _ in range(drawn.randrange(4))] for _ in range(n)]
        lists[0].append(0)  # mpi4py takes an index that begins with 0 for another form
        index = [sum(map(len, lists[: i + 1])) for i in range(n)]
        flat = [other for one in lists for other in one]
        rows = on_nodes(nodes).call(worker.graph, of, index, flat)
        assert sum(row is not None for row in rows) == n
        check_nodes([(a, b, 1) for a, one in enumerate(lists) for b in one], rows, nodes, of)
        for row in filter(None, rows):
            (told_index, told_edges), neighbours = row.answers
            assert (list(told_index), list(told_edges), list(neighbours)) == (index, flat, lists[row.rank])


def random_edges(drawn, n, weighted):
    """Repeated edges, edges to oneself, vertices without any."""
    some = drawn.sample(range(n), drawn.randint(1, n))
    return [
        (drawn.choice(some), drawn.choice(some), drawn.randrange(9) if weighted else 1)
        for _ in range(drawn.randrange(4 * n))
    ]


def lists_of(edges, n):
    lists = [([], [], [], []) for _ in range(n)]
    for source, target, weight in edges:
        lists[source][2].append(target)
        lists[source][3].append(weight)
        lists[target][0].append(source)
        lists[target][1].append(weight)
    return lists


@GRAPHS
def test_adjacent_lists_go_with_their_vertices(on_nodes, nodes, of, weighted, drawn):
    for _ in range(8):
        edges = random_edges(drawn, 8, weighted)
        lists = lists_of(edges, 8)
        rows = on_nodes(nodes).call(worker.adjacent, of, lists, weighted)
        check_nodes(edges, rows, nodes, of)
        for row in rows:
            sources, into, destinations, out = lists[row.rank]
            told_sources, told_destinations, weights = row.answers
            assert (list(told_sources), list(told_destinations)) == (sources, destinations)
            assert weights is None if not weighted else [*map(list, weights)] == [into, out]


@GRAPHS
def test_distributed_graphs(on_nodes, nodes, of, weighted, drawn):
    for seed in range(8):
        edges = random_edges(drawn, 8, weighted)
        rows = on_nodes(nodes).call(worker.distributed, of, edges, weighted, seed)
        check_nodes(edges, rows, nodes, of)
        for row in rows:
            told_sources, told_destinations, weights = row.answers
            into, out = weights if weighted else ([1] * len(told_sources), [1] * len(told_destinations))
            expected_in, expected_out = (
                Counter((edge[1 - mine], edge[2]) for edge in edges if edge[mine] == row.rank) for mine in (1, 0)
            )
            assert Counter(zip(told_sources, into, strict=True)) == expected_in
            assert Counter(zip(told_destinations, out, strict=True)) == expected_out


@pytest.mark.parametrize("options", [{"TEMPI_PLACEMENT": "0"}, {"TEMPI_DISABLE": "1"}], ids=["off", "disabled"])
def test_without_the_option_no_rank_changes(on_nodes, options):
    check_untouched(on_nodes(CYCLIC, **options), reorder=True)


def test_without_reorder_no_rank_changes(on_nodes):
    check_untouched(on_nodes(CYCLIC), reorder=False)


def check_untouched(job, reorder):
    lists = lists_of([(i, (i + 1) % 8, 1) for i in range(8)], 8)
    same = list(range(8))
    assert processes_of(job.call(worker.cart, "world", [2, 4], [False, False], reorder)) == same
    assert processes_of(job.call(worker.graph, "world", same, same, reorder)) == same
    if not reorder:  # Open MPI places these by itself
        assert processes_of(job.call(worker.adjacent, "world", lists, False, reorder)) == same
        edges = [(i, (i + 1) % 8, 1) for i in range(8)]
        assert processes_of(job.call(worker.distributed, "world", edges, False, 1, reorder)) == same


ASSERTS = needs.open_mpi("MPICH ends a process with ranks outside of the communicator in MPI_Dist_graph_create")
WRONG = {
    "cart": ("too large", "negative"),
    "graph": ("too large", "no vertex"),
    "adjacent": ("too large", "negative", "nobody"),
    "distributed": ("negative weight",),
}
CASES = [(kind, wrong) for kind, every in WRONG.items() for wrong in every]
CASES += [pytest.param("distributed", wrong, marks=ASSERTS) for wrong in ("too large", "no source")]


@pytest.mark.parametrize(("kind", "wrong"), CASES)
def test_wrong_arguments_get_the_librarys_answer(on_nodes, kind, wrong):
    job = on_nodes(CYCLIC)
    assert job.call(worker.error_of, kind, wrong, True) == job.call(worker.error_of, kind, wrong, False)


def test_other_communicators_get_the_librarys_answer(on_nodes):
    for without, with_reorder, without_inter, with_inter in on_nodes(CYCLIC).call(worker.on_no_communicator):
        assert without == with_reorder != 0
        assert without_inter == with_inter != 0


def test_arguments_that_one_rank_alone_has(on_nodes):
    """MPI_PROC_NULL, which MPICH takes: no rank waits for the others. All ranks get an error of other libraries."""
    job = on_nodes(CYCLIC)
    refusals = job.call(worker.error_of, "adjacent", "nobody", False)
    assert len(set(refusals)) == 1
    if refusals[0] == 0:
        assert job.call(worker.with_nobody_on_one_rank) == [list(range(8))] * 8
    else:
        assert job.call(worker.error_of, "adjacent", "nobody", True) == refusals


def test_no_arrays_where_there_are_no_edges(on_nodes):
    job = on_nodes(CYCLIC)
    assert job.call(worker.unusual_addresses, 1) == job.call(worker.unusual_addresses, 0)


def test_error_handler_and_attributes(on_nodes):
    assert on_nodes(CYCLIC).call(worker.inherited) == [(True, False)] * 8


def test_intermediate_communicators_are_freed(on_nodes):
    on_nodes(CYCLIC).call(worker.make_many, 700, timeout=120)


def test_messages_of_the_program_stay_its_own(on_nodes):
    on_nodes(CYCLIC).call(worker.messages_beside)


@pytest.mark.sample(1)
@pytest.mark.parametrize("nodes", ["0101", "0121"])
def test_ids_of_communicators(on_nodes, drawn, nodes):
    """The same on all members, as without placement: processes that a small grid leaves out are others."""
    check_trees(on_nodes(nodes, **DIRECT, TEMPI_NO_DIRECT="0"), drawn, 60, fails=False)
