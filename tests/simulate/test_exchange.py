"""Simulated exchanges whose time is known by hand."""

import numpy as np
import pytest
from clusters import (
    LATENCY_US,
    LAUNCH_S,
    NEAR_LATENCY_S,
    NEAR_PER_BYTE,
    PACK_PER_BYTE,
    RAIL_GB_PER_S,
    fit,
    messages,
    network,
)  # fmt: skip
from hypothesis import given
from hypothesis import strategies as st

from tempi.simulate.costs import Costs
from tempi.simulate.exchange import Cluster, Exchange, Noise
from tempi.simulate.placement import nodes_by_rule
from tempi.simulate.profiles import completed

MIB = 1 << 20
LATENCY_S, RAIL_BYTES_PER_S = LATENCY_US * 1e-6, RAIL_GB_PER_S * 1e9


def exchange(n_ranks, net=None, placement="block", with_tempi=True, block_us=None, **others):
    net = net or network()
    cluster = Cluster(net, nodes_by_rule(n_ranks, net.ranks_per_node, placement), net.gpus_per_node)
    return Exchange(cluster, Costs(completed(fit(), net), with_tempi, block_us).of, **others)


def seconds(n_ranks, *rows, net=None, **others):
    return exchange(n_ranks, net, **others).run(messages(*rows)).seconds


def on_a_rail(*sizes):
    return LATENCY_S + sum(sizes) / RAIL_BYTES_PER_S


def test_no_message_takes_no_time():
    assert seconds(2) == 0


@pytest.mark.parametrize("size", [1, 4096, 64 * MIB])
def test_one_message_takes_latency_and_bytes(size):
    assert seconds(2, (0, 1, size)) == pytest.approx(on_a_rail(size))


def test_messages_out_of_one_rail_follow_each_other():
    assert seconds(4, (0, 1, MIB), (0, 2, MIB), (0, 3, MIB)) == pytest.approx(on_a_rail(MIB, MIB, MIB))


def test_messages_into_one_rail_follow_each_other():
    assert seconds(4, (0, 3, MIB), (1, 3, MIB), (2, 3, 2 * MIB)) == pytest.approx(on_a_rail(4 * MIB))


def test_messages_both_ways_do_not_meet():
    assert seconds(2, (0, 1, MIB), (1, 0, MIB)) == pytest.approx(on_a_rail(MIB))


def test_messages_of_other_pairs_do_not_meet():
    assert seconds(6, (0, 1, MIB), (2, 3, 3 * MIB), (4, 5, MIB)) == pytest.approx(on_a_rail(3 * MIB))


def test_ranks_of_a_node_share_its_rails_evenly():
    four = {"ranks_per_node": 4, "gpus_per_node": 4}
    rows = [(rank, 4 + rank, MIB) for rank in range(4)]
    for rails, in_turn in ((1, 4), (2, 2), (4, 1)):
        assert seconds(8, *rows, net=network(rails=rails, **four)) == pytest.approx(on_a_rail(in_turn * MIB))


def test_messages_meet_on_the_receivers_rail():
    net = network(ranks_per_node=4, gpus_per_node=4, rails=2)
    assert seconds(8, (0, 6, MIB), (2, 7, MIB), net=net) == pytest.approx(on_a_rail(2 * MIB))
    assert seconds(8, (0, 4, MIB), (2, 7, MIB), net=net) == pytest.approx(on_a_rail(MIB))


def test_messages_of_a_node_and_beyond_do_not_meet():
    net = network(ranks_per_node=2, gpus_per_node=2)
    assert seconds(4, (0, 2, 64 * MIB), (0, 1, MIB), net=net) == pytest.approx(on_a_rail(64 * MIB))
    near = exchange(4, net).run(messages((0, 2, 64 * MIB), (0, 1, MIB))).of_rank[1]
    assert near == pytest.approx(NEAR_LATENCY_S + NEAR_PER_BYTE * MIB)


def test_messages_of_a_node_take_the_profile_not_the_rail():
    net = network(ranks_per_node=2, gpus_per_node=2)
    assert seconds(2, (0, 1, MIB), net=net) == pytest.approx(NEAR_LATENCY_S + NEAR_PER_BYTE * MIB)


def test_links_of_a_leaf_are_shared_by_its_nodes():
    tapered = network(topology={"kind": "fat-tree", "nodes_per_leaf": 2, "taper": 2.0})
    across = [(0, 2, MIB), (1, 3, MIB)]
    assert seconds(4, *across, net=tapered) == pytest.approx(on_a_rail(2 * MIB))
    wide = network(topology={"kind": "fat-tree", "nodes_per_leaf": 2, "taper": 1.0})
    assert seconds(4, *across, net=wide) == pytest.approx(on_a_rail(MIB) + 0.5 * MIB / RAIL_BYTES_PER_S)
    assert seconds(4, (0, 1, MIB), (2, 3, MIB), net=tapered) == pytest.approx(on_a_rail(MIB))


