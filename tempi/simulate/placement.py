"""The node of each rank.

Glossary
    block       ranks fill one node after the other
    cyclic      ranks are dealt out to the nodes in turn
    cartesian   each node has a brick of the grid of ranks: of all, those with the fewest bytes between nodes
    tempi       as TEMPI_PLACEMENT=1 orders ranks that a launcher has placed by block, with the bytes of
                messages as the weights of a distributed graph
    tempi-grid  the same of MPI_Cart_create, which knows no sizes
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tempi import _native
from tempi.simulate.errors import SimulationError
from tempi.simulate.halo import Cells
from tempi.simulate.messages import Integers, Messages

PLACEMENTS = ("block", "cyclic", "cartesian", "tempi", "tempi-grid")
OF_RECORDED = ("block", "cyclic", "tempi")  # of messages without a grid


def nodes_by_rule(n_ranks: int, ranks_per_node: int, placement: str) -> Integers:
    """The node of each rank, by "block" or "cyclic"."""
    ranks = np.arange(n_ranks)
    n_nodes = -(-n_ranks // ranks_per_node)
    return ranks % n_nodes if placement == "cyclic" else ranks // ranks_per_node


def nodes_by_bricks(dims: Cells, ranks_per_node: int, messages: Messages) -> Integers:
    """The node of each rank in bricks of the grid, those with the fewest bytes between nodes.

    Raises
    ------
    SimulationError
        If no brick of so many ranks divides the grid.
    """
    found = [nodes_of_brick(dims, brick) for brick in _bricks(dims, ranks_per_node)]
    if not found:
        raise SimulationError(
            f"no box of {ranks_per_node} ranks divides a grid of {dims}: use another placement or grid"
        )
    return min(found, key=lambda nodes: bytes_between(nodes, messages))


def nodes_by_graph(given: Integers, messages: Messages) -> Integers:
    """The node of each rank of a distributed graph with reorder, made by the ranks of `given` nodes."""
    joined = messages.joined()
    edges = zip(joined.source.tolist(), joined.target.tolist(), joined.bytes.tolist(), strict=True)
    return _of_ranks(_native.ranks_for_graph(list(edges), given.tolist()), given)


def nodes_by_grid(given: Integers, dims: Cells) -> Integers:
    """The same of a periodic Cartesian communicator."""
    return _of_ranks(_native.ranks_for_grid(dims, [True] * len(dims), given.tolist()), given)


def _of_ranks(ranks: list[int], given: Integers) -> Integers:
    nodes = np.empty_like(given)
    nodes[ranks] = given
    return nodes


def bytes_between(nodes: Integers, messages: Messages) -> int:
    """Bytes of the messages from one node to another."""
    return int(messages.bytes[nodes[messages.source] != nodes[messages.target]].sum())


def nodes_of_brick(dims: Cells, brick: Cells) -> Integers:
    """The node of each rank, where each node has a brick of the grid."""
    z, y, x = (at.reshape(-1) // n for at, n in zip(np.indices(dims), brick, strict=True))
    return np.asarray((z * (dims[1] // brick[1]) + y) * (dims[2] // brick[2]) + x, np.int64)


def _bricks(dims: Cells, size: int) -> Iterator[Cells]:
    for z in range(1, size + 1):
        for y in range(1, size // z + 1):
            x = size // (z * y)
            if z * y * x == size and not (dims[0] % z or dims[1] % y or dims[2] % x):
                yield z, y, x
