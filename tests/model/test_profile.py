"""Profiles: written ones are read back, damaged ones refused with one line, and files replaced at once."""

import json
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import FACTS, MACHINE, TERMS, machines, measured, named_terms, small_profile, tunings

from support.effort import examples
from tempi.model.features import Features
from tempi.model.fitting import Residual
from tempi.model.profile import (
    Profile,
    check_writable,
    json_text,
    name_of,
    read,
    write,
)
from tempi.model.profile_check import ProfileError
from tempi.model.terms import Segment, Term
from tempi.model.tuning import KNOBS

SCHEMA = Path(__file__).resolve().parents[2] / "perfmodel" / "schema.json"


@st.composite
def profiles(draw):
    terms = draw(named_terms())
    rows = [measured(Features(64, 8, 128, 1), draw(st.floats(1e-9, 10)), name) for name in terms]
    residuals = {name: Residual(draw(st.floats(0, 9)), draw(st.floats(0, 9)), 1) for name in terms}
    return Profile(draw(machines()), FACTS, tuple(rows), terms, residuals, draw(tunings()))


@given(profiles())
@examples(50)
def test_survives_a_round_trip(tmp_path, profile):
    path = write(profile, tmp_path)
    assert read(path) == profile
    assert path.stem == name_of(profile.machine)
    assert path.with_suffix(".fit").exists()


@given(profiles())
@examples(20)
def test_agrees_with_the_schema(profile):
    import jsonschema

    jsonschema.validate(json.loads(json_text(profile)), json.loads(SCHEMA.read_text()))


def test_the_schema_allows_the_values_that_kernels_were_built_for():
    knobs = json.loads(SCHEMA.read_text())["properties"]["tuning"]["properties"]
    assert {name: tuple(knob["enum"]) for name, knob in knobs.items()} == {knob.name: knob.allowed for knob in KNOBS}


def refusal(path):
    with pytest.raises(ProfileError) as caught:
        read(path)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    return text


@given(st.data())
@examples(100)
def test_a_truncated_file_is_refused(tmp_path, data):
    text = json_text(small_profile()).rstrip()
    path = tmp_path / "cut.json"
    path.write_text(text[: data.draw(st.integers(0, len(text) - 1))])
    assert "is not JSON" in refusal(path)


@given(st.binary(max_size=300))
@examples(100)
def test_random_bytes_are_refused(tmp_path, contents):
    path = tmp_path / "random.json"
    path.write_bytes(contents)
    refusal(path)


def places(value, path=()):
    """Paths to the parts of a JSON value."""
    yield path
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(part, (*path, key))


PLACES = list(places(json.loads(json_text(small_profile()))))[1:]
WRONG = st.sampled_from(
    [
        None,
        True,
        -1,
        0,
        1.5,
        10**30,
        10**400,
        float("nan"),
        float("inf"),
        -0.5,
        "",
        "a\nb",
        "text",
        [],
        [1],
        {},
        {"a": 1},
    ]
)


@given(st.sampled_from(PLACES), WRONG)
@examples(400)
def test_a_wrong_value_is_refused_or_makes_a_profile(tmp_path, place, wrong):
    data = json.loads(json_text(small_profile()))
    at = data
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = wrong
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(data))
    try:
        profile = read(path)
    except ProfileError:
        refusal(path)
    else:
        assert all(term.seconds(Features(1 << 20, 10, 10)) >= 0 for term in profile.terms.values())


