"""``tempi measure`` from the first rank to the written profile."""

import io
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from measuring import MEASURE, STAND_IN_COMMAND, only_profile
from rich.console import Console

from support import shim
from support.programs import line_from, mpiexec, run
from tempi.measure.tables import print_profile
from tempi.model.measurement import by_term
from tempi.model.profile import read

PATIENCE_SECONDS = 500.0  # with hanging ranks
PROFILES = Path(__file__).resolve().parents[2] / "perfmodel" / "machines"
# Time stands still for the ranks: on a busy machine no row is left out.
UNHURRIED = {
    "PYTHONPATH": os.pathsep.join(
        filter(None, (str(Path(__file__).with_name("unhurried")), os.environ.get("PYTHONPATH")))
    )
}


def test_a_measurement_becomes_a_profile_and_a_table(environment, tmp_path):
    done = run(STAND_IN_COMMAND, environment)
    assert done.code == 0, done.text
    profile = only_profile(tmp_path / "cache")
    assert profile.machine.gpu == "Imagined GPU"
    assert set(profile.terms) == set(by_term(profile.tables)) == set(profile.residuals)
    segment = profile.terms["pack.device"].segments[0]
    assert segment.latency == pytest.approx(7e-6, rel=0.02)
    assert segment.per_block == pytest.approx(1e-10, rel=0.02)
    for words in ("pack.oneshot", "3 of 921 rows were left out", "a made-up reason", str(tmp_path / "cache")):
        assert words in done.out
    assert "\x1b" not in done.out


def test_the_columns_of_the_table_are_explained_below_it(environment):
    done = run(STAND_IN_COMMAND, environment)
    assert done.code == 0, done.text
    for name in ("term", "rows", "with flag", "lines", "latency µs", "most GB/s", "error", "90th", "half grid"):
        assert any(line.startswith(f"{name}  ") for line in done.out.splitlines())


def test_the_table_fits_80_columns_and_no_number_is_divided():
    profile = read(PROFILES / "nvidia-h200-openmpi-5.0.7-cuda.json")
    console = Console(width=80, file=io.StringIO())
    print_profile(profile, console)
    shown = console.file.getvalue()
    assert "…" not in shown
    assert all(any(line.split()[:1] == [name] for line in shown.splitlines()) for name in profile.terms)
    assert "1,651" in shown
    assert not re.search(r"\de[+-]\d", shown)


def test_output_and_plot_go_where_they_are_wanted(environment, tmp_path):
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
        ([], {"STAND_IN_EXIT": "3"}, "ended with exit code 3"),
        (["--plot", "plot.txt"], {}, "plot.txt: a plot is a .png or .svg file"),
        (["--ranks-command", "/no/such/launcher"], {}, "/no/such/launcher cannot be run"),
    ],
)
def test_what_cannot_be_done_ends_with_one_clear_error(environment, tmp_path, arguments, extra, words):
    (tmp_path / "file").write_text("")
    done = run([*STAND_IN_COMMAND, *arguments], environment | extra)
    assert done.code == 1
    assert words in done.err
    assert "Traceback" not in done.text
    assert not list(tmp_path.glob("cache/*"))


def test_a_profile_of_a_busy_machine_is_kept_only_if_asked_for(environment, tmp_path):
    busy = environment | {"STAND_IN_SPREAD": "2"}
    done = run(STAND_IN_COMMAND, busy)
    assert done.code == 1, done.text
    assert re.search(r"\d+ of \d+ rows vary too much from sample to sample", done.err)
    assert "--keep-anyway" in done.err
    assert not list(tmp_path.glob("cache/*"))
    assert run([*STAND_IN_COMMAND, "--keep-anyway"], busy).code == 0
    assert only_profile(tmp_path / "cache").terms


def test_one_term_of_time_slices_is_told_and_the_profile_is_kept_only_if_asked_for(environment, tmp_path):
    """Beside spinning processes, messages take a time slice each. Their times vary little, and the fit is good."""
    busy = environment | {"STAND_IN_BUSY_TERM": "message.host.same_node"}
    done = run([*STAND_IN_COMMAND, "--quick", "--plot", "a.svg"], busy)
    assert done.code == 1, done.text
    assert "an earlier profile of this machine stays in use, and no plot is drawn" in done.err
    assert "runs on this machine, and without --quick. --keep-anyway" in done.err
    assert not (tmp_path / "a.svg").exists()
    told = [line for line in done.err.splitlines() if line.startswith("  ")]
    assert [line.partition(":")[0].strip() for line in told] == ["message.host.same_node"]
    assert "takes 4,00" in told[0]
    assert "--keep-anyway" in done.err
    assert not list(tmp_path.glob("cache/*"))
    kept = run([*STAND_IN_COMMAND, "--quick", "--keep-anyway"], busy)
    assert kept.code == 0, kept.text
    assert "takes 4,00" in kept.out
    assert only_profile(tmp_path / "cache").terms


