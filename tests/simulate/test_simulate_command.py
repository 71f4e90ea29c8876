"""``tempi simulate`` as users call it."""

import csv
import io
import json

import pytest
from rich.console import Console

from tempi.simulate.network import PRESETS
from tempi.simulate.network_table import MEANINGS
from tempi.simulate.report import Row, table_of

SMALL = ("--size", "32", "--radius", "1", "--quantities", "2")


def rows_of(path):
    return list(csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#")))


def test_a_table_and_files(simulate, tmp_path):
    done = simulate("halo", "--network", "summit", "--nodes", "1,2,8", *SMALL,
                    "--csv", "a.csv", "--json", "a.json", "--plot", "a.svg")  # fmt: skip
    assert done.code == 0, done.text
    assert "48" in done.out
    assert "speed-up" in done.out
    assert "\x1b" not in done.out
    rows = rows_of(tmp_path / "a.csv")
    assert [row["ranks"] for row in rows] == ["6", "12", "48"]
    assert "# simulated: yes" in (tmp_path / "a.csv").read_text()
    whole = json.loads((tmp_path / "a.json").read_text())
    assert [str(row["tempi_us"]) for row in whole["rows"]] == [row["tempi_us"] for row in rows]
    assert (tmp_path / "a.svg").read_text().lstrip().startswith("<?xml")
    assert all(float(row["speedup"]) > 10 for row in rows)


def test_json_to_standard_output_is_alone_there(simulate):
    done = simulate("halo", "--nodes", "1", *SMALL, "--profile", "nvidia-h200-openmpi-4.1.6", "--json", "-")
    assert done.code == 0, done.text
    assert len(json.loads(done.out)["rows"]) == 1
    assert "without TEMPI is not simulated" in done.err


def test_the_same_seed_gives_the_same_file(simulate, tmp_path):
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        done = simulate("halo", "--nodes", "4", *SMALL, "--noise", "0.2", "--seed", seed, "--csv", f"{name}.csv")
        assert done.code == 0, done.text
    a, b, c = (rows_of(tmp_path / f"{name}.csv") for name in "abc")
    assert a == b != c


def test_strong_scaling_divides_the_grid(simulate, tmp_path):
    done = simulate("halo", "--nodes", "1..8", "--strong", "--size", "64x32x32", "--radius", "1",
                    "--ranks-per-node", "1", "--csv", "a.csv")  # fmt: skip
    assert done.code == 0, done.text
    assert [row["cells"] for row in rows_of(tmp_path / "a.csv")] == ["64x32x32", "32x32x32", "32x16x32", "32x16x16"]


@pytest.mark.sample(4)
@pytest.mark.parametrize("way", ["isend", "halo", "pack"])
@pytest.mark.parametrize("network", ["summit", "fat-tree", "dragonfly"])
def test_every_network_and_way(simulate, network, way):
    done = simulate("halo", "--network", network, "--nodes", "2", "--way", way, *SMALL)
    assert done.code == 0, done.text


def test_a_library_that_cannot_is_left_out_with_its_reason(simulate):
    done = simulate("halo", "--nodes", "1", *SMALL, "--profile", "nvidia-h200-openmpi-4.1.6")
    assert done.code == 0, done.text
    assert "The time without TEMPI is not simulated: the MPI library of the profile is not CUDA-aware" in done.out


def test_the_title_names_the_profile_and_a_single_rank(simulate):
    done = simulate("halo", "--nodes", "1", "--ranks-per-node", "1", "--quantities", "1", "--size", "32")
    assert done.code == 0, done.text
    lines = done.out.splitlines()
    assert lines[0].startswith("halo exchange, 32x32x32 cells on each rank, radius 3, 1 array of 8-byte elements")
    assert lines[1:3] == ["network fat-tree, 1 rank on each node", "profile nvidia-h200-openmpi-5.0.7-cuda"]


@pytest.mark.parametrize("words", [("halo", "--nodes", "1,2", *SMALL), ("halo", "--size", "1000000000")])
def test_a_progress_bar_leaves_no_empty_line(simulate, words):
    done = simulate(*words)
    assert not done.out.startswith("\n")
    assert not done.err.startswith("\n")
    assert not done.out.endswith("\n\n")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"hello", "it is not JSON, line 1"),
        (b"{}", "it has no events of TEMPI"),
        (b"\xff\xfe", "it is not a text file"),
    ],
)
def test_a_file_that_is_no_timeline_is_named_with_what_to_do(simulate, tmp_path, text, told):
    (tmp_path / "a.json").write_bytes(text)
    done = simulate("trace", "a.json")
    assert done.code == 1
    (only,) = done.err.splitlines()
    assert only.startswith(f"Error: a.json is not a timeline of TEMPI: {told}")
    assert "tempi run -o trace=run.json" in only


def test_a_timeline_that_is_not_there_is_one_line(simulate):
    done = simulate("trace", "none.json")
    assert done.code == 1
    assert done.err == "Error: none.json cannot be read: No such file or directory\n"


@pytest.mark.parametrize("command", ["halo", "reduce", "trace", "networks"])
def test_help(simulate, command):
    done = simulate(command, "--help")
    assert done.code == 0
    assert "Usage" in done.out


def test_networks_show_each_value_with_its_unit_and_its_source(simulate):
    done = simulate("networks")
    assert done.code == 0, done.text
    rows = [line.split(maxsplit=1) for line in done.out.splitlines() if line.strip()]
    shown = {name: [rest for first, rest in rows_of_two(rows) if first == name] for name in MEANINGS}
    for name, meaning in MEANINGS.items():
        assert shown[name][0].startswith(meaning[:40])
        assert len(shown[name]) == 1 + len(PRESETS)
    for name, unit in (("rail_gb_per_s", "GB/s  "), ("latency_us", "µs  "), ("library_block_us", "µs  ")):
        assert all(unit in rest for rest in shown[name][1:])
    assert "fat tree: 18 nodes below each leaf switch, taper 1  " in done.out
    assert "{" not in done.out


