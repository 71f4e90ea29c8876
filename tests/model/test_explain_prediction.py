"""``tempi explain --bytes``: each strategy's predicted time, part by part, and the one that the shim takes."""

import json
import re
import sys
from pathlib import Path

import pytest
from measuring import STAND_IN_COMMAND
from profiles import FACTS, MACHINE, measured

from support.programs import run
from tempi import _native
from tempi._library import Option, options
from tempi.commands.prediction import Known, Prediction, on_gpu
from tempi.commands.prediction_text import (
    CANCELLED_BY,
    CHOOSING_OPTIONS,
    choosing_options,
    mark,
    prediction_table,
    us_text,
)
from tempi.explanation import Explanation, merged_launches
from tempi.model.features import Features
from tempi.model.profile import fit_text, fitted, write
from tempi.model.terms import LOCALITIES, NEAR_LOCALITIES, RULE_BYTES, Segment, Term, terms_on_gpu

SHIPPED = Path(__file__).resolve().parents[2] / "perfmodel" / "machines"
EXPLAIN = [sys.executable, "-m", "tempi", "explain", "MPI.DOUBLE.Create_vector(1024, 1, 64)"]
SHOWN = "one message, peer: "
LONG_TEXTS = {"COLUMNS": "120"}


def explained(environment, *arguments):
    done = run([*EXPLAIN, *arguments], environment | LONG_TEXTS)
    assert done.code == 0, done.text
    return done.out


def transfer_of(features, contiguous=False):
    return Explanation("", "", "", "", features, contiguous, False)


def known_of(terms):
    fit = _native.read_fit(fit_text(MACHINE, terms, {}))
    return Known("made up", MACHINE, fit)


def constant(seconds):
    return Term((Segment(0, seconds, 0, 0, 0, 0),))


def test_explain_shows_each_strategy_term_by_term_and_the_winner(environment, tmp_path):
    assert run(STAND_IN_COMMAND, environment).code == 0
    vector = "MPI.DOUBLE.Create_vector(1024, 1, 64)"
    explain = [sys.executable, "-m", "tempi", "explain", vector, "--bytes", "65536", "--peer", "same_gpu"]
    (profile,) = (tmp_path / "cache").glob("*.json")
    done = run([*explain, "--profile", str(profile)], environment | {"COLUMNS": "120"})
    assert done.code == 0, done.text
    assert "65,536 B of GPU memory in 8,192 blocks, 262,144 B touched, 1,024 pages" in done.out
    rows = {
        row[0]: [float(cell) for cell in row[1:5]]
        for row in (re.findall(r"[\w.]+", line) for line in done.out.splitlines())
        if row and row[0] in ("device", "oneshot", "staged") and len(row) >= 5
    }
    assert set(rows) == {"oneshot", "staged"}  # by default, device is for other nodes only
    pack = 1e6 * (7e-6 + 2e-11 * 65536 + 1e-10 * 8192 + 5e-12 * 262144 + 2e-9 * 1024)
    message = 1e6 * (7e-6 + 2e-11 * 65536)
    for row in rows.values():
        assert row == pytest.approx([pack, message, pack, 2 * pack + message], rel=0.01)
    assert "total" in done.out
    assert "choice of TEMPI" in done.out
    assert "µs" in done.out
    assert not re.search(r"\bus\b", done.out)


def test_without_a_profile_the_rule_for_the_peer_is_shown(environment, tmp_path):
    environment |= {"TEMPI_PROFILE": "auto", "TEMPI_CACHE_DIR": str(tmp_path / "empty")}
    whole = explained(environment, "--bytes", "65536")
    words = [
        "This machine has no profile",
        "direct if possible",
        "to other nodes: TEMPI uses device",
        "CUDA-aware",
        "of host memory (strategy library)",
        "--profile NAME",
        "nvidia-h200-openmpi-4.1.6",
    ]
    assert [word for word in words if word not in whole] == []
    near = explained(environment, "--bytes", "65536", "--peer", "same_gpu")
    assert "direct if possible" in near
    assert "device" not in near
    assert "host memory" not in near
    assert "both processes run TEMPI" in near
    far = explained(environment, "--bytes", "65536", "--peer", "other_node")
    assert "device for messages of at least 48 KiB" in far
    assert "direct" not in far
    assert "oneshot for messages below 48 KiB" in explained(environment, "--bytes", "64", "--peer", "other_node")


