"""The table of a profile: rates are those of measurements."""

from dataclasses import replace
from pathlib import Path

import pytest
from profiles import FACTS, MACHINE, measured, message_table, table

from tempi.measure.tables import MEANINGS, NO_RATE, term_table
from tempi.model.features import Features
from tempi.model.measurement import by_term
from tempi.model.profile import fitted, read
from tempi.model.terms import Segment, Term

SHIPPED = sorted((Path(__file__).resolve().parents[2] / "perfmodel" / "machines").glob("*.json"))
MIB = 1 << 20
SIZES = [MIB << power for power in range(7)]


def rates_of(profile):
    """The cells of the column by term."""
    shown = term_table(profile)
    names, rates = (shown.columns[place] for place in (0, list(MEANINGS).index("most\nGB/s")))
    return dict(zip(names.cells, rates.cells, strict=True))


def rates_of_rows(rows):
    return rates_of(fitted(MACHINE, FACTS, rows, {}))


def test_a_rate_is_that_of_a_measurement_also_if_the_fit_has_none():
    """The time of a vector grows with its touched bytes; the fit may give all of it to them, or a part."""
    profile = fitted(MACHINE, FACTS, table(Term((Segment(0, 1e-6, 0.0, 0.0, 2e-12, 0.0),))), {})
    assert profile.terms["pack.device"].segments[-1].per_byte < 1e-14
    assert float(rates_of(profile)["pack.device"]) == pytest.approx(500, rel=0.02)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_no_rate_of_a_shipped_profile_is_above_the_measured_ones(path):
    profile = read(path)
    rates, tables = rates_of(profile), by_term(profile.tables)
    assert any(rate != NO_RATE for rate in rates.values())
    for name, rate in rates.items():
        highest = max(1e-9 * row.bytes / row.median_s for row in tables[name])
        assert rate == NO_RATE or float(rate.replace(",", "")) <= 1.01 * highest


def test_sizes_in_a_cache_give_no_rate():
    rows = message_table(Term((Segment(0, 1e-9, 1e-12, 0.0, 0.0, 0.0), Segment(MIB, 0.0, 1e-10, 0.0, 0.0, 0.0))))
    assert rates_of_rows(rows) == {"message.host.same_node": "10"}


def test_small_sizes_give_no_rate():
    rows = [measured(Features(size), 1e-9, "reduce.host") for size in (64, 1 << 10, MIB // 2)]
    assert rates_of_rows(rows) == {"reduce.host": NO_RATE}


def test_times_that_vary_give_no_rate():
    """A difference of two times may be near 0: it varies as much as they do."""
    rows = [measured(Features(size), 1e-9 + 1e-10 * size, "message.host.same_gpu") for size in SIZES]
    tiny = [replace(row, median_s=1e-9, low_s=1e-10, high_s=1e-7) for row in rows]
    assert rates_of_rows(tiny) == {"message.host.same_gpu": NO_RATE}
    assert rates_of_rows([*rows[:-1], tiny[-1]]) == {"message.host.same_gpu": "10"}
