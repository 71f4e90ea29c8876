"""The strategy and the time of one message: the model's, and the shim's rule around it."""

import pytest
from clusters import LAUNCH_S, NEAR_LATENCY_S, NEAR_PER_BYTE, PACK_PER_BYTE, TERMS, fit, line, network
from hypothesis import given
from hypothesis import strategies as st

from tempi.model.features import Features
from tempi.simulate.costs import Costs, HostCosts, OneMessage
from tempi.simulate.errors import SimulationError
from tempi.simulate.profiles import completed, is_cuda_aware, needed_term, read_profile

SHIPPED = ("nvidia-h200-openmpi-4.1.6", "nvidia-h200-openmpi-5.0.7-cuda")
DIRECT_TERMS = TERMS | {"message.direct.other_gpu": line(9e-6, 2e-12)}
KIB, MIB = 1 << 10, 1 << 20


def costs(one, **others):
    return Costs(completed(one, network()), others.pop("with_tempi", True), others.pop("block_us", None), **others)


def strided(n_bytes, where, blocks=None):
    blocks = n_bytes // 64 if blocks is None else blocks
    return OneMessage(Features(n_bytes, blocks, n_bytes, -(-n_bytes // 4096)), False, False, where)


@given(
    profile=st.sampled_from(SHIPPED),
    log_bytes=st.integers(6, 28),
    blocks=st.integers(2, 1 << 16),
    where=st.sampled_from(["other_gpu", "other_node"]),
)
def test_the_strategy_is_the_one_that_the_model_predicts_to_be_fastest(profile, log_bytes, blocks, where):
    one = completed(read_profile(profile), network())
    message = strided(1 << log_bytes, where, blocks)
    cost = Costs(one, True, None).of(message)
    totals = one.predict(*message.features, False, where, is_cuda_aware(one), where == "other_gpu")
    assert totals[cost.strategy] == min(totals.values())
    parts = (cost.pack_setup, cost.pack_work, cost.latency, cost.stream, cost.unpack_setup, cost.unpack_work)
    assert sum(parts) == pytest.approx(totals[cost.strategy])


def test_contiguous_messages_are_the_librarys_where_it_is_cuda_aware():
    message = OneMessage(Features(MIB, 1, MIB, 256), True, False, "other_gpu")
    cost = costs(fit()).of(message)
    assert (cost.strategy, cost.latency, cost.stream) == ("library", NEAR_LATENCY_S, pytest.approx(NEAR_PER_BYTE * MIB))
    assert costs(fit(cuda_aware=False)).of(message).strategy == "oneshot"


def test_contiguous_messages_within_a_node_are_direct_where_that_was_measured():
    message = OneMessage(Features(MIB, 1, MIB, 256), True, False, "other_gpu")
    terms = DIRECT_TERMS | {"message.direct.other_gpu": line(1e-6, 1e-13)}
    assert costs(fit(terms=terms)).of(message).strategy == "direct"
    assert costs(fit(terms=terms), strategy="oneshot").of(message).strategy == "library"


def test_a_term_that_no_profile_has_is_to_be_measured():
    words = "the profile has no term nosuch. Run tempi measure on a machine with GPUs and use its profile"
    with pytest.raises(SimulationError, match=f"^{words}$"):
        needed_term({}, "nosuch")


def test_a_strategy_asked_for_is_taken():
    for strategy in ("device", "oneshot"):
        assert costs(fit(), strategy=strategy).of(strided(MIB, "other_node")).strategy == strategy


def test_device_is_oneshot_where_the_library_is_not_cuda_aware():
    cost = costs(fit(cuda_aware=False), strategy="device").of(strided(MIB, "other_node"))
    assert cost.strategy == "oneshot"


def test_direct_messages_share_a_launch_and_cross_no_port():
    cost = costs(fit(terms=DIRECT_TERMS)).of(strided(MIB, "other_gpu"))
    assert (cost.strategy, cost.pack_setup, cost.crosses) == ("direct", LAUNCH_S, False)
    assert cost.pack_setup + cost.pack_work == pytest.approx(9e-6 + 2e-12 * MIB)
    assert costs(fit(terms=DIRECT_TERMS)).of(strided(MIB, "other_node")).strategy == "device"


def test_a_direct_message_to_oneself_is_one_kernel_that_packs_and_unpacks():
    cost = costs(fit(terms=DIRECT_TERMS)).of(strided(MIB, "self"))
    assert (cost.strategy, cost.pack_setup) == ("direct", LAUNCH_S)
    assert cost.pack_work == pytest.approx(2 * PACK_PER_BYTE * MIB)


def test_a_direct_message_to_oneself_takes_its_measured_time():
    terms = DIRECT_TERMS | {"message.direct.self": line(8e-6, 1e-12)}
    cost = costs(fit(terms=terms)).of(strided(MIB, "self"))
    assert (cost.strategy, cost.pack_setup) == ("direct", LAUNCH_S)
    assert cost.pack_setup + cost.pack_work == pytest.approx(8e-6 + 1e-12 * MIB)


def test_a_missing_term_is_named():
    terms = {name: term for name, term in TERMS.items() if name != "unpack.device"}
    with pytest.raises(SimulationError, match=r"no term unpack\.device"):
        costs(fit(terms=terms), strategy="device").of(strided(MIB, "other_node"))


def test_a_library_that_cannot_send_gpu_memory_is_refused():
    with pytest.raises(SimulationError, match="not CUDA-aware"):
        costs(fit(cuda_aware=False), with_tempi=False)


def test_a_library_whose_time_is_unknown_is_refused():
    with pytest.raises(SimulationError, match="--library-block-us"):
        costs(fit(), with_tempi=False).of(strided(MIB, "other_node"))


def test_terms_between_nodes_that_were_measured_stay():
    measured = line(11e-6, 3e-10)
    one = completed(fit(terms=TERMS | {"message.device.other_node": measured}), network())
    assert one.seconds("message.device.other_node", MIB) == pytest.approx(measured.seconds(Features(MIB)))
    assert one.seconds("message.host.other_node", 0) == pytest.approx(network().latency_s)


HOST_TERMS = {
    "message.host.same_node": line(1e-6, 1e-10),
    "message.library.typed.same_node": line(1e-6, 4e-10),
    "message.host.typed.same_node": line(1e-6, 2e-10),
}


def test_host_memory_is_packed_where_the_library_is_predicted_to_take_half_as_long_again():
    one = completed(fit(gpu="none", terms=HOST_TERMS), network())
    for n_bytes, strategy in ((MIB, "host"), (64, "library")):
        cost = HostCosts(one, True).of(strided(n_bytes, "other_gpu"))
        assert cost.strategy == strategy
        assert HostCosts(one, False).of(strided(n_bytes, "other_gpu")).strategy == "library"
    assert cost.pack_work == cost.unpack_work


def test_a_host_message_between_nodes_crosses_the_network_as_a_contiguous_one():
    terms = HOST_TERMS | {
        "message.host.other_node": line(5e-6, 8e-9),
        "message.library.typed.other_node": line(6e-6, 10e-9),
        "message.host.typed.other_node": line(6e-6, 9e-9),
    }
    one = completed(fit(gpu="none", terms=terms), network())
    cost = HostCosts(one, False).of(strided(MIB, "other_node"))
    assert (cost.strategy, cost.crosses) == ("library", True)
    assert (cost.latency, cost.stream) == (pytest.approx(5e-6), pytest.approx(8e-9 * MIB))
    assert cost.pack_work == cost.unpack_work == pytest.approx((1e-6 + 2e-9 * MIB) / 2)


def test_host_messages_that_were_not_measured_are_named():
    one = completed(fit(gpu="none", terms=HOST_TERMS), network())
    with pytest.raises(SimulationError, match="host memory between two nodes: run tempi measure --hosts A,B"):
        HostCosts(one, True).of(strided(KIB, "other_node"))