def test_two_groups_of_a_dragonfly_share_one_link():
    groups = network(topology={"kind": "dragonfly", "nodes_per_group": 2, "group_link_gb_per_s": RAIL_GB_PER_S})
    assert seconds(6, (0, 2, MIB), (1, 3, MIB), net=groups) == pytest.approx(on_a_rail(2 * MIB))
    assert seconds(6, (0, 2, MIB), (1, 4, MIB), (2, 1, MIB), net=groups) == pytest.approx(on_a_rail(MIB))


def test_packs_that_wait_together_share_a_launch():
    packed = exchange(3).run(messages((0, 1, MIB), (0, 2, MIB), blocks=64, contiguous=False))
    assert packed.strategies == {"device": 2}
    at_the_ends = LAUNCH_S + 2 * PACK_PER_BYTE * MIB + LAUNCH_S + PACK_PER_BYTE * MIB
    assert packed.seconds == pytest.approx(at_the_ends + on_a_rail(MIB, MIB))


def test_the_library_alone_copies_block_by_block_at_both_ends():
    alone = exchange(2, with_tempi=False, block_us=10.0)
    done = alone.run(messages((0, 1, MIB), blocks=1000, contiguous=False))
    assert done.seconds == pytest.approx(0.02 + on_a_rail(MIB))


def test_calls_follow_each_other_receives_first():
    rows = [(0, 1, 8), (0, 2, 8), (1, 0, 8)]
    last = (1 + 2) * 1e-3  # one receive and two sends of rank 0
    assert seconds(3, *rows, call_s=1e-3) == pytest.approx(last + on_a_rail(8))


@pytest.mark.parametrize("size", [1, 4096, MIB, 10 * MIB + 1])
def test_one_message_in_chunks_is_as_fast_as_whole(size):
    assert seconds(2, (0, 1, size), chunk_bytes=4096) == pytest.approx(on_a_rail(size))


def test_a_short_message_waits_for_a_chunk_of_a_long_one():
    rows = [(0, 1, 64 * MIB), (0, 2, 4096)]
    whole, in_chunks = (exchange(3, chunk_bytes=size).run(messages(*rows)).of_rank for size in (None, MIB))
    assert whole[2] == pytest.approx(on_a_rail(64 * MIB, 4096))
    assert in_chunks[2] == pytest.approx(on_a_rail(MIB, 4096))
    assert in_chunks[1] == pytest.approx(whole[2])


def test_chunks_share_a_rail_fairly():
    rows = [(0, 1, 8 * MIB), (0, 2, 4 * MIB), (0, 3, 4 * MIB)]
    done = exchange(4, chunk_bytes=4096).run(messages(*rows)).of_rank
    assert done[2] == pytest.approx(on_a_rail(12 * MIB), rel=1e-2)
    assert done[1] == pytest.approx(on_a_rail(16 * MIB), rel=1e-2)


def test_noise_is_the_same_for_the_same_seed():
    rows = [(i, (i + k) % 8, MIB) for i in range(8) for k in (1, 2, 3)]
    times = [seconds(8, *rows, noise=Noise(0.3, seed)) for seed in (1, 1, 2)]
    assert times[0] == times[1] != times[2]
    assert seconds(8, *rows, noise=Noise(0.0, 1)) == seconds(8, *rows)


pairs = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(1, 64 * MIB)), min_size=1, max_size=40)


@given(pairs, st.sampled_from([1, 2, 4]))
def test_bytes_are_kept_and_no_rail_is_faster_than_its_bandwidth(rows, ranks_per_node):
    net = network(ranks_per_node=ranks_per_node, gpus_per_node=ranks_per_node)
    done = exchange(8, net).run(messages(*rows))
    out, into = np.zeros(8), np.zeros(8)
    for source, target, size in rows:
        if source // ranks_per_node != target // ranks_per_node:
            out[source // ranks_per_node] += size
            into[target // ranks_per_node] += size
    assert done.bytes == sum(size for *_, size in rows)
    assert done.bytes_between_nodes == out.sum() == into.sum()
    assert done.seconds * (1 + 1e-9) >= max(out.max(), into.max()) / RAIL_BYTES_PER_S


@given(pairs)
def test_a_message_more_never_ends_earlier(rows):
    assert seconds(8, *rows[:-1]) <= seconds(8, *rows) * (1 + 1e-12)


@given(pairs, st.permutations(range(8)))
def test_the_names_of_ranks_do_not_matter(rows, names):
    renamed = [(names[source], names[target], size) for source, target, size in rows]
    by_name = exchange(8).run(messages(*renamed)).of_rank
    assert sorted(exchange(8).run(messages(*rows)).of_rank) == pytest.approx(sorted(by_name))