def test_a_measurement_beside_other_programs_is_told_and_not_kept(environment, tmp_path):
    done = run([*STAND_IN_COMMAND, "--quick"], environment | {"STAND_IN_WAITED": "0.25"})
    assert done.code == 1, done.text
    assert "all terms: other processes had the CPU core for 25 % of the time" in done.err
    assert not list(tmp_path.glob("cache/*"))


@pytest.mark.parametrize("seconds", ["0.1", "5"])
def test_a_time_in_which_nothing_can_be_measured_is_refused(environment, tmp_path, seconds):
    done = run([*STAND_IN_COMMAND, "--quick", "--seconds", seconds], environment)
    assert done.code == 2, done.text
    assert f"--seconds {seconds} is too short" in done.err
    assert "Use at least 10 s" in done.err
    assert not list(tmp_path.glob("cache/*"))
    assert "or --quick with at least 10 s" in run([*STAND_IN_COMMAND, "--seconds", seconds], environment).err


@pytest.mark.parametrize(
    ("arguments", "limit"),
    [(["--quick"], "20 s with --quick"), ([], "150 s"), (["--seconds", "77"], "--seconds 77")],
)
def test_rows_that_are_left_out_are_told_with_the_limit_that_applied(environment, arguments, limit):
    done = run([*STAND_IN_COMMAND, *arguments], environment)
    assert done.code == 0, done.text
    assert f"The time limit ({limit}) ended the measurement: 3 of 921 rows were left out" in done.out
    assert re.search(r"^  pack\.library: 3 of \d+ rows$", done.out, re.MULTILINE)


def test_device_messages_need_a_gpu(environment):
    done = run([*MEASURE, "--device-messages"], environment | {"CUDA_VISIBLE_DEVICES": ""})
    assert done.code == 2, done.text
    assert "--device-messages: this machine has no GPU" in done.err


def test_this_machine_is_measured(environment, tmp_path):
    done = run([*MEASURE, "--quick", "--keep-anyway", "--seconds", "1000"], environment | UNHURRIED, PATIENCE_SECONDS)
    assert done.code == 0, done.text
    profile = only_profile(tmp_path / "cache")
    wanted = {"message.host.same_node", "pack.host", "unpack.host", "pack.library", "unpack.library"}
    assert wanted <= set(profile.terms), done.text
    assert all(0 < row.low_s <= row.median_s <= row.high_s for row in profile.tables)
    assert "left out" not in done.out


def test_the_strategies_of_gpu_memory_are_measured_on_the_fake_device(environment, tmp_path):
    done = run(
        [*MEASURE, "--quick", "--keep-anyway", "--seconds", "1000"],
        environment | UNHURRIED | {"TEMPI_DEVICE": "fake"},
        PATIENCE_SECONDS,
    )
    assert done.code == 0, done.text
    names = set(only_profile(tmp_path / "cache").terms)
    assert {f"{what}.{how}" for what in ("pack", "unpack") for how in ("device", "oneshot", "staged")} <= names


@pytest.mark.sample(1)
@pytest.mark.parametrize("is_wanted", [True, False])
def test_direct_messages_are_measured_unless_they_are_switched_off(environment, tmp_path, is_wanted):
    options = {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": str(int(not is_wanted))}
    command = [*MEASURE, "--quick", "--keep-anyway", "--seconds", "1000"]
    done = run(command, environment | UNHURRIED | options, PATIENCE_SECONDS)
    assert done.code == 0, done.text
    terms = only_profile(tmp_path / "cache").terms
    direct = {name for name in terms if name.startswith("message.direct.")}
    assert direct == ({"message.direct.self", "message.direct.other_gpu"} if is_wanted else set()), done.text
    assert {name for name in terms if name.startswith("reduce.")} == (
        {"reduce.other_gpu", "reduce.host"} if is_wanted else {"reduce.host"}
    )
    assert ("direct messages are switched off" in done.out) != is_wanted


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
    job = [mpiexec(), "-n", "2", *preload, *MEASURE, "--quick", "--keep-anyway", "--seconds", "1000"]
    done = run(job, environment | UNHURRIED, PATIENCE_SECONDS)
    assert done.code == 0, done.text
    terms = only_profile(tmp_path / "cache").terms
    assert {"message.host.same_node", "message.library.typed.self", "message.host.typed.self"} <= set(terms)
    assert done.out.count("profile: ") == 1
