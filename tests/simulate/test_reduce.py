"""MPI_Allreduce of GPU memory on made-up clusters: every expected time is computed by hand."""

import numpy as np
import pytest
from clusters import LATENCY_US, RAIL_GB_PER_S, TERMS, fit, line, network
from hypothesis import given
from hypothesis import strategies as st

from tempi.simulate.allreduce import LibraryAllreduce
from tempi.simulate.errors import SimulationError
from tempi.simulate.reduction import Reduction
from tempi.simulate.scenario import Scenario

KIB, MIB = 1 << 10, 1 << 20
SETUP, COPY = 10e-6, 20e-12
OTHER_GPU, SAME_GPU, EMPTY = 3e-12, 7e-12, 20e-6
COMBINE_EMPTY, COMBINE = 1e-7, 1e-10
NEAR_LATENCY, NEAR = 1e-6, 2e-10
FAR_LATENCY, FAR = LATENCY_US * 1e-6, 1e-9 / RAIL_GB_PER_S
OF_REDUCTIONS = TERMS | {
    "pack.oneshot": line(SETUP, COPY),
    "unpack.oneshot": line(SETUP, COPY),
    "message.host.same_node": line(NEAR_LATENCY, NEAR),
    "reduce.other_gpu": line(EMPTY, OTHER_GPU),
    "reduce.same_gpu": line(EMPTY, SAME_GPU),
    "reduce.host": line(COMBINE_EMPTY, COMBINE),
}


def scenario(terms=OF_REDUCTIONS, **changes):
    return Scenario(network(**changes), fit(cuda_aware=False, terms=terms), memory="host")


def nodes_of(n, **others):
    """Nodes of n ranks and n GPUs."""
    return scenario(**{"ranks_per_node": n, "gpus_per_node": n} | others)


def library(n_places, n_groups=1, **changes):
    """Allreduces between nodes: a rank of each group on each node."""
    groups = np.arange(n_places * n_groups).reshape(n_places, n_groups).T
    return LibraryAllreduce(nodes_of(n_groups, **changes), groups, n_places * n_groups)


def far(n_bytes, n_messages=1):
    """A round between nodes, of messages that share a rail."""
    return FAR_LATENCY + n_messages * n_bytes * FAR


def near(n_bytes):
    return NEAR_LATENCY + n_bytes * NEAR


def combine(n_bytes):
    return COMBINE_EMPTY + n_bytes * COMBINE


def copies(n_bytes):
    return 2 * (SETUP + n_bytes * COPY)


def test_a_reduction_on_one_node_of_two_ranks_takes_its_measured_time():
    done = Reduction(nodes_of(2), 1).with_tempi(64 * MIB)
    assert (done.done_by, done.in_host_memory, done.votes) == ("kernels", 0, 0)
    assert done.seconds == pytest.approx(EMPTY + 64 * MIB * OTHER_GPU)


@pytest.mark.parametrize(("n", "traffic"), [(2, 1.0), (4, 1.5), (8, 1.75)])
def test_more_ranks_move_more_bytes_over_each_link(n, traffic):
    done = Reduction(nodes_of(n), 1).with_tempi(MIB)
    assert done.seconds == pytest.approx(EMPTY + traffic * MIB * OTHER_GPU)


def test_ranks_that_share_gpus_have_a_term_of_their_own():
    done = Reduction(nodes_of(2, gpus_per_node=1), 1).with_tempi(MIB)
    assert done.seconds == pytest.approx(EMPTY + MIB * SAME_GPU)


def test_one_rank_has_nothing_to_reduce():
    one = Reduction(nodes_of(1), 1)
    assert one.with_tempi(MIB).seconds == one.alone(MIB).seconds == 0


def test_kernels_serve_a_limited_number_of_ranks():
    for n, done_by in ((64, "kernels"), (65, "library")):
        assert Reduction(nodes_of(n), 1).with_tempi(MIB).done_by == done_by


