"""The messages of a halo exchange, against counting by hand and against the shim's own features."""

from itertools import product

import numpy as np
import pytest

from tempi.simulate.errors import SimulationError
from tempi.simulate.halo import Halo, balanced_dims
from tempi.simulate.placement import bytes_between, nodes_by_bricks, nodes_by_graph, nodes_by_grid, nodes_by_rule


@pytest.mark.parametrize(
    ("ranks", "dims"),
    [(1, (1, 1, 1)), (4, (2, 2, 1)), (6, (3, 2, 1)), (7, (7, 1, 1)), (64, (4, 4, 4)), (3072, (16, 16, 12))],
)
def test_grids_are_those_of_mpi_dims_create(ranks, dims):
    assert balanced_dims(ranks) == dims


def test_bytes_of_every_direction():
    halo = Halo((16, 12, 8), (2, 2, 2), radius=2, quantities=3, element_bytes=4)
    messages = halo.messages()
    z, y, x = 8, 6, 4
    sent = 12 * sum(
        np.prod([2 if step else n for step, n in zip(d, (z, y, x), strict=True)])
        for d in product((-1, 0, 1), repeat=3)
        if any(d)
    )
    assert len(messages) == 8 * 26
    assert (np.bincount(messages.source, messages.bytes) == sent).all()
    assert (np.bincount(messages.target, messages.bytes) == sent).all()


def test_uneven_parts_cover_the_grid():
    messages = Halo((10, 7, 5), (3, 2, 1), radius=1, quantities=1, element_bytes=1).messages()
    low_z = messages.bytes.reshape(6, 26)[:, 4]  # (-1, 0, 0): one plane of y times x
    assert low_z.tolist() == [4 * 5, 3 * 5] * 3
    assert messages.target.reshape(6, 26)[:, 4].tolist() == [4, 5, 0, 1, 2, 3]


def test_a_block_smaller_than_the_halo_is_refused():
    with pytest.raises(
        SimulationError, match="along x, the grid has 8 cells for 4 ranks, but each rank needs at least 3"
    ):
        Halo((8, 8, 8), (1, 1, 4), radius=3)


def test_joined_messages_keep_the_bytes_and_have_one_for_each_pair():
    messages = Halo((32, 32, 32), (2, 2, 1)).messages()
    joined = messages.joined()
    assert joined.bytes.sum() == messages.bytes.sum()
    assert joined.blocks.sum() == messages.blocks.sum()
    pairs = list(zip(messages.source.tolist(), messages.target.tolist(), strict=True))
    in_order = list(zip(joined.source.tolist(), joined.target.tolist(), strict=True))
    assert in_order == list(dict.fromkeys(pairs))
    ranked = joined.by_target()
    assert list(zip(ranked.source.tolist(), ranked.target.tolist(), strict=True)) == sorted(in_order)


@pytest.mark.mpi_process(shim=False)
@pytest.mark.parametrize("direction", [0, 4, 10, 12, 13, 25])
@pytest.mark.parametrize(("quantities", "size"), [(1, (24, 20, 16)), (3, (24, 20, 16)), (2, (5, 4, 2))])
def test_features_are_those_of_the_shim(direction, quantities, size):
    from mpi4py import MPI

    import tempi

    radius = 1 if min(size) == 2 else 2
    messages = Halo(size, (1, 1, 1), radius, quantities).messages()
    step = [d for d in product((-1, 0, 1), repeat=3) if any(d)][direction]
    shape = [n + 2 * radius for n in size]
    counts = [radius if s else n for s, n in zip(step, size, strict=True)]
    starts = [{-1: radius, 0: radius, 1: n}[s] for s, n in zip(step, size, strict=True)]
    one = MPI.DOUBLE.Create_subarray(shape, counts, starts)
    places = [8 * i * int(np.prod(shape)) for i in range(quantities)]
    whole = MPI.Datatype.Create_struct([1] * quantities, places, [one] * quantities).Commit()
    found = tempi.explain(whole).features
    assert tuple(getattr(messages, name)[direction] for name in ("bytes", "blocks", "touched", "pages")) == found


def test_placements_put_as_many_ranks_on_each_node():
    for placement in ("block", "cyclic"):
        assert np.bincount(nodes_by_rule(48, 6, placement)).tolist() == [6] * 8


def test_bricks_have_the_fewest_bytes_between_nodes():
    halo = Halo((64, 32, 1024), (4, 4, 4))
    messages = halo.messages()
    bricks = nodes_by_bricks(halo.dims, 4, messages)
    assert np.bincount(bricks).tolist() == [4] * 16
    others = [bytes_between(nodes_by_rule(64, 4, placement), messages) for placement in ("block", "cyclic")]
    assert bytes_between(bricks, messages) <= min(others)


@pytest.mark.parametrize("cells", [(256, 256, 256), (64, 128, 1024), (1024, 128, 64), (32, 512, 64)])
@pytest.mark.parametrize("rule", ["block", "cyclic"])
def test_tempis_placement_of_64_nodes_has_the_fewest_bytes_between_nodes(cells, rule):
    dims = balanced_dims(256)
    halo = Halo(tuple(n * k for n, k in zip(cells, dims, strict=True)), dims)
    messages = halo.messages()
    found = nodes_by_graph(nodes_by_rule(256, 4, rule), messages)
    assert np.bincount(found).tolist() == [4] * 64
    others = [nodes_by_rule(256, 4, other) for other in ("block", "cyclic")] + [nodes_by_bricks(dims, 4, messages)]
    assert bytes_between(found, messages) <= min(bytes_between(nodes, messages) for nodes in others)


def test_placement_of_a_grid_knows_no_sizes():
    dims = (4, 4, 4)
    given = nodes_by_rule(64, 4, "cyclic")
    found = nodes_by_grid(given, dims)
    assert np.bincount(found).tolist() == [4] * 16
    faces = Halo((32, 32, 32), dims, radius=1).messages()
    faces = faces.select(faces.bytes == faces.bytes.max())
    assert bytes_between(found, faces) <= bytes_between(nodes_by_bricks(dims, 4, faces), faces)


def test_a_grid_without_bricks_is_refused():
    halo = Halo((32, 32, 32), (2, 2, 1))
    with pytest.raises(SimulationError, match="no box of 3 ranks"):
        nodes_by_bricks(halo.dims, 3, halo.messages())
