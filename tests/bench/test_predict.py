"""bench.predict from the command to the file: its driver is compiled with the sources of the model."""

import csv
import sys
from pathlib import Path

from support import shim
from support.programs import succeed

ROOT = Path(__file__).resolve().parents[2]


def test_the_driver_is_compiled_and_measures_both_cases(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    succeed([sys.executable, "-m", "tempi", "bench", "predict", "--out", str(tmp_path)], shim.clean_environment())
    lines = (tmp_path / "predict.csv").read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert [row["case"].partition(":")[0] for row in rows] == ["warm", "cold"]
    assert all(float(row["median_ns"]) > 0 for row in rows)