@pytest.mark.parametrize("name", [path.stem for path in SHIPPED.glob("*.fit")])
def test_a_profile_of_the_package_is_used_by_its_name(environment, name):
    assert f"predicted from {name}\n" in explained(environment, "--bytes", "65536", "--profile", name)


@pytest.mark.parametrize("name", ["nosuch.fit", "nosuch.json", "nosuch", "nvidia-h200-openmpi-4.1.7"])
def test_a_profile_that_does_not_exist_is_named_as_given_with_those_that_exist(environment, name):
    done = run([*EXPLAIN, "--profile", name], environment)
    assert done.code == 1, done.text
    assert re.search(rf"{re.escape(name)}( cannot be read|: use)", done.err)
    assert all(path.stem in done.err for path in SHIPPED.glob("*.fit"))


def test_an_incomplete_profile_shows_the_rule_and_the_missing_terms(environment):
    """The profile of two H200s has no messages of host memory."""
    profile = ("--bytes", "65536", "--profile", "nvidia-h200-openmpi-4.1.6", "--peer")
    shown = explained(environment, *profile, "same_gpu")
    assert re.findall(rf"{SHOWN}(\w+)", shown) == ["same_gpu"]
    assert "65,536 B of GPU memory" in shown
    shown = explained(environment, *profile, "same_node")
    assert "A fixed rule applies:\n  The MPI library sends messages of host memory" in shown
    assert "library: the profile has no term message.library.typed.same_node" in shown
    assert "tempi measure measures these terms" in shown
    shown = explained(environment, *profile, "other_node")
    assert "is not CUDA-aware: TEMPI uses oneshot for GPU memory to other nodes" in shown
    assert "tempi measure --hosts A,B measures these terms" in shown
    whole = json.loads(explained(environment, *profile, "other_node", "--json"))["predictions"]["GPU"]
    assert (whole["chosen"], whole["missing_terms"]) == ("oneshot", ["message.host.other_node"])


def test_a_direct_message_that_was_not_measured_is_shown_as_the_choice(environment):
    shown = explained(
        environment, "--bytes", "65536", "--profile", "nvidia-h200-openmpi-5.0.7-cuda", "--peer", "same_gpu"
    )
    assert re.search(r"direct .* not measured .* chosen if possible", shown)
    assert re.search(r"oneshot .* chosen otherwise", shown)
    assert "the profile has no term message.direct.same_gpu" in shown


def test_an_option_that_changes_the_choice_is_told(environment):
    profile = ("--bytes", "65536", "--profile", "nvidia-h200-openmpi-4.1.6", "--peer", "same_gpu")
    told = "TEMPI_NO_DIRECT=1 is set. The choice above is without this option."
    assert told in explained(environment | {"TEMPI_NO_DIRECT": "1"}, *profile)
    assert "is set" not in explained(environment | {"TEMPI_NO_DIRECT": "0"}, *profile)


def option(name, value, default="0"):
    return Option(name, value, default, "", True)


@pytest.mark.parametrize(
    ("told", "rows"),
    [
        (["CUDA_AWARE"], [option("CUDA_AWARE", "1", "auto"), option("REPORT", "1")]),
        (["DATATYPE_ONESHOT"], [option("DATATYPE_ONESHOT", "1"), option("DATATYPE_AUTO", "0")]),
        ([], [option("DATATYPE_ONESHOT", "1"), option("DATATYPE_DEVICE", "1"), option("DATATYPE_AUTO", "1")]),
        ([], [option("CONTIGUOUS_AUTO", "1"), option("CONTIGUOUS_STAGED", "1")]),
    ],
)
def test_only_options_that_change_the_choice_are_told(told, rows):
    assert [row.name for row in choosing_options(rows)] == told


