"""Figures and tables of benchmarks: no warnings of Matplotlib, and the words of verdicts are explained."""

import warnings

from bench import view
from bench.common.commands import CONSOLE
from bench.common.figures import draw_packs

PACK = {"kind": "vector", "payload": 1 << 20, "block": 8, "stride": 16, "over_limit": None, "library_us": 5.0}


def test_packs_without_measured_times_of_tempi_have_no_legend_and_no_warning(tmp_path):
    rows = [PACK | {"direction": direction} for direction in ("pack", "unpack")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw_packs(rows, tmp_path / "a.png", "machine", "source")
    assert (tmp_path / "a.png").exists()


def test_a_table_with_verdicts_explains_them():
    with CONSOLE.capture() as shown:
        view.show([{"case": "slice", "us": 4.0, "bar_us": 3.0, "verdict": "FAIL"}])
    assert "bar: a limit that TEMPI is to keep. PASS: the measured value keeps it. FAIL: it does not." in shown.get()