def test_the_library_alone_on_one_node():
    """Rabenseifner's algorithm: 1 MiB is the half of the data, and half of that."""
    done = Reduction(nodes_of(4), 1).alone(2 * MIB)
    rounds = 2 * near(MIB) + combine(MIB) + 2 * near(MIB // 2) + combine(MIB // 2)
    assert done.on_node == pytest.approx(copies(2 * MIB))
    assert done.in_host_memory == pytest.approx(rounds)


@pytest.mark.parametrize("n_bytes", [8, 64 * MIB])
def test_one_rank_on_each_of_two_nodes_is_the_library(n_bytes):
    two = Reduction(nodes_of(1), 2)
    all_at_once = far(n_bytes) + combine(n_bytes)
    in_halves = 2 * far(n_bytes // 2) + combine(n_bytes // 2)
    assert two.with_tempi(n_bytes) == two.alone(n_bytes)
    assert two.alone(n_bytes).done_by == "library"
    assert two.alone(n_bytes).seconds == pytest.approx(copies(n_bytes) + min(all_at_once, in_halves))
    assert (all_at_once < in_halves) == (n_bytes == 8)


def test_two_nodes_of_several_ranks():
    """Four parts, whose messages share a rail in each direction."""
    n_bytes, part = 64 * MIB, 16 * MIB
    done = Reduction(nodes_of(4), 2).with_tempi(n_bytes)
    votes = 2 * (2 * near(1) + far(1, 4) + 3 * combine(1))
    over_links = n_bytes * OTHER_GPU * 3 / 4
    assert done.done_by == "both"
    assert part * COPY > over_links
    assert done.on_node == pytest.approx(2 * (SETUP + part * COPY))
    assert done.in_host_memory == pytest.approx(2 * far(part // 2, 4) + combine(part // 2))
    assert done.votes == pytest.approx(votes)
    assert done.seconds == pytest.approx(done.on_node + done.in_host_memory + done.votes)


def test_a_step_takes_the_time_of_its_slower_traffic():
    terms = OF_REDUCTIONS | {"reduce.other_gpu": line(EMPTY, 100 * OTHER_GPU)}
    done = Reduction(nodes_of(4, terms=terms), 2).with_tempi(MIB)
    assert done.on_node == pytest.approx(2 * (SETUP + MIB * 100 * OTHER_GPU * 3 / 4))


@pytest.mark.parametrize(("n_bytes", "is_by_ring"), [(64 * KIB, False), (8 * MIB, True)])
def test_the_library_alone_on_two_nodes(n_bytes, is_by_ring):
    """In the ring, one of four ranks sends to the other node; the rounds take as long as messages on the node."""
    halves = [n_bytes // 2, n_bytes // 4, n_bytes // 8]
    of_messages = near(halves[0]) + near(halves[1]) + far(halves[2], 4)
    by_halves = 2 * of_messages + sum(map(combine, halves))
    by_ring = 14 * max(near(n_bytes // 8), far(n_bytes // 8)) + 7 * combine(n_bytes // 8)
    done = Reduction(nodes_of(4), 2).alone(n_bytes)
    assert done.in_host_memory == pytest.approx(min(by_halves, by_ring))
    assert (by_ring < by_halves) == is_by_ring


def test_the_algorithms_of_a_power_of_two():
    n_bytes = MIB
    found = library(8).by_algorithm(n_bytes)
    halves = [n_bytes // 2, n_bytes // 4, n_bytes // 8]
    assert found == pytest.approx({
        "recursive doubling": 3 * (far(n_bytes) + combine(n_bytes)),
        "Rabenseifner": sum(2 * far(n) + combine(n) for n in halves),
        "ring": 14 * far(n_bytes // 8) + 7 * combine(n_bytes // 8),
    })  # fmt: skip


def test_other_numbers_of_places_have_a_round_more_before_and_behind():
    n_bytes = 3 * MIB
    found = library(6).by_algorithm(n_bytes)
    more = 2 * far(n_bytes) + combine(n_bytes)
    assert found["recursive doubling"] == pytest.approx(more + 2 * (far(n_bytes) + combine(n_bytes)))
    halves = [n_bytes // 2, n_bytes // 4]
    assert found["Rabenseifner"] == pytest.approx(more + sum(2 * far(n) + combine(n) for n in halves))
    assert found["ring"] == pytest.approx(10 * far(n_bytes // 6) + 5 * combine(n_bytes // 6))


@pytest.mark.parametrize(
    ("n_places", "n_bytes", "fastest"),
    [(6, 8, "recursive doubling"), (6, 64 * MIB, "ring"), (8, 8, "recursive doubling"), (8, 64 * MIB, "Rabenseifner")],
)
def test_the_library_takes_the_fastest_algorithm(n_places, n_bytes, fastest):
    one = library(n_places)
    found = one.by_algorithm(n_bytes)
    assert min(found, key=found.get) == fastest
    assert one.seconds(n_bytes) == found[fastest]


def test_places_share_the_rails_of_their_node():
    for n in (1, 2, 4):
        assert library(2, n).by_algorithm(MIB)["recursive doubling"] == pytest.approx(far(MIB, n) + combine(MIB))
    assert library(2, 4, rails=4).by_algorithm(MIB) == pytest.approx(library(2).by_algorithm(MIB))


class Recording(Scenario):
    """Records the messages of each round."""

    def of_rounds(self, rounds, n_ranks, with_tempi):
        seen.extend(list(zip(m.source.tolist(), m.target.tolist(), strict=True)) for m in rounds)
        return super().of_rounds(rounds, n_ranks, with_tempi)


seen = []


def known_after(rounds, known):
    """The inputs that each rank has after rounds, of which each message carries all that its source has."""
    for messages in rounds:
        before = dict(known)
        for source, target in messages:
            known[target] = known[target] | before[source]
    return known


@pytest.mark.parametrize("n_places", range(2, 18))
def test_the_rounds_bring_each_input_to_each_place(n_places):
    seen.clear()
    one = Recording(network(), fit(terms=OF_REDUCTIONS), memory="host")
    groups = np.arange(2 * n_places).reshape(n_places, 2).T
    LibraryAllreduce(one, groups, 2 * n_places).by_algorithm(MIB)
    n_rounds, is_folded = n_places.bit_length() - 1, n_places & (n_places - 1) != 0
    begin = [[(target, source) for source, target in seen[0]]] if is_folded else []
    doubling, halving = seen[: is_folded + n_rounds], seen[is_folded + n_rounds : -1]
    for rounds in (doubling + begin, halving + begin, seen[-1:] * (n_places - 1)):
        known = known_after(rounds, {rank: {rank} for rank in range(2 * n_places)})
        assert all(known[rank] == set(groups[rank % 2].tolist()) for rank in known)


@pytest.mark.parametrize("n_bytes", [8, 512 * KIB - 8])
def test_less_than_512_kib_on_several_nodes_is_the_library(n_bytes):
    two = Reduction(nodes_of(4), 2)
    assert two.with_tempi(n_bytes) == two.alone(n_bytes)


def test_512_kib_on_several_nodes_are_reduced_by_kernels():
    assert Reduction(nodes_of(4), 2).with_tempi(512 * KIB).done_by == "both"
    assert Reduction(nodes_of(4), 1).with_tempi(8).done_by == "kernels"


@pytest.mark.parametrize("name", ["reduce.other_gpu", "reduce.host", "pack.oneshot", "message.host.same_node"])
def test_a_missing_term_is_named(name):
    terms = {key: term for key, term in OF_REDUCTIONS.items() if key != name}
    with pytest.raises(SimulationError, match=rf"no term {name}\. .*--profile"):
        Reduction(nodes_of(4, terms=terms), 2).with_tempi(MIB)


def test_a_missing_term_of_reductions_asks_for_a_new_measurement():
    with pytest.raises(
        SimulationError, match=r"no term reduce\.other_gpu\. .*run tempi measure on a machine with GPUs"
    ):
        Reduction(nodes_of(2, terms=TERMS), 1).with_tempi(MIB)


def test_too_many_ranks_are_refused():
    with pytest.raises(SimulationError, match="524,288 ranks: at most 262,144"):
        Reduction(nodes_of(2), 1 << 18)


@given(
    n=st.integers(1, 4),
    n_nodes=st.integers(1, 6),
    sizes=st.lists(st.integers(1, 1 << 24), min_size=2, max_size=6),
    rails=st.integers(1, 4),
)
def test_more_bytes_never_take_less_time(n, n_nodes, sizes, rails):
    """At least for one way: kernels begin at 512 KiB, if they are faster or not."""
    one = Reduction(nodes_of(n, rails=rails), n_nodes)
    kinds = {}
    for n_bytes in sorted(8 * size for size in sizes):
        done = one.with_tempi(n_bytes)
        for way, seconds in ((done.done_by, done.seconds), ("alone", one.alone(n_bytes).seconds)):
            assert seconds * (1 + 1e-9) >= kinds.get(way, 0)
            kinds[way] = seconds
