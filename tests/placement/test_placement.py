"""The rank of each process: a permutation that is never worse than the launcher's, for any graph, grid and nodes."""

from collections import Counter
from itertools import permutations, product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.effort import examples
from tempi import _native


def between(edges, ranks, nodes):
    """The weight between nodes, counted edge by edge."""
    node_of_rank = {rank: nodes[process] for process, rank in enumerate(ranks)}
    return sum(weight for a, b, weight in edges if node_of_rank[a] != node_of_rank[b])


def faces(dims, periods):
    """An edge for each face that two positions of a grid share."""
    positions = list(product(*map(range, dims)))
    edges = []
    for at in positions:
        for i, n in enumerate(dims):
            there = (*at[:i], (at[i] + 1) % n, *at[i + 1 :])
            if at[i] + 1 < n or (periods[i] and n > 1):
                edges.append((positions.index(at), positions.index(there), 1))
    return edges


def in_blocks(nodes):
    sizes = Counter(nodes)
    return [node for node in dict.fromkeys(nodes) for _ in range(sizes[node])]


def in_turn(nodes):
    left, found = Counter(nodes), []
    while len(found) < len(nodes):
        turn = [node for node in dict.fromkeys(nodes) if left[node] > 0]
        left.subtract(turn)
        found += turn
    return found


def check(edges, ranks, nodes):
    """No placement of launchers has less weight between nodes."""
    same = range(len(nodes))
    assert sorted(ranks) == list(same)
    weight = between(edges, ranks, nodes)
    for placed in (nodes, in_blocks(nodes), in_turn(nodes)):
        assert weight <= between(edges, same, placed)
    assert weight < between(edges, same, nodes) or list(ranks) == list(same)


NODES = st.lists(st.integers(0, 4), min_size=1, max_size=24)


@st.composite
def graphs(draw):
    nodes = draw(NODES)
    rank = st.integers(0, len(nodes) - 1)
    edge = st.tuples(rank, rank, st.integers(0, 9) | st.just(1 << 40))
    return draw(st.lists(edge, max_size=80)), nodes


@st.composite
def grids(draw):
    dims = draw(st.lists(st.integers(1, 5), max_size=4).filter(lambda dims: prod(dims) <= 48))
    n_outside = draw(st.integers(0, 5))
    n_nodes = draw(st.integers(1, 6))
    nodes = draw(st.permutations([i % n_nodes for i in range(prod(dims) + n_outside)]))
    return dims, draw(st.tuples(*[st.booleans()] * len(dims))), nodes


@examples(300)
@given(case=graphs())
def test_ranks_of_any_graph(case):
    edges, nodes = case
    check(edges, _native.ranks_for_graph(edges, nodes), nodes)


@examples(200)
@given(case=grids())
def test_ranks_of_any_grid(case):
    dims, periods, nodes = case
    check(faces(dims, periods), _native.ranks_for_grid(dims, periods, nodes), nodes)


@examples(40)
@given(case=graphs(), numbers=st.permutations(range(5)))
def test_the_numbers_of_nodes_and_the_order_of_edges_do_not_matter(case, numbers):
    edges, nodes = case
    ranks = _native.ranks_for_graph(edges, nodes)
    assert _native.ranks_for_graph([(b, a, weight) for a, b, weight in reversed(edges)], nodes) == ranks
    assert _native.ranks_for_graph(edges, [1000 * numbers[node] for node in nodes]) == ranks


@examples(30)
@given(weights=st.lists(st.integers(0, 5), min_size=15, max_size=15))
def test_small_graphs_are_near_the_best(weights):
    """Six processes in pairs, in all of their orders."""
    edges = [(a, b, w) for (a, b), w in zip([(a, b) for a in range(6) for b in range(a)], weights, strict=True)]
    nodes = [0, 1, 2, 0, 1, 2]
    best = min(between(edges, ranks, nodes) for ranks in permutations(range(6)))
    found = between(edges, _native.ranks_for_graph(edges, nodes), nodes)
    assert found <= 1.25 * best + 1


@pytest.mark.parametrize("dims", [(2, 4), (4, 4, 4), (8, 8, 4), (6, 4), (2, 3, 4, 2)])
@pytest.mark.parametrize("is_cyclic", [False, True])
def test_grids_are_cut_into_the_best_bricks(dims, is_cyclic):
    size, n = prod(dims), 4
    nodes = [rank % (size // n) if is_cyclic else rank // n for rank in range(size)]
    edges = faces(dims, [True] * len(dims))
    bricks = [b for b in product(range(1, n + 1), repeat=len(dims)) if prod(b) == n]
    fitting = [b for b in bricks if not any(d % k for d, k in zip(dims, b, strict=True))]
    at = np.indices(dims).reshape(len(dims), -1).T
    best = min(between(edges, range(size), [tuple(row) for row in (at // brick).tolist()]) for brick in fitting)
    assert between(edges, _native.ranks_for_grid(dims, [True] * len(dims), nodes), nodes) <= best


def test_heavy_pairs_come_together():
    edges = [(i, i + 8, 100) for i in range(8)] + [(i, (i + 1) % 16, 1) for i in range(16)]
    nodes = [rank // 2 for rank in range(16)]
    assert between(edges, _native.ranks_for_graph(edges, nodes), nodes) == 16


def test_positions_outside_of_a_grid_are_the_last_ranks():
    """A grid of one node's size stays on one node."""
    nodes = [0, 1, 2] * 4
    ranks = _native.ranks_for_grid([2, 2], [False, False], nodes)
    assert len({nodes[ranks.index(position)] for position in range(4)}) == 1


@pytest.mark.parametrize(
    ("edges", "nodes"), [([(0, 2, 1)], [0, 1]), ([(-1, 0, 1)], [0, 1]), ([(0, 1, -1)], [0, 1]), ([(0, 0, 1)], [])]
)
def test_edges_of_no_rank_are_refused(edges, nodes):
    with pytest.raises(ValueError, match="an edge is"):
        _native.ranks_for_graph(edges, nodes)


@pytest.mark.parametrize(
    ("dims", "periods"), [([3], [True]), ([0], [True]), ([-1], [True]), ([2], []), ([1 << 30, 1 << 30, 4], [True] * 3)]
)
def test_grids_of_no_ranks_are_refused(dims, periods):
    with pytest.raises(ValueError, match="a grid has"):
        _native.ranks_for_grid(dims, periods, [0, 1])


def test_no_ranks_at_all():
    assert _native.ranks_for_graph([], []) == []
