"""``tempi explain --bytes``: each strategy's predicted time, part by part, and the one that the shim takes."""

import re
import sys
from pathlib import Path

import pytest
from measuring import STAND_IN_COMMAND

from support.programs import run
from tempi.commands.prediction import Prediction, _mark

SHIPPED = Path(__file__).resolve().parents[2] / "perfmodel" / "machines"
EXPLAIN = [sys.executable, "-m", "tempi", "explain", "MPI.DOUBLE.Create_vector(1024, 1, 64)"]


def test_explain_shows_each_strategy_term_by_term_and_the_winner(environment, tmp_path):
    assert run(STAND_IN_COMMAND, environment).code == 0
    vector = "MPI.DOUBLE.Create_vector(1024, 1, 64)"
    explain = [sys.executable, "-m", "tempi", "explain", vector, "--bytes", "65536", "--peer", "same_gpu"]
    (profile,) = (tmp_path / "cache").glob("*.json")
    done = run([*explain, "--profile", str(profile)], environment | {"COLUMNS": "120"})
    assert done.code == 0, done.text
    assert "65536 B of GPU memory in 8192 blocks, 262144 B touched, 1024 pages" in done.out
    rows = {
        row[0]: [float(cell) for cell in row[1:5]]
        for row in (re.findall(r"[\w.]+", line) for line in done.out.splitlines())
        if row and row[0] in ("device", "oneshot", "staged") and len(row) >= 5
    }
    assert set(rows) == {"device", "oneshot", "staged"}
    pack = 1e6 * (7e-6 + 2e-11 * 65536 + 1e-10 * 8192 + 5e-12 * 262144 + 2e-9 * 1024)
    message = 1e6 * (7e-6 + 2e-11 * 65536)
    for row in rows.values():
        assert row == pytest.approx([pack, message, pack, 2 * pack + message], rel=0.01)
    assert done.out.count("chosen") == 1


def test_explain_without_a_profile_shows_the_rule_and_the_shipped_profiles(environment):
    done = run([sys.executable, "-m", "tempi", "explain", "MPI.INT", "--profile", "none.json"], environment)
    assert done.code == 1
    assert "none.json cannot be read" in done.err
    done = run([sys.executable, "-m", "tempi", "explain", "MPI.INT", "--bytes", "8"], environment)
    assert done.code == 0, done.text
    for words in ("a fixed rule applies", "shipped: --profile", "nvidia-h200", "tempi measure"):
        assert words in done.out


def test_a_peer_is_the_one_asked_for(environment):
    """The profile of two H200s has no messages of host memory, and none of another GPU's peers in their place."""
    command = [*EXPLAIN, "--bytes", "65536", "--profile", str(SHIPPED / "nvidia-h200-openmpi-4.1.6.json"), "--peer"]
    done = run([*command, "same_gpu"], environment)
    assert done.code == 0, done.text
    assert re.findall(r"one message, peer: (\w+)", done.out) == ["same_gpu"]
    assert "65536 B of GPU memory" in done.out
    done = run([*command, "same_node"], environment)
    assert done.code == 1, done.text
    assert "has no strategy for a peer on same_node" in done.err


def test_the_slower_way_is_not_chosen_without_a_reason():
    nearly = Prediction({}, {"library": 1.2, "host": 1.0}, "library", reason="packing must be predicted 1.5 x faster")
    assert _mark(nearly, "library") == "chosen: packing must be predicted 1.5 x faster"
    assert _mark(nearly, "host") == "0.83 x"
    assert _mark(Prediction({}, {"library": 1.0, "host": 1.2}, "library", reason="why"), "library") == "chosen"
