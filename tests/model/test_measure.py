"""Measuring: when samples are enough, who is whose peer, and the command from the first rank to the written profile."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from profiles import MACHINE

from support import shim
from support.programs import line_from, run, tool
from tempi.fitting import by_term
from tempi.grid import MAX_SPAN_BYTES, Row, local_rows, message_rows, typed_rows
from tempi.measure_rank import Job, find_peers, lead
from tempi.profile import read
from tempi.sampling import MOST_SAMPLES, correlation, flags_of, is_tight, median_interval, sample
from tempi.shapes import Shape

STAND_IN = f"{sys.executable} {Path(__file__).with_name('stand_in_ranks.py')}"
MEASURE = [sys.executable, "-m", "tempi.measure"]
STAND_IN_COMMAND = [*MEASURE, "--ranks-command", STAND_IN]
# Time stands still for the ranks: on a busy machine no row is left out.
PATIENCE_SECONDS = 500.0  # with what hangs
UNHURRIED = {"PYTHONPATH": str(Path(__file__).with_name("unhurried"))}


@pytest.fixture
def environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # not the source tree, which has no built module
    return shim.clean_environment() | {"TEMPI_CACHE_DIR": str(tmp_path / "cache")}


def only_profile(folder):
    (path,) = folder.glob("*.json")
    return read(path)


def steady(n, noise=0.001):
    draw = random.Random(n)
    return [1.0 + draw.gauss(0, noise) for _ in range(n)]


@pytest.mark.parametrize("n", [1, 2, 5, 6, 7, 12, 100, 1001])
def test_the_interval_of_a_median_is_made_of_samples_around_it(n):
    samples = steady(n)
    middle, low, high = median_interval(samples)
    assert low <= middle <= high
    assert {low, high} <= set(samples)


def test_the_interval_holds_the_true_median_in_95_percent():
    draw = random.Random(1)
    hits = 0
    for _ in range(1000):
        _, low, high = median_interval([draw.expovariate(1.0) for _ in range(30)])
        hits += low <= 0.6931 <= high
    assert hits >= 940


@pytest.mark.parametrize(
    ("samples", "flags"),
    [
        (steady(50), ()),
        ([1.0] * 50, ()),
        (steady(5), ("loose",)),
        (steady(50, 0.5), ("loose",)),
        (steady(50) + [1.3 * value for value in steady(50)], ("loose", "drift", "dependent")),
        ([1.0 + 0.01 * (i // 10 % 2) for i in range(100)], ("dependent",)),
    ],
)
def test_suspicious_series_are_flagged(samples, flags):
    assert flags_of(samples) == flags


def test_correlation_of_neighbours():
    assert correlation([1.0, 2.0] * 50) < -0.9
    assert correlation([float(i) for i in range(50)]) > 0.9
    assert correlation([1.0] * 10) == 0


def ticking():
    ticks = count()
    return lambda: next(ticks)


def test_sampling_stops_as_soon_as_the_interval_is_tight():
    assert len(sample(lambda n, _: steady(n), 1000, ticking())) == 12


def test_sampling_goes_on_until_the_time_is_up():
    draw = random.Random(2)
    samples = sample(lambda n, _: [draw.uniform(1, 3) for _ in range(n)], 5, ticking())
    assert len(samples) == 48
    assert not is_tight(samples)


def test_sampling_ends_at_some_number():
    assert len(sample(lambda n, _: [1.0, 2.0] * (n // 2), 1e9, ticking())) == MOST_SAMPLES


@pytest.mark.parametrize("quick", [True, False])
def test_the_grid_fits_into_memory_and_has_every_term(quick):
    rows = local_rows(True, quick)
    assert {row.term for row in rows} == {"launch", "copy.to_host", "copy.to_device", "chunks"} | {
        f"{what}.{how}" for what in ("pack", "unpack") for how in ("device", "oneshot", "staged", "host", "library")
    }
    for row in rows:
        assert row.shape.span <= MAX_SPAN_BYTES[row.strategy not in ("host", "library")]
        assert row.term == "launch" or row.bytes & (row.bytes - 1) == 0
    assert len(set(rows)) == len(rows)
    assert {row.term.partition(".")[2] for row in local_rows(False, quick)} == {"host", "library"}


@pytest.mark.parametrize("quick", [True, False])
def test_messages_of_host_memory_are_measured_by_both_ways_side_by_side(quick):
    rows = typed_rows({"host.same_node": 1, "host.same_gpu": 1, "device.same_gpu": 1}, quick)
    assert {row.term for row in rows} == {
        f"message.{how}.{layout}.{peer}"
        for how in ("library", "host")
        for layout in ("typed", "indexed")
        for peer in ("self", "same_node")
    }
    for library, host in zip(rows[::2], rows[1::2], strict=True):
        assert (library.strategy, host.strategy) == ("library", "host")
        assert (library.shape, library.peer) == (host.shape, host.peer)
        assert library.shape.span <= MAX_SPAN_BYTES[False]
        assert not library.shape.is_dense
    assert all((row.peer is None) == row.term.endswith(".self") for row in rows)
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize(
    ("nodes", "gpus", "expected"),
    [
        ("a", 1, {}),
        ("aa", 1, {"host.same_node": 1, "host.same_gpu": 1, "device.same_gpu": 1}),
        ("aa", 2, {"host.same_node": 1, "device.other_gpu": 1}),
        ("aaa", 2, {"host.same_node": 1, "device.other_gpu": 1, "host.same_gpu": 2, "device.same_gpu": 2}),
        ("ab", 1, {"host.other_node": 1, "device.other_node": 1}),
        ("abb", 1, {"host.other_node": 1, "device.other_node": 1}),
    ],
)
def test_the_nearest_ranks_are_peers(nodes, gpus, expected):
    machine = replace(MACHINE, gpus=gpus)
    assert find_peers(nodes, machine) == expected
    of_host = {name: rank for name, rank in expected.items() if name.startswith("host")}
    assert find_peers(nodes, replace(machine, cuda_aware=False)) == of_host


class FakeComm:
    """Rank 0 of two; remembers what is sent to the peer."""

    rank, size = 0, 2

    def __init__(self):
        self.sent = []

    def send(self, what, _peer):
        self.sent.append(what)


class FakeMeter:
    def features(self, row):
        return row.features

    def take(self, row, *_):
        if row.strategy == "broken":
            raise RuntimeError("it is broken")
        return steady(12)


def led(rows, seconds):
    comm = FakeComm()
    job = Job(comm, FakeMeter(), True, seconds)
    return list(lead(job, rows, time.monotonic() + seconds)), comm.sent


class Clock:
    """Time that passes only where samples are taken; each one takes a row's share and a bit more."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