def test_each_option_that_changes_the_choice_exists():
    names = {row.name for row in options()}
    assert {*CHOOSING_OPTIONS, *CANCELLED_BY, *CANCELLED_BY.values()} <= names


def test_strategies_without_a_time_have_one_order_with_the_chosen_one_first():
    found = Prediction("GPU", "same_gpu", {}, {"staged": 1.0}, "oneshot", "direct")
    assert [*prediction_table(found).columns[0].cells] == ["oneshot", "direct", "staged"]


def test_the_limit_of_the_rule_is_the_limit_of_the_shim():
    source = (SHIPPED.parents[1] / "src" / "transfer" / "strategy.cpp").read_text()
    assert f"kDeviceBytes = {RULE_BYTES >> 10} << 10;" in source


def test_the_output_of_a_large_message_is_short(environment):
    done = run([*EXPLAIN[:-1], "MPI.BYTE.Create_vector(2, 1, 2)", "--bytes", str(10**12)], environment | LONG_TEXTS)
    shown = done.out
    assert len(shown.splitlines()) < 40
    assert re.search(r"GPU: [\d,]+ launches of", shown)


@pytest.mark.parametrize("count", [10**12, 99999999999999])
def test_a_message_that_takes_long_to_plan_is_refused(environment, count):
    done = run([*EXPLAIN, "--count", str(count)], environment)
    assert done.code == 1
    assert "explain plans at most 16 TiB from the first element to the last" in done.err


def test_profiles_that_are_switched_off_are_told(environment):
    off = environment | {"TEMPI_PROFILE": "none"}
    shown = explained(off, "--bytes", "65536")
    assert "TEMPI_PROFILE=none switches profiles off. TEMPI uses a fixed rule:" in shown
    assert "tempi measure measures" not in shown
    whole = json.loads(explained(off, "--bytes", "65536", "--json"))
    assert whole["why_no_predictions"] == "TEMPI_PROFILE=none switches profiles off"


def test_the_option_for_the_profile_needs_a_path(environment):
    name = "nvidia-h200-openmpi-4.1.6"
    done = run([*EXPLAIN, "--bytes", "65536"], environment | {"TEMPI_PROFILE": name})
    assert done.code == 1, done.text
    assert f"TEMPI_PROFILE needs a path; use --profile {name}" in done.err


def test_an_empty_profile_is_an_error(environment):
    done = run([*EXPLAIN, "--profile", ""], environment)
    assert done.code == 2
    assert "--profile is empty" in done.err


@pytest.mark.parametrize("name", [path.stem for path in SHIPPED.glob("*.fit")])
def test_the_peer_is_one_whose_direct_messages_were_measured(environment, name):
    shown = explained(environment, "--bytes", "65536", "--profile", name)
    assert f"{SHOWN}other_gpu" in shown
    assert "direct: the profile has no term" not in shown


def test_equal_launches_are_one_line_and_many_different_ones_are_cut():
    lines = ["count 9", *["GPU: 1 launch of a, words of 8 B, 5 tiles of 4 threads"] * 3]
    assert merged_launches("\n".join(lines)) == (
        "count 9\nGPU: 3 launches of a, each with words of 8 B, 5 tiles of 4 threads\n"
    )
    lines += [f"GPU: 1 launch of b{number}, words of 8 B" for number in range(20)]
    shown = merged_launches("\n".join(lines)).splitlines()
    assert len(shown) == 10
    assert shown[-1] == "... 13 more launches"


