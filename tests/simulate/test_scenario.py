"""Whole scenarios: the ways to exchange a halo, rounds, and numbers of ranks."""

from dataclasses import replace

import numpy as np
import pytest
from clusters import LATENCY_US, LAUNCH_S, NEAR_PER_BYTE, PACK_PER_BYTE, TERMS, fit, line, messages, network

from tempi.simulate.errors import SimulationError
from tempi.simulate.halo import Halo
from tempi.simulate.scenario import Problem, Scenario

ONE_RANK = Halo((64, 64, 64), (1, 1, 1), radius=2, quantities=3)
TWO = {"ranks_per_node": 2, "gpus_per_node": 2}


def test_by_pack_every_quantity_and_direction_is_a_call():
    done = Scenario(network(), fit(), "pack").of_halo(ONE_RANK, True)
    n_bytes = int(ONE_RANK.messages().bytes.sum())
    packing = 26 * 3 * LAUNCH_S + PACK_PER_BYTE * n_bytes
    own_message = 3e-6 + NEAR_PER_BYTE * n_bytes
    assert done.messages == 1
    assert done.seconds == pytest.approx(2 * packing + own_message)


def test_by_pack_the_library_takes_a_copy_a_block():
    done = Scenario(network(library_block_us=10.0), fit(), "pack").of_halo(ONE_RANK, False)
    n_blocks = int(ONE_RANK.messages().blocks.sum())
    own_message = 3e-6 + NEAR_PER_BYTE * int(ONE_RANK.messages().bytes.sum())
    assert done.seconds == pytest.approx(2 * n_blocks * 10e-6 + own_message)


def test_by_halo_there_is_one_message_for_each_neighbouring_rank():
    halo = Halo((64, 64, 128), (1, 1, 2), radius=1)
    one_call = Scenario(network(**TWO), fit(), "halo", call_us=5.0).of_halo(halo, True)
    no_call = Scenario(network(**TWO), fit(), "halo").of_halo(halo, True)
    assert one_call.messages == 4
    assert one_call.seconds == pytest.approx(no_call.seconds + 5e-6)


def test_direct_messages_start_together_when_their_rank_waits():
    terms = TERMS | {"message.direct.other_gpu": line(9e-6)}
    halo = Halo((64, 64, 128), (1, 1, 2), radius=1, quantities=2)
    sent = halo.messages().select(slice(26))
    to_itself = int(sent.bytes[sent.target == 0].sum())
    done = Scenario(network(**TWO), fit(terms=terms), "isend", call_us=2.0).of_halo(halo, True)
    assert done.strategies == {"direct": 52}
    of_kernels = LAUNCH_S + 18 * (9e-6 - LAUNCH_S) + 2 * PACK_PER_BYTE * to_itself
    assert done.seconds == pytest.approx(52 * 2e-6 + of_kernels)


def test_without_contention_an_exchange_takes_as_long_as_its_slowest_message():
    """Each of the 26 messages between two ranks of its own."""
    scenario = Scenario(network(), fit(), strategy="device")
    own = Halo((8, 64, 64), (1, 1, 1), radius=2, quantities=1).messages()
    apart = replace(own, source=2 * np.arange(26), target=2 * np.arange(26) + 1)
    each = [scenario.of_rounds([apart.select([i])], 52, True).seconds for i in range(26)]
    assert scenario.of_rounds([apart], 52, True).seconds == pytest.approx(max(each))
    assert min(each) < max(each)


def test_rounds_follow_each_other():
    scenario = Scenario(network(), fit())
    rounds = [messages((0, 1, 1 << 20)), messages((1, 0, 1 << 10))]
    each = [scenario.of_rounds([one], 2, True) for one in rounds]
    both = scenario.of_rounds(rounds, 2, True)
    assert both.seconds == pytest.approx(sum(one.seconds for one in each))
    assert both.bytes == (1 << 20) + (1 << 10)
    assert both.strategies == {"library": 2}
    assert both.seconds > 2 * LATENCY_US * 1e-6


def test_recorded_messages_have_no_bricks():
    with pytest.raises(SimulationError, match="have no grid"):
        Scenario(network(), fit(), placement="cartesian").of_rounds([messages((0, 1, 8))], 2, True)


def test_recorded_messages_are_placed_by_their_bytes():
    rounds = [messages((0, 2, 1 << 20)), messages((1, 3, 1 << 20))]
    found = {p: Scenario(network(**TWO), fit(), placement=p).of_rounds(rounds, 4, True) for p in ("block", "tempi")}
    assert found["block"].bytes_between_nodes == 2 << 20
    assert found["tempi"].bytes_between_nodes == 0


def test_weak_scaling_multiplies_the_cells_and_strong_scaling_keeps_them():
    assert Problem((8, 4, 2), radius=1).on(8).cells == (16, 8, 4)
    assert Problem((8, 4, 2), False, radius=1).on(8).cells == (8, 4, 2)


def test_host_memory_needs_no_gpu_and_gpu_memory_does():
    none = fit(gpu="none", terms={"message.host.same_node": line(1e-6)})
    with pytest.raises(SimulationError, match="without a GPU"):
        Scenario(network(), none)
    with pytest.raises(SimulationError, match="--way pack is for GPU memory only"):
        Scenario(network(), fit(), "pack", memory="host")
