"""bench.solver from the command to the files, and its ranks on a stand-in for GPUs, against the same loop on the global
array."""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from bench.solver.__main__ import main
from bench.solver.launches import Outcome, rows_of
from support import shim
from support.programs import mpirun_python, run, succeed

ROOT = Path(__file__).resolve().parents[2]
RANK = ROOT / "bench" / "solver" / "rank.py"
STAND_IN = Path(__file__).with_name("stand_in_gpu")
EDGE, ITERATIONS = 5, 4
ON_FAKE_DEVICE = {"LD_PRELOAD": shim.preload(), "TEMPI_DEVICE": "fake"}
WITHOUT_SHIM = {"TEMPI_DISABLE": "1", "STAND_IN_GPUS": "2"}


def global_residual(n_ranks):
    """r·r after the iterations, by NumPy on the global periodic array."""
    lengths = (EDGE * n_ranks, EDGE, EDGE)  # one and two ranks
    z, y, x = np.ogrid[tuple(slice(length) for length in lengths)]
    r = ((7919 * z * z + 104729 * y * y + 1299709 * x * x + z * y + y * x) % 1009) / 1009 - 0.5
    p = r.copy()
    for _ in range(ITERATIONS):
        q = 6.125 * p - sum(np.roll(p, step, axis) for axis in range(3) for step in (-1, 1))
        before, factor = (r * r).sum(), (r * r).sum() / (p * q).sum()
        r = r - factor * q
        p = r + (r * r).sum() / before * p
    return (r * r).sum()


@pytest.mark.parametrize("n_ranks", [1, 2])
def test_all_ways_on_host_memory(tmp_path, monkeypatch, n_ranks):
    monkeypatch.chdir(ROOT)
    options = ["--memory", "host", "--ranks", str(n_ranks), "--edge", str(EDGE), "--edge", "7", "--rounds", "1"]
    options += ["--iterations", str(ITERATIONS), "--seconds", "0.01", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "tempi", "bench", "solver", *options]
    succeed(command, shim.clean_environment())
    (table,) = tmp_path.glob("solver-host-*.csv")
    lines = table.read_text().splitlines()
    assert {"command", "cpu", "mpi", "build"} <= {line[2:].split(":")[0] for line in lines if line.startswith("#")}
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert [(row["edge"], row["way"]) for row in rows] == [
        (edge, way) for edge in (str(EDGE), "7") for way in ("halo", "types", "library", "hand")
    ]
    assert all(row["wrong_cells"] == "0" and row["same_residual"] == "True" for row in rows)
    assert all(float(row["median_us"]) > 0 and float(row["compute_us"]) > 0 for row in rows)
    assert {row["residual"] for row in rows[:4]} == {f"{global_residual(n_ranks):.4g}"}
    assert table.with_suffix(".png").stat().st_size > 10_000


def records_of_ranks(n_ranks, ways, environment, gpus=1):
    added = {"PYTHONPATH": f"{ROOT}:{STAND_IN}", "TEMPI_CUDA_AWARE": "0"} | environment
    options = ["--ways", ways, "--edges", str(EDGE), "--memory", "gpu", "--gpus", str(gpus)]
    options += ["--iterations", str(ITERATIONS), "--seconds", "0.01"]
    command = [*mpirun_python([added] * n_ranks, RANK), *options]
    return [json.loads(line) for line in succeed(command, shim.clean_environment()).out.splitlines()]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("ways", "environment", "how"),
    [
        ("halo,types", ON_FAKE_DEVICE, ["Halo", "DerivedTypes"]),
        ("library", WITHOUT_SHIM, ["Staged"]),
        ("library", WITHOUT_SHIM | {"TEMPI_CUDA_AWARE": "1"}, ["DerivedTypes"]),
        ("nccl", WITHOUT_SHIM, ["HandNccl"]),
    ],
    ids=["tempi", "staged", "cuda-aware", "nccl"],
)
@pytest.mark.parametrize("n_ranks", [1, 2])
def test_ways_on_a_stand_in_for_gpus_reach_the_residual_of_the_global_array(n_ranks, ways, environment, how):
    found = records_of_ranks(n_ranks, ways, environment, gpus=n_ranks)
    assert [record["how"] for record in found] == how
    assert [record["wrong"] for record in found] == [0] * len(how)
    assert [record["residual"] for record in found] == pytest.approx([global_residual(n_ranks)] * len(how), rel=1e-12)


def test_the_messages_of_tempis_ways_are_taken_on_the_fake_device():
    environment = ON_FAKE_DEVICE | {"TEMPI_REPORT": "1"}
    added = {"PYTHONPATH": f"{ROOT}:{STAND_IN}"} | environment
    options = ["--ways", "types", "--edges", "5", "--memory", "gpu", "--iterations", "2", "--seconds", "0.01"]
    report = succeed([*mpirun_python([added] * 2, RANK), *options], shim.clean_environment()).err
    for call in ("MPI_Isend", "MPI_Allreduce"):
        assert any(call in line and "taken" in line for line in report.splitlines()), report


def test_ranks_that_share_a_gpu_have_no_nccl():
    (found,) = records_of_ranks(2, "nccl", WITHOUT_SHIM, gpus=1)
    assert found["why"] == "NCCL wants a GPU for each rank"


def test_a_way_that_shows_the_shim_is_not_timed_without_it():
    options = ["--ways", "halo", "--edges", "5", "--memory", "host", "--iterations", "2", "--seconds", "0.01"]
    command = mpirun_python([{"PYTHONPATH": str(ROOT), "TEMPI_DISABLE": "1"}], RANK)
    output = run([*command, *options], shim.clean_environment())
    assert output.code != 0
    assert "tempi.enabled() is False" in output.err


def test_a_residual_that_differs_by_more_than_rounding_is_told():
    first, near, far = (Outcome([1.0], [0.5], [residual]) for residual in (2.0, 2.0 + 1e-12, 2.0 + 1e-6))
    rows = rows_of({(2, 64, "halo"): first, (2, 64, "types"): near, (2, 64, "library"): far})
    assert [row["same_residual"] for row in rows] == [True, True, False]
    assert [row["communication_share"] for row in rows] == [0.5] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--memory", "host", "--ways", "nccl"], "nccl: for host memory there are halo, types, library, hand"),
        (["--memory", "host", "--edge", "0"], "--edge"),
    ],
)
def test_wrong_usage_says_what_is_wanted(arguments, message):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", "").split())