@given(st.sampled_from(PLACES))
@examples(100)
def test_a_missing_part_is_refused_or_has_a_default(tmp_path, place):
    data = json.loads(json_text(small_profile()))
    at = data
    for key in place[:-1]:
        at = at[key]
    del at[place[-1]]
    path = tmp_path / "missing.json"
    path.write_text(json.dumps(data))
    if place[-1] in ("format", "version", "machine", "tables", "terms", "residuals", "measured", "latency", "host"):
        refusal(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "other"}, "it is no profile"),
        ({"version": 2}, "it is of version 2, and this TEMPI reads 1"),
        ({"machine": []}, "machine is [], not an object"),
        ({"terms": {"launch": []}}, "terms.launch has segments that do not ascend from 0"),
        ({"tables": [{}]}, "tables[0] has no term"),
        ({"tuning": []}, "tuning is [], not an object"),
        ({"tuning": {"threads": 100}}, "tuning.threads is 100, not one of 64, 128, 256, 512"),
        ({"tuning": {"deep_16": True}}, "tuning.deep_16 is True, not one of 1, 2, 4"),
        ({"tuning": {"warp": 32}}, "tuning has an unknown launch parameter, 'warp'"),
    ],
)
def test_a_refusal_says_what_is_wrong(tmp_path, change, words):
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(json.loads(json_text(small_profile())) | change))
    assert words in refusal(path)


def test_a_profile_of_an_older_version_is_read_without_the_terms_that_have_gone(tmp_path):
    """Terms that earlier versions measured are dropped, with their tables and residuals."""
    data = json.loads(json_text(small_profile()))
    for name in ("message.queue", "copy.to_host", "copy.to_device"):
        data["terms"][name] = data["terms"]["message.host.same_node"]
        data["residuals"][name] = data["residuals"]["message.host.same_node"]
        data["tables"].append(data["tables"][0] | {"term": name})
    path = tmp_path / "older.json"
    path.write_text(json.dumps(data))
    assert read(path) == small_profile()
    assert set(read(write(read(path), tmp_path)).terms) == {"message.host.same_node"}


def test_a_missing_file_is_refused(tmp_path):
    assert "cannot be read: No such file" in refusal(tmp_path / "none.json")


def test_the_cache_follows_its_variables(tmp_path):
    def cache(**variables):
        asked = [sys.executable, "-c", "from tempi.model.profile import cache_directory; print(cache_directory())"]
        told = subprocess.run(asked, env=variables, check=True, capture_output=True, text=True, cwd="/").stdout
        return Path(told.strip())

    assert cache(HOME=str(tmp_path)) == tmp_path / ".cache" / "tempi"
    assert cache(HOME=str(tmp_path), XDG_CACHE_HOME="/xdg") == Path("/xdg/tempi")
    assert cache(HOME=str(tmp_path), XDG_CACHE_HOME="/xdg", TEMPI_CACHE_DIR="/own") == Path("/own")


@pytest.mark.parametrize(
    "change", [{"gpu": "Other"}, {"gpus": 3}, {"driver": "2"}, {"mpi": "Other"}, {"transports": {"UCX_TLS": "tcp"}}]
)
def test_another_machine_has_another_name(change):
    assert name_of(replace(MACHINE, **change)) != name_of(MACHINE)
    assert name_of(replace(MACHINE)) == name_of(MACHINE)


def test_a_name_is_one_of_a_file():
    assert "/" not in name_of(replace(MACHINE, host="../a b"))


def test_a_folder_that_cannot_be_written_is_refused_with_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    for attempt in (check_writable, lambda folder: write(small_profile(), folder)):
        with pytest.raises(ProfileError, match=r"cannot be written: Not a directory"):
            attempt(tmp_path / "file" / "folder")


def test_a_failed_write_leaves_the_old_files_and_nothing_else(tmp_path, monkeypatch):
    path = write(small_profile(), tmp_path)
    before = {file.name: file.read_text() for file in tmp_path.iterdir()}

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(ProfileError, match="No space left"):
        write(replace(small_profile(), tables=()), tmp_path)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == before
    assert read(path) == small_profile()


def test_readers_never_see_half_a_profile(tmp_path):
    long = {name: Term((Segment(0, 1.0, 0, 0, 0, 0),)) for name in TERMS}
    versions = [small_profile(), replace(small_profile(), terms=long)]
    path = write(versions[0], tmp_path)
    writers = [
        threading.Thread(target=lambda version=version: [write(version, tmp_path) for _ in range(30)])
        for version in versions
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert read(path) in versions
    assert sorted(file.name for file in tmp_path.iterdir()) == [path.with_suffix(".fit").name, path.name]
