"""bench.halo3d from the command to the files, and its ranks on a stand-in for GPUs; every exchange is checked."""

import csv
import json
import sys
from pathlib import Path

import pytest

from bench.halo3d.jobs import WITH_SHIM
from support import shim
from support.programs import mpirun_python, run, succeed

ROOT = Path(__file__).resolve().parents[2]
RANK = ROOT / "bench" / "halo3d" / "rank.py"
STAND_IN = Path(__file__).with_name("stand_in_gpu")
HOST = ["--memory", "host", "--seconds", "0.01"]
HOST_WAYS = {"library", "library-persistent", "hand"} | set(WITH_SHIM)


@pytest.fixture
def in_source_tree(monkeypatch):
    monkeypatch.chdir(ROOT)


def rows_of(path):
    lines = path.read_text().splitlines()
    facts = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    return facts, list(csv.DictReader(line for line in lines if not line.startswith("#")))


@pytest.mark.usefixtures("in_source_tree")
def test_all_ways_on_host_memory_with_one_and_two_ranks(tmp_path):
    sizes = ["--size", "6:2:3", "--size", "5:1:1"]
    options = ["--ranks", "1,2", "--rounds", "1", "--seconds", "0.01", "--memory", "host", *sizes]
    command = [sys.executable, "-m", "bench.halo3d", *options, "--out", str(tmp_path)]
    output = succeed(command, shim.clean_environment()).out
    (table,) = tmp_path.glob("halo3d-host-*.csv")
    facts, rows = rows_of(table)
    assert {"command", "cpu", "mpi", "build", "date"} <= set(facts)
    assert len(rows) == 2 * 2 * len(HOST_WAYS), output
    assert {row["way"] for row in rows} == HOST_WAYS
    assert all(not row["failure"] and row["wrong_cells"] == "0" and float(row["median_us"]) > 0 for row in rows)
    assert output.count("MiB a rank; 2 ranks") == 2
    assert table.with_suffix(".png").stat().st_size > 10_000


def results_of_ranks(n_ranks, tasks, **environment):
    """The ranks' reports, in memory of the stand-in for CuPy."""
    wanted = json.dumps([{"way": way, "size": size} for way, size in tasks])
    options = ["--ranks", str(n_ranks), "--memory", "gpu", "--seconds", "0.01", "--tasks", wanted]
    added = {"PYTHONPATH": f"{ROOT}:{STAND_IN}", "TEMPI_DISABLE": "1"} | environment
    command = [*mpirun_python([added] * n_ranks, RANK), *options]
    lines = succeed(command, shim.clean_environment()).out.splitlines()
    return [record for record in map(json.loads, lines) if "task" in record]


# Boxes of less than a tile, of whole tiles and of more; ghost cells as wide as the block; one quantity or more.
TASKS = [("hand", "5:3:3"), ("hand", "32:1:2"), ("hand", "40:1:2"), ("hand", "3:3:1"), ("hand-nccl", "12:2:2")]


@pytest.mark.parametrize(("n_ranks", "cuda_aware", "how"), [(1, "1", "HandDevice"), (3, "0", "HandStaged")])
def test_the_kernel_moves_every_box_and_nothing_is_sent_too_unmatched(n_ranks, cuda_aware, how):
    found = results_of_ranks(n_ranks, TASKS, TEMPI_CUDA_AWARE=cuda_aware, STAND_IN_GPUS=str(n_ranks))
    assert [record["how"] for record in found] == [how] * 4 + ["HandNccl"]
    assert [record["wrong"] for record in found] == [0] * 5


def test_ranks_that_share_a_gpu_have_no_nccl():
    (found,) = results_of_ranks(2, [("hand-nccl", "4:1:1")], STAND_IN_GPUS="1")
    assert found["why"] == "NCCL wants a GPU for each rank"


def test_a_way_that_shows_the_shim_is_not_timed_without_it():
    tasks = json.dumps([{"way": "halo", "size": "4:1:1"}])
    command = mpirun_python([{"PYTHONPATH": str(ROOT), "TEMPI_DISABLE": "1"}], RANK)
    output = run([*command, "--ranks", "1", *HOST, "--tasks", tasks], shim.clean_environment())
    assert output.code != 0
    assert "libtempi.so is missing" in output.err


def test_a_launcher_of_another_mpi_is_told():
    tasks = json.dumps([{"way": "library", "size": "4:1:1"}])
    command = mpirun_python([{"PYTHONPATH": str(ROOT), "TEMPI_DISABLE": "1"}], RANK)
    output = run([*command, "--ranks", "2", *HOST, "--tasks", tasks], shim.clean_environment())
    assert output.code != 0
    assert "started as 2 ranks" in output.err
    assert "another MPI" in output.err


@pytest.mark.usefixtures("in_source_tree")
def test_tempi_bench_becomes_the_benchmark():
    command = [sys.executable, "-m", "tempi", "bench", "halo", "--memory", "host", "--size", "2:3"]
    output = run(command, shim.clean_environment())
    assert output.code == 2
    assert "do not fit" in output.text


def test_tempi_bench_elsewhere_says_where_benchmarks_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = run([sys.executable, "-m", "tempi", "bench", "halo"], shim.clean_environment())
    assert output.code == 1
    assert "run in the folder of TEMPI's sources" in output.err
