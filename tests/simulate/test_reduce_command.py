"""``tempi simulate reduce`` as users call it."""

import csv
import io
import json
from dataclasses import replace

import pytest
from clusters import TERMS, line
from rich.console import Console

from tempi.model.machine import Machine
from tempi.model.profile import fit_text
from tempi.simulate.reduction_report import ReductionRow, legend_of_reductions, table_of_reductions

OF_REDUCTIONS = TERMS | {name: line(2e-5, 1e-11) for name in ("reduce.other_gpu", "reduce.same_gpu", "reduce.host")}
MIB = 1 << 20
CLUSTER = ("--profile", "one.fit", "--ranks-per-node", "2")


@pytest.fixture
def reduce(simulate, tmp_path):
    machine = Machine("nowhere", "Imagined GPU", 2, "1.2", "An MPI 3.4", cuda_aware=False)
    (tmp_path / "one.fit").write_text(fit_text(machine, OF_REDUCTIONS, {}))
    without_gpu = replace(machine, gpu="none", gpus=0)
    (tmp_path / "host.fit").write_text(fit_text(without_gpu, {"message.host.same_node": line(1e-6, 1e-10)}, {}))
    return lambda *words: simulate("reduce", *CLUSTER, *words)


def test_json_to_standard_output_is_alone_there(reduce):
    done = reduce("--nodes", "1,2", "--bytes", "8,1048576", "--json", "-")
    assert done.code == 0, done.text
    rows = json.loads(done.out)["rows"]
    assert [(row["nodes"], row["ranks"], row["bytes"]) for row in rows] == [
        (nodes, 2 * nodes, size) for nodes in (1, 2) for size in (8, MIB)
    ]
    assert [row["done_by"] for row in rows] == ["kernels", "kernels", "library", "both"]
    for row in rows:
        assert row["tempi_us"] == pytest.approx(row["node_us"] + row["host_us"] + row["votes_us"])
        assert row["speedup"] == pytest.approx(row["library_us"] / row["tempi_us"])


def test_the_legend_says_why_the_library_reduces_on_large_nodes(reduce):
    done = reduce("--nodes", "1", "--bytes", "8", "--ranks-per-node", "65")
    assert done.code == 0, done.text
    assert "one rank on each node, or more than 64), or both" in done.out


def test_the_help_has_the_default_profile_of_reductions(reduce):
    text = " ".join(reduce("--help").out.split())
    assert "Default: the profile of the network. --ranks-per-node" in text


def test_a_table_and_files(reduce, tmp_path):
    done = reduce("--nodes", "1..4", "--bytes", "4194304..16777216", "--csv", "a.csv", "--plot", "a.svg")
    assert done.code == 0, done.text
    text = (tmp_path / "a.csv").read_text()
    assert "# simulated: yes" in text
    rows = list(csv.DictReader(row for row in text.splitlines() if not row.startswith("#")))
    assert [row["bytes"] for row in rows] == [str(size * MIB) for size in (4, 8, 16)] * 3
    assert (tmp_path / "a.svg").read_text().lstrip().startswith("<?xml")
    assert "16 Mi" in done.out
    for name in ("bytes", "node µs", "host µs", "votes µs", "TEMPI µs", "alone µs", "speed-up", "done by"):
        assert any(text.startswith(f"{name}  ") for text in done.out.splitlines())


def test_without_the_library(reduce):
    done = reduce("--nodes", "1", "--bytes", "8", "--no-library", "--json", "-")
    assert done.code == 0, done.text
    assert [(row["library_us"], row["speedup"]) for row in json.loads(done.out)["rows"]] == [(None, None)]


def test_one_rank_is_in_the_table_and_not_in_the_figure(reduce, tmp_path):
    done = reduce("--nodes", "1,2", "--bytes", "8", "--ranks-per-node", "1", "--plot", "a.svg", "--json", "-")
    assert done.code == 0, done.text
    assert [row["done_by"] for row in json.loads(done.out)["rows"]] == ["nothing", "library"]
    assert (tmp_path / "a.svg").exists()


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--bytes", "12"], 2, "12 is not a multiple of 8"),
        (["--bytes", "64MiB"], 2, "64MiB is neither a list"),
        (["--bytes", "17179869184"], 2, "numbers from 1 to 17,179,869,176 are possible"),
        (["--nodes", "262144"], 1, "524,288 ranks: at most"),
        (["--profile", "nvidia-h200-openmpi-4.1.6-lost"], 1, "there is no profile"),
        (["--profile", "summit"], 1, "no term reduce.other_gpu. Use --profile with one of nvidia-h200"),
        (["--profile", "host.fit"], 1, "tempi measure on a machine with GPUs"),
        (["--plot", "a.txt"], 1, "a plot is a .png or .svg file"),
    ],
)
def test_errors_are_one_line(reduce, words, code, told):
    done = reduce("--nodes", "1", "--bytes", "8", *words)
    assert done.code == code, done.text
    assert told in done.err
    assert "Traceback" not in done.text
    assert len([line for line in done.err.splitlines() if line.startswith("Error: ")]) == 1


def test_the_table_fits_80_columns_and_no_number_is_divided():
    times = {
        "node_us": 14497.0,
        "host_us": 112345.0,
        "votes_us": 331.25,
        "tempi_us": 127173.0,
        "library_us": 45241222.0,
    }
    row = ReductionRow(32768, 262144, 1000 * MIB, "library", **times, speedup=3121.0)
    console = Console(width=80, file=io.StringIO())
    console.print(table_of_reductions([row]))
    lines = console.file.getvalue().splitlines()
    shown = ("32768", "262144", "1000 Mi", "14,497", "112,345", "331.2", "127,173", "45,241,222", "3,121", "library")
    assert any(all(word in text for word in shown) for text in lines)
    assert "…" not in console.file.getvalue()
    assert len(legend_of_reductions([row]).columns) == 2