class SlowMeter(FakeMeter):
    def __init__(self, clock):
        self.clock = clock

    def take(self, row, peer, n, seconds):
        self.clock.now += 1.1 * seconds
        return [1.0, 2.0] * (n // 2)  # never tight


def test_a_measurement_takes_the_time_that_was_asked_for(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("tempi.measure_rank.time", clock)
    rows = local_rows(False, True)
    found = list(lead(Job(FakeComm(), SlowMeter(clock), True, 20.0), rows, 20.0))
    assert len(rows) > 20
    assert found[-1]["left_out"] <= 1
    assert 20.0 <= clock.now <= 22.0


def test_every_row_of_a_message_ends_with_the_peers_dismissal():
    rows = message_rows({"host.same_node": 1}, True)
    records, sent = led(rows, 100)
    assert [record["row"]["bytes"] for record in records[:-1]] == [row.bytes for row in rows]
    assert sent.count(None) == len(rows)
    assert sent[-1] is None


@pytest.mark.parametrize("peer", [1, None])
def test_a_row_that_fails_is_recorded_and_the_next_one_is_measured(peer):
    shape = Shape.dense(8)
    rows = [Row("message.broken", "message", "broken", shape, peer), Row("pack.host", "pack", "host", shape)]
    records, sent = led(rows, 100)
    assert records[0]["why"] == "it is broken"
    assert "row" in records[1]
    assert sent.count(None) == (peer is not None)


def test_rows_after_the_deadline_are_counted_and_their_peers_dismissed():
    rows = message_rows({"host.same_node": 1}, True)
    records, sent = led(rows, 0)
    assert records == [{"left_out": len(rows)}]
    assert sent == [None] * len(rows)


def test_a_measurement_becomes_a_profile_and_a_table(environment, tmp_path):
    done = run(STAND_IN_COMMAND, environment)
    assert done.code == 0, done.text
    profile = only_profile(tmp_path / "cache")
    assert profile.machine.gpu == "Imagined GPU"
    assert set(profile.terms) == set(by_term(profile.tables)) == set(profile.residuals)
    segment = profile.terms["pack.device"].segments[0]
    assert segment.latency == pytest.approx(7e-6, rel=0.02)
    assert segment.per_block == pytest.approx(1e-10, rel=0.02)
    for words in ("pack.oneshot", "3 rows were left out", "a made-up reason", str(tmp_path / "cache")):
        assert words in done.out
    assert "\x1b" not in done.out


def test_output_and_plot_go_where_they_are_wanted(environment, tmp_path):
    pytest.importorskip("matplotlib")
    done = run([*STAND_IN_COMMAND, "--output", "here", "--plot", "plot.svg"], environment)
    assert done.code == 0, done.text
    assert only_profile(tmp_path / "here")
    assert (tmp_path / "plot.svg").read_text().lstrip().startswith("<?xml")
    (path,) = (tmp_path / "here").glob("*.json")
    (tmp_path / "plot.svg").unlink()
    again = run([*MEASURE, "--from", str(path), "--plot"], environment)
    assert again.code == 0, again.text
    assert (tmp_path / "tempi-profile.png").read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "cache").exists()


def test_a_fit_again_is_the_same_fit(environment, tmp_path):
    assert run(STAND_IN_COMMAND, environment).code == 0
    (path,) = (tmp_path / "cache").glob("*.json")
    assert run([*MEASURE, "--from", str(path), "--output", "again"], environment).code == 0
    assert only_profile(tmp_path / "again") == read(path)


def test_a_measurement_killed_half_way_leaves_the_old_profile(environment, tmp_path):
    assert run(STAND_IN_COMMAND, environment).code == 0
    before = {file.name: file.read_bytes() for file in (tmp_path / "cache").iterdir()}
    os.mkfifo(tmp_path / "half way")
    slow = environment | {"STAND_IN_STOPS_AT": str(tmp_path / "half way")}
    with subprocess.Popen(STAND_IN_COMMAND, env=slow, stdout=subprocess.DEVNULL, text=True) as process:
        try:
            ranks = int(line_from(tmp_path / "half way", process))
        finally:
            process.kill()
    os.kill(ranks, signal.SIGKILL)
    assert {file.name: file.read_bytes() for file in (tmp_path / "cache").iterdir()} == before


def test_two_measurements_at_once_do_no_harm(environment, tmp_path):
    both = [subprocess.Popen(STAND_IN_COMMAND, env=environment, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(120) for process in both] == [0, 0]
    assert only_profile(tmp_path / "cache").terms
    assert len(list((tmp_path / "cache").iterdir())) == 2


@pytest.mark.parametrize(
    ("arguments", "extra", "words"),
    [
        (["--output", "file/folder"], {}, "cannot be written: Not a directory (--output DIR writes elsewhere)"),
        ([], {"TEMPI_CACHE_DIR": "/proc/none"}, "cannot be written"),
        ([], {"STAND_IN_EXIT": "3"}, "ended with 3"),
        (["--plot", "plot.txt"], {}, "plot.txt: a plot is a .png or .svg file"),
        (["--from", "none.json"], {}, "none.json cannot be read"),
        (["--ranks-command", "/no/such/launcher"], {}, "/no/such/launcher cannot be run"),
        (["--ranks-command", "", "--hosts", "a"], {}, "--hosts names two nodes"),
    ],
)
def test_what_cannot_be_done_ends_with_one_clear_error(environment, tmp_path, arguments, extra, words):
    (tmp_path / "file").write_text("")
    done = run([*STAND_IN_COMMAND, *arguments], environment | extra)
    assert done.code == 1
    assert words in done.err
    assert "Traceback" not in done.text
    assert not list(tmp_path.glob("cache/*"))


def test_this_machine_is_measured(environment, tmp_path):
    done = run([*MEASURE, "--quick", "--seconds", "1000"], environment | UNHURRIED, PATIENCE_SECONDS)
    assert done.code == 0, done.text
    profile = only_profile(tmp_path / "cache")
    wanted = {"message.host.same_node", "pack.host", "unpack.host", "pack.library", "unpack.library"}
    assert wanted <= set(profile.terms), done.text
    assert all(0 < row.low_s <= row.median_s <= row.high_s for row in profile.tables)
    assert "left out" not in done.out


def test_the_strategies_of_gpu_memory_are_measured_on_the_fake_device(environment, tmp_path):
    done = run(
        [*MEASURE, "--quick", "--seconds", "1000"], environment | UNHURRIED | {"TEMPI_DEVICE": "fake"}, PATIENCE_SECONDS
    )
    assert done.code == 0, done.text
    names = set(only_profile(tmp_path / "cache").terms)
    assert {f"{what}.{how}" for what in ("pack", "unpack") for how in ("device", "oneshot", "staged")} <= names


def test_a_measurement_keeps_the_terms_that_only_an_earlier_one_has(environment, tmp_path):
    assert run(STAND_IN_COMMAND, environment).code == 0
    assert run(STAND_IN_COMMAND, environment | {"STAND_IN_TERMS": "launch"}).code == 0
    terms = only_profile(tmp_path / "cache").terms
    assert {"launch", "pack.device", "message.device.same_gpu"} <= set(terms)


def test_what_a_launcher_writes_in_front_of_a_record_does_no_harm(environment, tmp_path):
    assert run(STAND_IN_COMMAND, environment | {"STAND_IN_NOISE": "\x01noise "}).code == 0
    assert only_profile(tmp_path / "cache").machine.gpu == "Imagined GPU"


def test_the_ranks_of_a_job_are_used(environment, tmp_path):
    preload = ["env", f"LD_PRELOAD={shim.preload()}", f"TEMPI_CACHE_DIR={tmp_path / 'cache'}"]
    job = [tool("mpirun", "MPIEXEC"), "-n", "2", *preload, *MEASURE, "--quick", "--seconds", "1000"]
    done = run(job, environment | UNHURRIED, PATIENCE_SECONDS)
    assert done.code == 0, done.text
    terms = only_profile(tmp_path / "cache").terms
    assert {"message.host.same_node", "message.library.typed.self", "message.host.typed.self"} <= set(terms)
    assert done.out.count("profile: ") == 1


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


def test_explain_without_a_profile_says_how_to_make_one(environment):
    done = run([sys.executable, "-m", "tempi", "explain", "MPI.INT", "--profile", "none.json"], environment)
    assert done.code == 1
    assert "none.json cannot be read" in done.err
    done = run([sys.executable, "-m", "tempi", "explain", "MPI.INT", "--bytes", "8"], environment)
    assert done.code == 1
    assert "no profile is of this machine: python -m tempi.measure makes one" in done.err


@pytest.mark.parametrize(
    ("expression", "n_elements", "features", "contiguous"),
    [
        ("MPI.DOUBLE", 5, (40, 1, 40, 1), True),
        ("MPI.DOUBLE.Create_vector(16, 4, 8)", 3, (1536, 48, 1536, 3), False),
        ("MPI.DOUBLE.Create_vector(16, 1, 8)", 1, (128, 16, 512, 1), False),
        ("MPI.DOUBLE.Create_vector(16, 1, 2)", 1, (128, 16, 256, 1), False),
        ("MPI.DOUBLE.Create_subarray([9, 9, 9], [4, 4, 3], [0, 0, 0])", 1, (384, 16, 512, 1), False),
        ("MPI.DOUBLE.Create_indexed([1] * 5, [0, 4, 9, 17, 31])", 2, (80, 10, 320, 2), False),
        ("MPI.BYTE.Create_resized(0, 2)", 100, (100, 100, 100, 100), False),
    ],
)
@pytest.mark.mpi_process(shim=False)
def test_features_of_a_datatype(expression, n_elements, features, contiguous):
    from mpi4py import MPI

    from tempi.explanation import explain
    from tempi.model import Features

    transfer = explain(eval(expression, {"MPI": MPI}), n_elements)
    assert transfer.features == Features(*features)
    assert transfer.contiguous == contiguous


@pytest.mark.mpi_process(shim=False)
def test_features_of_every_measured_shape_are_those_that_the_shim_finds():
    from tempi.explanation import explain
    from tempi.grid import shapes

    for quick in (True, False):
        for shape in shapes(quick, on_gpu=True):
            with shape.datatype() as datatype:
                found, extent = explain(datatype), datatype.Get_true_extent()
            pages = found.features.pages if shape.boxes > 8 else shape.features.pages  # such become one box
            assert found.features == replace(shape.features, pages=pages), shape
            assert found.contiguous == shape.is_dense
            assert extent == (0, shape.span)
