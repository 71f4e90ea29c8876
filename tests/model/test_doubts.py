"""Which profiles are refused: the rows and the fit of each term, and its small transfers."""

from dataclasses import replace
from pathlib import Path

import pytest
from profiles import FACTS, MACHINE, measured, table

from tempi.measure.collecting import Collected, Limit
from tempi.measure.cpu_wait import CpuTime, cpu_time
from tempi.measure.doubts import doubts
from tempi.model.features import Features
from tempi.model.measurement import by_term
from tempi.model.profile import fitted, read
from tempi.model.terms import Segment, Term

SHIPPED = sorted((Path(__file__).resolve().parents[2] / "perfmodel" / "machines").glob("*.json"))
SIZES = [64 << (2 * power) for power in range(10)]
SLICE_S = 4e-3


def message_rows(seconds_of, term="message.host.same_node"):
    return [measured(Features(size), seconds_of(i, size), term) for i, size in enumerate(SIZES)]


def quiet(_, size):
    return 5e-7 + 1e-10 * size


def vague(rows, n):
    """The first `n` rows vary."""
    return [replace(row, high_s=3 * row.median_s) if i < n else row for i, row in enumerate(rows)]


def doubts_of(*tables, planned=None, waited=0.0):
    quiet_rows = table(Term((Segment(0, 7e-6, 1e-12, 1e-11, 1e-12, 1e-10),)))
    rows = [row for rows in (quiet_rows, *tables) for row in rows]
    return doubts(fitted(MACHINE, FACTS, rows, {}), planned or {}, waited)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_profiles_that_come_with_tempi_are_not_doubted(path):
    profile = read(path)
    assert doubts(profile, {name: len(rows) for name, rows in by_term(profile.tables).items()}) == []


def test_a_quiet_machine_is_not_doubted():
    assert doubts_of(message_rows(quiet)) == []


def test_steady_times_of_a_time_slice_are_doubted_although_they_fit_well():
    """Two ranks that spin on busy cores take turns: every message takes a time slice, with little variation."""
    (doubt,) = doubts_of(message_rows(lambda _, size: SLICE_S + 1e-10 * size))
    assert doubt.startswith("message.host.same_node: a transfer of at most 4 KiB takes 4,000 µs.")


def test_a_process_that_had_no_core_for_long_is_doubted_whatever_its_times():
    (doubt,) = doubts_of(message_rows(quiet), waited=0.22)
    assert doubt == "all terms: other processes had the CPU core for 22 % of the time"
    assert doubts_of(message_rows(quiet), waited=0.02) == []


def test_the_share_of_waiting_is_of_the_time_that_the_process_was_ready():
    assert CpuTime(400, 250).share_since(CpuTime(100, 150)) == 0.25
    assert CpuTime(0, 0).share_since(CpuTime(0, 0)) == 0.0


@pytest.mark.parametrize("text", [None, "", "a b c"])
def test_a_kernel_that_does_not_count_says_nothing(tmp_path, monkeypatch, text):
    monkeypatch.setattr("tempi.measure.cpu_wait.STATISTICS", tmp_path / "schedstat")
    if text is not None:
        (tmp_path / "schedstat").write_text(text)
    assert cpu_time() == CpuTime(0, 0)
    (tmp_path / "schedstat").write_text("3000 1000 7\n")
    assert cpu_time() == CpuTime(3000, 1000)


def test_a_network_may_be_slow():
    assert doubts_of(message_rows(lambda _, size: SLICE_S + 1e-10 * size, "message.host.other_node")) == []


def test_one_term_that_varies_is_doubted_among_many_rows_that_do_not():
    rows = message_rows(quiet)
    (doubt,) = doubts_of(vague(rows, 6))
    assert doubt == "message.host.same_node: 6 of 10 rows vary too much from sample to sample"


def test_a_term_with_two_rows_of_a_time_slice_is_doubted():
    (doubt,) = doubts_of(message_rows(lambda i, size: SLICE_S if i in (4, 6) else quiet(i, size)))
    assert doubt.startswith("message.host.same_node: the fit differs from a tenth of the measurements by 9")


def test_a_fit_that_differs_from_half_of_the_rows_is_doubted():
    (doubt,) = doubts_of(message_rows(lambda i, size: 3 ** (i % 3) * quiet(i, size)))
    assert doubt == "message.host.same_node: the fit differs from half of the measurements by 59 % or more"


def test_halves_that_do_not_predict_each_other_are_doubted():
    """Every second row takes 2.4 times as long. The fit of all rows is between both halves, and near enough."""
    rows = message_rows(lambda i, size: (2.4 if i % 2 else 1.0) * quiet(i, size))
    (doubt,) = doubts_of(rows)
    reason = "half of the measurements predict the other half with an error above 90 %"
    assert doubt == f"message.host.same_node: {reason}"
    rows = message_rows(lambda i, size: (2.1 if i % 2 else 1.0) * quiet(i, size))
    assert doubts_of(rows) == []


@pytest.mark.parametrize(("n_vague", "n_doubts"), [(2, 0), (3, 1)])
def test_terms_that_all_vary_are_doubted_although_no_term_is_doubted_alone(n_vague, n_doubts):
    terms = ("message.host.same_node", "message.host.same_gpu")
    rows = [row for term in terms for row in vague(message_rows(quiet, term), n_vague)]
    found = doubts(fitted(MACHINE, FACTS, rows, {}), {})
    assert found == ["all terms: 6 of 20 rows vary too much from sample to sample"][:n_doubts]


@pytest.mark.parametrize(
    ("term", "n_measured", "n_planned"), [("message.host.same_node", 10, 21), ("pack.host", 0, 20)]
)
def test_a_term_that_lacks_most_of_its_rows_is_doubted(term, n_measured, n_planned):
    (doubt,) = doubts_of(message_rows(quiet), planned={term: n_planned})
    lacking = "the others failed, or the time limit left them out"
    assert doubt == f"{term}: only {n_measured} of {n_planned} rows were measured; {lacking}"
    assert doubts_of(message_rows(quiet), planned={"message.host.same_node": 20}) == []


def test_rows_that_are_left_out_are_named_by_their_term_and_the_limit():
    collected = Collected()
    collected.add({"machine": vars(MACHINE), "rows": {"pack.host": 4, "unpack.host": 4, "launch": 1}})
    collected.add({"failed": "pack.host", "why": "a reason"})
    collected.add({"left_out": {"pack.host": 1, "unpack.host": 4, "launch": 1}})
    told = list(collected.notes(Limit(20.0, "20 s with --quick")))
    assert told[0] == "pack.host: 1 row could not be measured: a reason"
    assert told[1].startswith("The time limit (20 s with --quick) ended the measurement: 6 of 9 rows were left out.")
    assert told[2:] == ["  pack.host: 1 of 4 rows", "  unpack.host: 4 of 4 rows", "  launch: 1 of 1 row"]
