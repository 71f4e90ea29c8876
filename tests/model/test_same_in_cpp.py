"""The shim's evaluation of a fit against Python's, value by value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import TERMS, machines, named_terms, tunings

from support.effort import examples
from tempi import _native
from tempi.model import LOCALITIES, Features, choose, predict
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