def rows_of_two(rows):
    return (row for row in rows if len(row) == 2)


def test_the_columns_of_a_table_are_explained_below_it(simulate):
    done = simulate("halo", "--nodes", "1", *SMALL)
    assert done.code == 0, done.text
    for name in ("grid", "cells a rank", "MB a rank", "off node", "TEMPI µs", "alone µs", "speed-up", "strategies"):
        assert any(line.startswith(f"{name}  ") for line in done.out.splitlines())


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--network", "torus"], 1, "there is no network torus"),
        (["--profile", "none.json"], 1, "none.json cannot be read"),
        (["--nodes", "0"], 2, "numbers from 1 to"),
        (["--nodes", "4..2"], 2, "4..2: a range begins with its smaller number, such as 2..4"),
        (["--nodes", "1..99999999"], 2, "1..99999999: numbers from 1 to 262,144 are possible"),
        (["--nodes", "1.."], 2, "1.. is neither a list"),
        (["--size", "4x4"], 2, "4x4 is neither a number such as 256"),
        (["--size", "9" * 30], 2, "along an axis are possible"),
        (["--size", "1000000000"], 1, "the arrays of a rank take more than 1,024 TiB"),
        (["--nodes", "262144"], 1, "1,572,864 ranks: at most"),
        (["--size", "²"], 2, "is neither a number such as 256"),
        (["--size", "2"], 1, "each rank needs at least 3"),
        (["--dims", "2x2x2"], 1, "--dims is a grid of 8 ranks, but the job has 6"),
        (["--plot", "a.txt"], 1, "a plot is a .png or .svg file"),
        (["--nodes", "3..20"], 2, "3..20: the numbers of a range double: use 3..12 or 3..24, or a list"),
        (["--size", "0"], 2, "0: each number must be at least 1"),
        (["--profile", ""], 1, "--profile is empty"),
        (["--csv", "none/a.csv"], 2, "none/a.csv cannot be written"),
        (["--json", "none/a.json"], 2, "none/a.json cannot be written"),
        (["--memory", "host", "--way", "pack"], 1, "--way pack is for GPU memory only"),
        (["--memory", "host"], 1, "run tempi measure on this machine"),
        (["--noise", "3"], 2, "0<=x<=2"),
    ],
)  # fmt: skip
def test_errors_are_one_line(simulate, words, code, told):
    defaults = ["--network", "summit", "--nodes", "1", "--size", "32"]
    done = simulate("halo", *defaults, *words)
    assert done.code == code, done.text
    assert told in done.err
    assert "Traceback" not in done.text
    assert len([line for line in done.err.splitlines() if line.startswith("Error: ")]) == 1


def test_a_seed_without_noise_is_told(simulate):
    words = ("halo", "--network", "summit", "--nodes", "1", *SMALL, "--seed", "3")
    assert "--seed has no effect without --noise." in simulate(*words).text
    assert "--seed has no effect" not in simulate(*words, "--noise", "0.1").text


def test_files_are_checked_before_the_simulation(simulate):
    done = simulate("halo", "--size", "2", "--csv", "none/a.csv")  # the size is an error of the simulation
    assert "none/a.csv cannot be written" in done.err


OTHER = ("--profile", "nvidia-h200-openmpi-5.0.7-cuda")


def test_a_speed_up_of_two_machines_is_told(simulate):
    done = simulate("halo", "--network", "summit", "--nodes", "1", *SMALL, *OTHER)
    assert done.code == 0, done.text
    (told,) = (line for line in done.out.splitlines() if "two machines" in line)
    assert "20.14 µs) is of the machine of the network summit (Tesla V100" in told
    assert "profile (NVIDIA H200, Open MPI v5.0.7)" in told
    for words in (("--network", "summit"), OTHER):
        assert "two machines" not in simulate("halo", "--nodes", "1", *SMALL, *words).out
    done = simulate("reduce", "--network", "summit", "--nodes", "1", *OTHER)
    assert "The links between nodes are of the machine of the network summit (Tesla V100" in done.text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--profile", "nvidia-h200-openmpi-4.1.6", "--strategy", "device"), "TEMPI uses oneshot instead of device"),
        ((*OTHER, "--memory", "host", "--strategy", "direct"), "--strategy direct is for GPU memory. It has no effect"),
    ],
)
def test_a_strategy_without_effect_is_told(simulate, words, told):
    assert told in simulate("halo", "--nodes", "1", *SMALL, *words).text


def test_the_table_fits_80_columns_and_no_number_is_divided():
    done = halo_rows(64, 384, "8x8x6", "256x128x64")
    console = Console(width=80, file=io.StringIO())
    console.print(table_of(done))
    lines = console.file.getvalue().splitlines()
    assert any(all(word in line for word in ("384", "256x128x64", "14,497", "45,241,222", "3,121")) for line in lines)
    assert "…" not in console.file.getvalue()


def halo_rows(nodes, ranks, dims, cells):
    each = {"messages": 9984, "bytes_per_rank": 77.3e6, "between_nodes": 0.67, "strategies": "device 60%, oneshot 40%"}
    return [Row(nodes, ranks, dims, cells, 1, tempi_us=14497.0, library_us=45241222.0, speedup=3121.0, **each)]