def test_one_block_is_in_the_singular(environment):
    done = run([*EXPLAIN[:-1], "MPI.INT", "--bytes", "64", "--profile", "nvidia-h200-openmpi-4.1.6"], environment)
    assert "64 B of GPU memory in 1 block, 64 B touched, 1 page\n" in done.out


def test_the_help_has_no_huge_numbers(environment):
    done = run([*EXPLAIN[:-1], "--help"], environment)
    assert done.code == 0
    assert "--count N" in done.out
    assert not re.search(r"\d{10}", done.out)


@pytest.mark.parametrize(
    ("seconds", "text"), [(4e-3, "4,000"), (1.2345e-6, "1.234"), (0.0123e-6, "0.0123"), (1e-12, "< 0.001")]
)
def test_times_have_no_exponent(seconds, text):
    assert us_text(seconds) == text


@pytest.mark.parametrize("contiguous", [False, True])
@pytest.mark.parametrize("locality", LOCALITIES)
def test_the_terms_of_a_strategy_are_those_that_the_shim_needs(contiguous, locality):
    message = (*Features(64, 8, 256), contiguous, locality, True, locality in NEAR_LOCALITIES)
    for strategy, terms in terms_on_gpu(*message[4:]).items():
        every = {name: constant(1.0) for name in terms}
        assert strategy in _native.read_fit(fit_text(MACHINE, every, {})).predict(*message)
        for name in terms:
            fewer = {other: term for other, term in every.items() if other != name}
            assert strategy not in _native.read_fit(fit_text(MACHINE, fewer, {})).predict(*message)


FAR = {f"{side}.{how}": constant(1.0) for side in ("pack", "unpack") for how in ("device", "oneshot")} | {
    "message.host.other_node": constant(1.0)
}


def test_the_strategy_of_the_rule_is_taken_if_it_was_not_measured():
    """As in by_model of src/transfer/strategy.cpp."""
    large = transfer_of(Features(1 << 20, 8, 1 << 20))
    found = on_gpu(known_of(FAR), large, "other_node")
    assert set(found.totals) == {"oneshot"}
    assert (found.chosen, found.missing["device"]) == ("device", ("message.device.other_node",))
    known = known_of(FAR | {"message.device.other_node": constant(5.0)})
    assert on_gpu(known, large, "other_node").chosen == "oneshot"
    assert on_gpu(known, transfer_of(Features(64), contiguous=True), "other_node").chosen == "library"


@pytest.mark.parametrize(("direct_s", "chosen"), [(2.9, ("direct", "oneshot")), (3.1, ("oneshot",))])
def test_a_slower_direct_message_is_packed(direct_s, chosen):
    parts = {name: constant(1.0) for name in ("pack.oneshot", "unpack.oneshot", "message.host.same_node")}
    known = known_of(parts | {"message.direct.other_gpu": constant(direct_s)})
    assert on_gpu(known, transfer_of(Features(64, 8, 256)), "other_gpu").choices == chosen


def test_a_profile_of_this_machine_shows_only_what_was_measured(environment, tmp_path):
    rows = [measured(Features(size), 1e-6, "message.host.same_node") for size in (64, 256, 1024)]
    path = write(fitted(MACHINE, FACTS, rows, {}), tmp_path / "partial")
    shown = explained(environment, "--bytes", "65536", "--profile", str(path), "--peer", "other_gpu")
    assert "oneshot: the profile has no term pack.oneshot, unpack.oneshot" in shown
    assert "direct if possible" in shown


def test_the_slower_way_is_not_chosen_without_a_reason():
    why = "host must be predicted more than 1.5 x as fast"
    nearly = Prediction("host", "self", {}, {"library": 1.2, "host": 1.0}, "library", reason=why)
    assert mark(nearly, "library") == f"chosen: {why}"
    assert mark(nearly, "host") == "0.833 x library"
    assert (
        mark(Prediction("host", "self", {}, {"library": 1.0, "host": 1.2}, "library", reason=why), "library")
        == "chosen"
    )
