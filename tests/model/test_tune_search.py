"""The search for launch parameters: candidates that are faster by more than the noise win, wrong ones never."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_in_gpu import StandInGpu, faster_with

from support.effort import examples
from tempi.measure.tune_cases import WORDS, all_cases, cases_of
from tempi.measure.tune_search import Search, compared
from tempi.model.tuning import KNOBS


def searched(machine, seconds=60.0, knobs=KNOBS):
    records = list(Search(machine.open, True, seconds, knobs).records())
    assert machine.n_open == 0
    return records


def outcome(records):
    return records[-1]["tuning"]


def test_what_is_faster_is_chosen_and_nothing_else():
    good = {"threads": 256, "deep_8": 4, "shallow_words": 264 * 2048}
    records = searched(StandInGpu(faster_with(**good)))
    assert outcome(records) == good
    assert records[-1]["ratio"] == pytest.approx(0.9**3, rel=0.01)
    candidates = [record for record in records if "knob" in record]
    assert len(candidates) == records[0]["candidates"] == sum(len(knob.allowed) - 1 for knob in KNOBS)


def test_the_fastest_of_several_is_chosen():
    by_threads = {64: 0.8, 256: 0.7, 512: 0.75}
    records = searched(StandInGpu(lambda changes: by_threads.get(changes.get("threads"), 1.0)))
    assert outcome(records) == {"threads": 256}


@pytest.mark.parametrize("noise", [0.0, 0.002, 0.05, 0.5])
def test_noise_alone_changes_nothing(noise):
    assert outcome(searched(StandInGpu(lambda _: 1.0, noise=noise))) == {}


def test_a_gain_within_the_noise_changes_nothing():
    assert outcome(searched(StandInGpu(lambda changes: 0.995 if changes else 1.0))) == {}


def test_a_candidate_with_wrong_bytes_is_rejected_however_fast_it_is():
    records = searched(StandInGpu(faster_with(threads=256, deep_4=2), wrong=[("threads", 256)]))
    (rejected,) = (record for record in records if "rejected" in record)
    assert (rejected["knob"], rejected["value"]) == ("threads", 256)
    assert "pack vector" in rejected["rejected"]
    assert "wrong bytes" in rejected["rejected"]
    assert outcome(records) == {"deep_4": 2}


def test_nothing_is_tuned_when_the_defaults_are_wrong():
    with pytest.raises(RuntimeError, match=r"the current launch parameters fail: pack vector.*: wrong bytes"):
        searched(StandInGpu(lambda _: 1.0, wrong=[("threads", None)]))


def test_winners_that_do_no_good_together_are_dropped():
    machine = StandInGpu(faster_with(threads=256, deep_8=4))
    records = []
    for record in Search(machine.open, True, 60.0).records():
        records.append(record)
        if record.get("knob") == KNOBS[-1].name:  # from now on it is everything at once
            machine.factor = lambda changes: 1.1 if changes else 1.0
    assert outcome(records) == {}
    assert records[-1]["tried"] == {"threads": 256, "deep_8": 4}


def test_candidates_after_the_deadline_are_left_out_and_nothing_is_opened_for_them():
    machine = StandInGpu(lambda _: 1.0)
    machine.open = None
    records = list(Search(machine.open, True, -1.0).records())
    assert sum("left_out" in record for record in records) == records[0]["candidates"]
    assert outcome(records) == {}


SERIES = st.lists(st.floats(1e-6, 1e-3), min_size=6, max_size=30)


@given(st.lists(st.tuples(SERIES, SERIES), min_size=1, max_size=5))
@examples(100)
def test_a_comparison_turned_round_is_its_inverse(pairs):
    there, back = compared(pairs), compared([(b, a) for a, b in pairs])
    assert log(there.ratio) == pytest.approx(-log(back.ratio), abs=1e-9)
    assert there.noise == pytest.approx(back.noise)
    assert not (there.is_better and back.is_better)


def test_cases_have_the_words_that_their_parameter_is_about():
    for word in WORDS:
        for family in ("deep", "irregular"):
            cases = cases_of(f"{family}_{word}", False)
            assert {case.word for case in cases} == {word}
            assert all(case.block % word == case.stride % word == 0 for case in cases)
    every = all_cases((knob.name for knob in KNOBS), False)
    assert {case.form for case in every} == {"vector", "few", "many", "irregular"}
    assert {case.word for case in every} == set(WORDS)
    assert min(case.bytes for case in every) == 1 << 10
    assert max(case.bytes for case in every) == 32 << 20
    assert len(set(every)) == len(every)
