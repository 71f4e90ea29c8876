"""The shim's evaluation of a fit, which is Python's too, against the formulas of perfmodel/README.md."""

import pytest
from formulas import packing_wins, parts_on_gpu, seconds_on_host, term_seconds
from hypothesis import assume, given
from hypothesis import strategies as st
from profiles import MACHINE, TERMS, machines, named_terms, tunings
from profiles import terms as any_term

from support.effort import examples
from tempi import _native
from tempi.model.features import Features
from tempi.model.profile import fit_text
from tempi.model.terms import LOCALITIES, NAMES, PEERS, Segment, Term
from tempi.model.tuning import DEFAULTS

FEATURES = st.builds(
    Features, st.integers(0, 2**41), st.integers(0, 2**38), st.integers(0, 2**42), st.integers(0, 2**30)
)
ROUNDING = 1e-14
DOUBTFUL = 1e-9  # relative: so near to the limit of a choice rounding may decide it


def fit_of(terms, machine=MACHINE):
    return _native.read_fit(fit_text(machine, terms, {}))


def is_about(expected):
    if isinstance(expected, dict):
        return {name: is_about(value) for name, value in expected.items()}
    return pytest.approx(float(expected), rel=ROUNDING, abs=0)


def constant(seconds):
    return Term((Segment(0, seconds, 0, 0, 0, 0),))


def test_tests_know_every_term():
    assert set(TERMS) == NAMES


@given(machines(), named_terms(), tunings())
@examples(200)
def test_the_file_gives_the_same_numbers_and_facts(machine, terms, tuning):
    fit = _native.read_fit(fit_text(machine, terms, tuning))
    assert fit.tuning() == DEFAULTS | tuning
    assert fit.terms() == {
        name: [(s.from_bytes, s.latency, s.per_byte, s.per_block, s.per_touched, s.per_page) for s in term.segments]
        for name, term in terms.items()
    }
    assert fit.machine() == {
        "host": machine.host,
        "gpu": machine.gpu,
        "gpus": str(machine.gpus),
        "driver": machine.driver,
        "mpi": machine.mpi,
        "cuda_aware": str(int(machine.cuda_aware)),
        "transports": "\t".join(f"{key}={value}" for key, value in sorted(machine.transports.items())).lstrip(" "),
    }


# A pack of 1 MiB in blocks of 8 bytes, 512 bytes apart; the sums were made by hand.
ONE_MIB = Features(1 << 20, 1 << 17, 1 << 22, 1 << 14)
LINE = Segment(0, 7e-6, 1e-12, 2e-12, 3e-12, 4e-10)
KNEE = Segment(1 << 22, 1e-3, 0, 0, 0, 0)  # begins at the footprint of ONE_MIB: 4 MiB touched


@pytest.mark.parametrize(
    ("segments", "features", "microseconds"),
    [
        ((LINE,), Features(0), 7.0),
        ((LINE,), Features(1_000_000), 8.0),
        ((LINE,), Features(0, 1_000_000), 9.0),
        ((LINE,), Features(0, 0, 1_000_000), 10.0),
        ((LINE,), Features(0, 0, 0, 10_000), 11.0),
        ((LINE,), ONE_MIB, 7 + 1.048576 + 0.262144 + 12.582912 + 6.5536),
        ((LINE, KNEE), ONE_MIB, 1000.0),
        ((LINE, KNEE), ONE_MIB._replace(touched=(1 << 22) - 1), 7 + 1.048576 + 0.262144 + 12.582909 + 6.5536),
        ((LINE, KNEE), Features(1 << 22), 1000.0),
        ((LINE, KNEE), Features((1 << 22) - 1), 7 + 4.194303),
    ],
)
def test_terms_computed_by_hand(segments, features, microseconds):
    term = Term(segments)
    assert term.seconds(features) == pytest.approx(1e-6 * microseconds, rel=ROUNDING)
    assert fit_of({"pack.oneshot": term}).seconds("pack.oneshot", *features) == term.seconds(features)


BY_HAND = {
    name: constant(value)
    for name, value in {
        "pack.oneshot": 1.0,
        "unpack.oneshot": 2.0,
        "message.host.same_node": 4.0,
        "pack.device": 8.0,
        "unpack.device": 16.0,
        "message.host.same_gpu": 32.0,
        "message.device.other_gpu": 0.5,
        "pack.staged": 1.0,
    }.items()
}


@pytest.mark.parametrize(
    ("contiguous", "locality", "aware", "expected", "best"),
    [
        (False, "other_gpu", True, {"device": 24.5, "oneshot": 7.0}, "oneshot"),
        (True, "other_gpu", True, {"library": 0.5, "device": 24.5, "oneshot": 7.0}, "library"),
        (True, "same_gpu", True, {"oneshot": 35.0}, "oneshot"),
        (False, "self", False, {"oneshot": 7.0}, "oneshot"),
        (True, "other_gpu", False, {"oneshot": 7.0}, "oneshot"),
        (False, "other_node", True, {}, None),
    ],
)
def test_strategies_are_sums_of_their_terms_and_missing_terms_exclude(contiguous, locality, aware, expected, best):
    fit, message = fit_of(BY_HAND), (*Features(64, 8, 256), contiguous, locality, aware)
    assert fit.predict(*message) == expected
    assert fit.choose(*message) == best


def test_the_wire_carries_bytes_alone():
    by_feature = Term((Segment(0, 0, 1.0, 10.0, 100.0, 1000.0),))
    fit = fit_of({"pack.oneshot": by_feature, "message.host.same_node": by_feature, "unpack.oneshot": by_feature})
    parts = fit.parts(5, 4, 3, 2, False, "other_gpu", False)
    assert parts == {"oneshot": {"pack.oneshot": 2345.0, "message.host.same_node": 5.0, "unpack.oneshot": 2345.0}}


