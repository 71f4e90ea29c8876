"""``tempi measure --tune`` from the first rank to the profile, on the fake device: its times mean nothing."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from profiles import small_profile
from rich.console import Console
from stand_in_gpu import StandInGpu, faster_with

from support import shim
from support.programs import mpiexec, run
from tempi.measure.tune import tuned_profile
from tempi.measure.tune_cases import cases_of
from tempi.measure.tune_search import Search
from tempi.model.profile import completed, name_of, read, write
from tempi.model.profile_check import ProfileError

MEASURE = [sys.executable, "-m", "tempi.measure", "--quick", "--keep-anyway"]
TUNE = [*MEASURE, "--tune", "--seconds", "0.5"]  # enough for some candidates, as the first one is always tried
SCHEMA = Path(__file__).resolve().parents[2] / "perfmodel" / "schema.json"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A cache with a profile of this machine, as it is with the fake device."""
    cache = tmp_path_factory.mktemp("cache")
    environment = shim.clean_environment() | {"TEMPI_CACHE_DIR": str(cache), "TEMPI_DEVICE": "fake"}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cache)  # not the source tree, which has no built module
        done = run([*MEASURE, "--keep-anyway", "--seconds", "1"], environment)
    assert done.code == 0, done.text
    return cache


@pytest.fixture
def environment(measured, tmp_path, monkeypatch):
    """The environment of a copy of that cache."""
    monkeypatch.chdir(tmp_path)
    for path in measured.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return shim.clean_environment() | {"TEMPI_CACHE_DIR": str(tmp_path), "TEMPI_DEVICE": "fake"}


def only_profile(folder):
    (path,) = folder.glob("*.json")
    return read(path)


def test_tuning_leaves_everything_else_of_the_profile_as_it_was(environment, tmp_path):
    import jsonschema

    before = only_profile(tmp_path)
    done = run(TUNE, environment)
    assert done.code == 0, done.text
    after = only_profile(tmp_path)
    assert (after.machine, after.tables, after.terms) == (before.machine, before.tables, before.terms)
    assert set(after.measured) == {*before.measured, "tuned"}
    for words in ("launch parameters", "threads", "noise       half the width", "chosen: ", str(tmp_path)):
        assert words in done.out
    (path,) = tmp_path.glob("*.json")
    jsonschema.validate(json.loads(path.read_text()), json.loads(SCHEMA.read_text()))


def test_a_planted_wrong_byte_is_found_and_its_candidate_rejected(environment, tmp_path):
    opening = 2 * len(cases_of("threads", True))  # copies: one for each transfer
    present, candidate = 2, 2  # the destination's bytes before and after
    flip = {"TEMPI_FAKE_FAIL": f"flip:{opening + present + candidate}"}
    done = run(TUNE, environment | flip)
    assert done.code == 0, done.text
    assert "threads 64 is REJECTED: pack vector" in done.out.replace("\n", " ")
    assert "wrong bytes" in done.out
    assert only_profile(tmp_path).tuning.get("threads") != 64


@pytest.mark.parametrize("what", ["launch:1", "flip:{}"])
def test_nothing_is_stored_when_the_defaults_fail(environment, tmp_path, what):
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    fail = {"TEMPI_FAKE_FAIL": what.format(2 * len(cases_of("threads", True)) + 2)}
    done = run(TUNE, environment | fail)
    assert done.code == 1
    assert "the current launch parameters fail: pack vector" in done.err.replace("\n", " ")
    assert "Traceback" not in done.text
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"TEMPI_DEVICE": "none"}, "there is no GPU to tune for"),
        ({"TEMPI_CACHE_DIR": "elsewhere"}, "measure first, without --tune"),
        ({"UCX_TLS": "tcp"}, "there is no profile of this machine in"),
    ],
)
def test_what_cannot_be_done_ends_with_one_clear_error(environment, change, words):
    done = run(TUNE, environment | change)
    assert done.code == 1
    assert words in done.err
    assert "Traceback" not in done.text


def test_the_first_rank_of_a_job_tunes(environment, tmp_path):
    options = {"LD_PRELOAD": shim.preload(), "TEMPI_CACHE_DIR": str(tmp_path), "TEMPI_DEVICE": "fake"}
    settings = [f"{name}={value}" for name, value in options.items()]
    outside = {name: value for name, value in environment.items() if not name.startswith("TEMPI_")}
    done = run([mpiexec(), "-n", "2", "env", *settings, *TUNE], outside)
    assert done.code == 0, done.text
    assert done.out.count("profile: ") == 1
    assert "tuned" in only_profile(tmp_path).measured


def records_of(machine, factor):
    yield {"machine": vars(machine)}
    yield from Search(StandInGpu(factor).open, True, 30.0).records()


def tuned(profile, folder, factor):
    with Console(file=sys.stderr, width=150) as console:
        return tuned_profile(records_of(profile.machine, factor), folder, console)


def test_winners_are_stored_where_the_shim_reads_them_and_survive_another_measurement(tmp_path, capfd):
    profile = small_profile()
    write(profile, tmp_path)
    found = tuned(profile, tmp_path, faster_with(threads=64, deep_4=2))
    assert found.tuning == {"threads": 64, "deep_4": 2}
    path = write(found, tmp_path)
    assert path.stem == name_of(profile.machine)
    assert read(path) == found
    assert "tuning threads 64\n" in path.with_suffix(".fit").read_text()
    assert completed(replace(profile, tuning={}), tmp_path).tuning == found.tuning
    shown = capfd.readouterr().err
    for words in ("chosen: threads 64, deep_4 2", "x 0.9", "many, words of 16 B"):
        assert words in shown


def test_a_tuning_that_finds_nothing_takes_the_old_one_back(tmp_path):
    profile = small_profile()
    write(profile, tmp_path)
    assert profile.tuning
    assert tuned(profile, tmp_path, lambda _: 1.0).tuning == {}


def test_a_damaged_profile_is_not_tuned(tmp_path):
    profile = small_profile()
    write(profile, tmp_path).write_text("{")
    with pytest.raises(ProfileError, match="is not JSON"):
        tuned(profile, tmp_path, lambda _: 1.0)
