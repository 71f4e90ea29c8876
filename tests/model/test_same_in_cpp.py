"""The shim's evaluation of a fit against Python's, value by value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import MACHINE, TERMS, machines, named_terms, tunings

from support.effort import examples
from tempi import _native
from tempi.model import LOCALITIES, PEERS, Features, Segment, Term, choose, packing_wins, predict, predict_on_host
from tempi.profile import fit_text
from tempi.tuning import DEFAULTS

FEATURES = st.builds(
    Features, st.integers(0, 2**41), st.integers(0, 2**38), st.integers(0, 2**42), st.integers(0, 2**30)
)
ROUNDING = 1e-14


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


@given(machines(), named_terms(), FEATURES)
@examples(300)
def test_every_term_has_the_same_value(machine, terms, features):
    fit = _native.read_fit(fit_text(machine, terms, {}))
    for name in TERMS:
        found = fit.seconds(name, features.bytes, features.blocks, features.touched, features.pages)
        if name in terms:
            assert found == pytest.approx(terms[name].seconds(features), rel=ROUNDING, abs=0)
        else:
            assert found is None


@given(st.data(), machines(), named_terms())
@examples(300)
def test_the_segment_is_the_same_at_and_around_a_knot(data, machine, terms):
    fit = _native.read_fit(fit_text(machine, terms, {}))
    for name, term in terms.items():
        knot = data.draw(st.sampled_from(term.segments)).from_bytes
        for n_bytes in {max(0, knot - 1), knot, knot + 1}:
            expected = term.seconds(Features(n_bytes))
            assert fit.seconds(name, n_bytes, 0, 0) == pytest.approx(expected, rel=ROUNDING, abs=0)


@given(machines(), named_terms(), FEATURES, st.booleans(), st.sampled_from(LOCALITIES), st.booleans())
@examples(500)
def test_predictions_are_the_same_and_so_is_the_choice(machine, terms, features, contiguous, locality, aware):
    fit = _native.read_fit(fit_text(machine, terms, {}))
    where = (features.bytes, features.blocks, features.touched, features.pages, contiguous, locality, aware)
    expected = predict(terms, features, contiguous, locality, aware)
    found = fit.predict(*where)
    assert found == pytest.approx(expected, rel=ROUNDING, abs=0)
    chosen = fit.choose(*where)
    best = choose(expected)
    if best is None:
        assert chosen is None
    else:
        assert expected[chosen] == pytest.approx(expected[best], rel=ROUNDING, abs=0)


@given(machines(), named_terms(), FEATURES, st.booleans(), st.sampled_from(PEERS))
@examples(500)
def test_messages_of_host_memory_are_predicted_and_chosen_alike(machine, terms, features, indexed, peer):
    fit = _native.read_fit(fit_text(machine, terms, {}))
    where = (features.bytes, features.blocks, features.touched, features.pages, indexed, peer)
    expected = predict_on_host(terms, features, indexed, peer)
    assert fit.predict_on_host(*where) == pytest.approx(expected, rel=ROUNDING, abs=0)
    assert fit.packing_wins(*where) == packing_wins(expected)


@pytest.mark.parametrize(("ours_s", "wins"), [(0.5e-6, True), (0.8e-6, True), (0.9e-6, False), (2e-6, False)])
def test_our_packer_must_be_clearly_faster_than_the_librarys_datatypes(ours_s, wins):
    terms = {
        f"message.{how}.typed.same_node": Term((Segment(0, seconds, 0, 0, 0, 0),))
        for how, seconds in (("library", 1e-6), ("host", ours_s))
    }
    fit = _native.read_fit(fit_text(MACHINE, terms, {}))
    assert fit.packing_wins(4096, 512, 8192, 2, False, "same_node") == wins
    assert not fit.packing_wins(4096, 512, 8192, 2, True, "same_node")  # not measured
    assert not fit.packing_wins(4096, 512, 8192, 2, False, "self")


@pytest.mark.parametrize("packs", [True, False])
def test_the_chunks_cost_what_the_kernel_does_not_hide(packs):
    kernel = Term((Segment(0, 6e-6, 1e-12, 0, 0, 0),))
    terms = {
        "launch": Term((Segment(0, 6e-6, 0, 0, 0, 0),)),
        "pack.device" if packs else "unpack.device": kernel,
        "chunks": Term((Segment(0, 1e-3, 1e-11, 4e-6, 0, 0),)),
    }
    fit = _native.read_fit(fit_text(MACHINE, terms, {}))
    n_bytes = 64_000_000  # 64 us of kernel, 4 us a chunk: 4 chunks
    assert fit.chunk_bytes(n_bytes, 1000, 0, 0, packs) == pytest.approx(n_bytes / 4, rel=1e-6)
    assert fit.chunk_bytes(n_bytes, 1000, 0, 0, not packs) is None