@pytest.mark.parametrize(
    ("locality", "reaches_peer", "expected"),
    [
        ("other_gpu", True, {"message.direct.other_gpu": 2345.0}),
        ("self", True, {"message.direct.self": 1234.0}),
        ("same_gpu", True, None),  # not measured
        ("other_node", True, None),
        ("other_gpu", False, None),
    ],
)
def test_a_direct_message_is_one_term_of_its_layout(locality, reaches_peer, expected):
    of_self = Term((Segment(0, 0, 2.0, 6.0, 400.0, 0.0),))
    fit = fit_of(
        {"message.direct.other_gpu": Term((Segment(0, 0, 1.0, 10.0, 100.0, 1000.0),)), "message.direct.self": of_self}
    )
    parts = fit.parts(5, 4, 3, 2, False, locality, False, reaches_peer)
    assert parts == ({"direct": expected} if expected else {})


@given(any_term(), FEATURES)
@examples(300)
def test_a_term_is_the_line_of_its_footprint(term, features):
    assert term.seconds(features) == is_about(term_seconds(term, features))


@given(machines(), named_terms(), FEATURES)
@examples(300)
def test_every_term_of_a_file_is_evaluated_and_no_other(machine, terms, features):
    fit = fit_of(terms, machine)
    found = {name: fit.seconds(name, *features) for name in TERMS}
    assert {name: value for name, value in found.items() if value is not None} == is_about(
        {name: term_seconds(term, features) for name, term in terms.items()}
    )


@given(st.data(), any_term())
@examples(300)
def test_the_segment_is_right_at_and_around_a_knot(data, term):
    knot = data.draw(st.sampled_from(term.segments)).from_bytes
    for n_bytes in {max(0, knot - 1), knot, knot + 1}:
        assert term.seconds(Features(n_bytes)) == is_about(term_seconds(term, Features(n_bytes)))


@given(machines(), named_terms(), FEATURES, st.booleans(), st.sampled_from(LOCALITIES), st.booleans(), st.booleans())
@examples(500)
def test_messages_of_gpu_memory_take_the_sum_of_their_parts_and_the_least_is_chosen(
    machine, terms, features, contiguous, locality, aware, reaches_peer
):
    fit, message = fit_of(terms, machine), (*features, contiguous, locality, aware, reaches_peer)
    parts = parts_on_gpu(terms, features, contiguous, locality, aware, reaches_peer)
    totals = {strategy: sum(seconds.values()) for strategy, seconds in parts.items()}
    assert fit.parts(*message) == is_about(parts)
    assert fit.predict(*message) == is_about(totals)
    chosen = fit.choose(*message)
    assert (chosen is None) == (not totals)
    assert chosen is None or float(totals[chosen]) == is_about(min(totals.values()))


@given(machines(), named_terms(), FEATURES, st.booleans(), st.sampled_from(PEERS))
@examples(500)
def test_messages_of_host_memory_are_predicted_and_chosen(machine, terms, features, indexed, peer):
    fit, message = fit_of(terms, machine), (*features, indexed, peer)
    expected = seconds_on_host(terms, features, indexed, peer)
    assert fit.predict_on_host(*message) == is_about(expected)
    if {"library", "host"} <= set(expected):
        assume(abs(expected["library"] - 1.5 * float(expected["host"])) > DOUBTFUL * expected["library"])
    assert fit.packing_wins(*message) == packing_wins(expected)


@pytest.mark.parametrize(("ours_s", "wins"), [(0.5e-6, True), (0.6e-6, True), (0.7e-6, False), (2e-6, False)])
def test_our_packer_must_be_clearly_faster_than_the_librarys_datatypes(ours_s, wins):
    seconds = {"library": 1e-6, "host": ours_s}
    fit = fit_of({f"message.{how}.typed.same_node": constant(value) for how, value in seconds.items()})
    assert fit.packing_wins(4096, 512, 8192, 2, False, "same_node") == wins
    assert not fit.packing_wins(4096, 512, 8192, 2, True, "same_node")  # not measured
    assert not fit.packing_wins(4096, 512, 8192, 2, False, "self")


@pytest.mark.parametrize("packs", [True, False])
def test_the_chunks_cost_what_the_kernel_does_not_hide(packs):
    fit = fit_of(
        {
            "launch": constant(6e-6),
            "pack.device" if packs else "unpack.device": Term((Segment(0, 6e-6, 1e-12, 0, 0, 0),)),
            "chunks": Term((Segment(0, 1e-3, 1e-11, 4e-6, 0, 0),)),
        }
    )
    n_bytes = 64_000_000  # 64 us of kernel, 4 us a chunk: 4 chunks
    assert fit.chunk_bytes(n_bytes, 1000, 0, 0, packs) == pytest.approx(n_bytes / 4, rel=1e-6)
    assert fit.chunk_bytes(n_bytes, 1000, 0, 0, not packs) is None


OF_AN_OLDER_VERSION = "term message.queue 0 1e-06 0 0 0 0\nterm copy.to_host 0 1e-05 1e-11 0 0 0\n"


def test_a_file_with_terms_of_an_older_version_predicts_the_same():
    text = fit_text(MACHINE, BY_HAND, {})
    body, _, n_lines = text.strip().rpartition("end ")
    fit = _native.read_fit(f"{body}{OF_AN_OLDER_VERSION}end {int(n_lines) + 2}\n")
    assert set(fit.terms()) == set(BY_HAND)
    message = (*Features(64, 8, 256), True, "other_gpu", True)
    assert fit.predict(*message) == fit_of(BY_HAND).predict(*message)
