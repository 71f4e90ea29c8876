"""Launches with every allowed launch parameter: the bytes are the same; impossible ones are refused."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import constructors as c
from support import shim
from support.building import Builder
from support.effort import examples
from support.programs import run
from support.strategies import specs
from support.tuned import LEAST_SHALLOW, WORDS, check_every_value, trial_of
from support.typemap import Named, overlaps, type_map
from tempi import _native
from tempi.model.tuning import DEFAULTS, KNOBS, values_of

fake = pytest.mark.mpi_process(TEMPI_DEVICE="fake")
tunings = st.fixed_dictionaries({knob.name: st.sampled_from(knob.allowed) for knob in KNOBS})


MOST_SPAN_BYTES = 32 << 20


def tried(spec, unpacks, tuning):
    """The launches of a datatype with these parameters, held against the host packer."""
    return trial_of(spec, unpacks).measure(values_of(tuning), 0.0, 1)


def check(spec, unpacks, tuning, tally):
    with Builder() as builder:
        message = type_map(spec, builder.bounds)
    is_possible = message.size > 0 and message.true_bounds.extent <= MOST_SPAN_BYTES
    is_allowed = is_possible and not (unpacks and overlaps(message))
    tally.add(is_allowed)
    if is_allowed:
        assert tried(spec, unpacks, tuning)


@fake
@given(spec=specs(), unpacks=st.booleans(), tuning=tunings)
@examples(300)
def test_small_transfers(tally, spec, unpacks, tuning):
    check(spec, unpacks, tuning, tally)


@fake
@given(spec=specs(), unpacks=st.booleans(), tuning=tunings, word=st.sampled_from((1, 4)))
@examples(60)
def test_large_transfers(tally, spec, unpacks, tuning, word):
    """Beyond the least number of words for which a thread moves several."""
    size = max(1, type_map(spec).size)
    whole = c.Contiguous(LEAST_SHALLOW * word // size + 1, spec)
    check(whole, unpacks, tuning | {"shallow_words": LEAST_SHALLOW}, tally)


@pytest.mark.sample(2)
@fake
@pytest.mark.parametrize("unpacks", [False, True], ids=["pack", "unpack"])
@pytest.mark.parametrize("leaf", WORDS, ids=lambda leaf: leaf.name)
def test_every_value_of_every_parameter(leaf, unpacks):
    check_every_value(leaf, unpacks)


@fake
@given(st.sampled_from(KNOBS), st.integers(0, 2**32 - 1))
@examples(50)
def test_a_value_without_a_kernel_is_refused(knob, value):
    if value not in knob.allowed:
        with pytest.raises(RuntimeError, match=f"no kernel was built for this value of {knob.name}"):
            tried(Named("INT"), False, {knob.name: value})


def test_the_defaults_are_those_that_were_measured():
    assert {
        "threads": 128,
        **dict(zip((f"deep_{word}" for word in (1, 2, 4, 8, 16)), (8, 8, 8, 2, 1), strict=True)),
        **dict(zip((f"irregular_{word}" for word in (1, 2, 4, 8, 16)), (8, 8, 8, 4, 2), strict=True)),
        "shallow_words": 132 * 2048,
        "window_bytes": 4 << 20,
        "widest_word": 16,
        "widest_far_word": 8,
    } == DEFAULTS


PLAN = """
from mpi4py import MPI
from tempi import explain
print(explain(MPI.INT.Create_vector(1 << 20, 3, 5)).plan)
"""


def fit_of(gpu, lines):
    text = f"tempi-fit 1\ngpu {gpu}\n" + "".join(f"tuning {line}\n" for line in lines)
    return text + f"end {len(text.splitlines())}\n"


@pytest.mark.parametrize(
    ("lines", "gpu", "words"),
    [
        (["threads 64", "deep_4 2"], "fake", "tempi_OneBox_x2_4, words of 4 B, 24576 tiles of 64 threads"),
        (["threads 64"], "another", "tempi_OneBox_x8_4, words of 4 B, 3072 tiles of 128 threads"),
        (["threads 100"], "fake", "tempi_OneBox_x8_4, words of 4 B, 3072 tiles of 128 threads"),
    ],
)
def test_a_profile_decides_for_its_own_gpu_and_a_bad_one_is_refused(tmp_path, monkeypatch, lines, gpu, words):
    monkeypatch.chdir(tmp_path)  # not the source tree, which has no built module
    path = tmp_path / "machine.fit"
    path.write_text(fit_of(gpu, lines))
    options = {"TEMPI_DEVICE": "fake", "TEMPI_PROFILE": str(path), "TEMPI_LOG": "error", "COLUMNS": "200"}
    done = run([sys.executable, "-c", PLAN], shim.preloaded(**options))
    assert done.code == 0, done.text
    assert words in done.text
    assert done.text.count("is not used: line 3 has a value of threads that no kernel was built for") == (
        lines == ["threads 100"]
    )


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["threads 100"], "line 3 has a value of threads that no kernel was built for"),
        (["deep_16 8"], "line 3 has a value of deep_16 that no kernel was built for"),
        (["threads 64", "threads 64"], "line 4 says threads again"),
        (["warps 64"], 'line 3 has an unknown launch parameter, "warps"'),
        (["threads 64 64"], "line 3 has more than a value of threads"),
        (["threads"], 'line 3 has "" where a number from 0 up should be'),
    ],
)
def test_a_refusal_says_which_line_is_wrong(lines, words):
    with pytest.raises(ValueError, match=words):
        _native.read_fit(fit_of("fake", lines))


NUMBERS = (
    st.integers(0, 2**70).map(str) | st.floats(0).map(repr) | st.sampled_from(("64", "1e2", "6.4e1", "-64", "nan"))
)


@given(st.sampled_from(KNOBS), NUMBERS)
@examples(300)
def test_only_values_with_a_kernel_are_read(knob, number):
    try:
        found = _native.read_fit(fit_of("fake", [f"{knob.name} {number}"])).tuning()
    except ValueError:
        assert number not in map(str, knob.allowed)
    else:
        assert found == DEFAULTS | {knob.name: float(number)}
        assert float(number) in knob.allowed
