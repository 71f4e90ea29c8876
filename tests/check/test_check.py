"""``tempi check``: its layouts and pairs, and that it finds what is wrong."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from itertools import combinations

import numpy as np
import pytest
from rich.console import Console

from support import effort, shim
from support.programs import SOURCES, compiled, line_from, mpicc, mpiexec, run
from tempi.check.command import summary_of, verdict_of
from tempi.check.exchange import NOT_COUNTED
from tempi.check.layouts import NAMES, SIZES, Layout
from tempi.check.pairs import Place, relation, rounds
from tempi.check.rank import N_TIMES
from tempi.check.report import Run
from tempi.check.screen import Screen

FAKE = {"TEMPI_DEVICE": "fake"}
RANK = {"host": "a", "is_on": True, "bypassed": {}, "wrong_neighbours": [], "unknown_neighbours": 0}


@pytest.mark.mpi_process(shim=False)
@pytest.mark.parametrize("name", NAMES)
def test_the_library_packs_the_bytes_that_a_layout_names(name):
    from mpi4py import MPI

    for n_bytes in SIZES.values():
        layout = Layout(name, n_bytes)
        cells = np.random.default_rng(n_bytes).integers(0, 256, layout.span, np.uint8)
        packed = np.zeros(n_bytes, np.uint8)
        with layout.datatype() as datatype:
            assert datatype.Get_size() == n_bytes
            MPI.COMM_SELF.Sendrecv([cells, 1, datatype], 0, recvbuf=packed)
        assert (packed == cells[layout.places]).all()


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 16])
def test_each_rank_meets_each_once_and_itself(size):
    met = []
    for partners in rounds(size):
        assert all(partners[other] == rank for rank, other in enumerate(partners))
        met += [(rank, other) for rank, other in enumerate(partners) if rank < other]
    assert sorted(met) == list(combinations(range(size), 2))
    assert rounds(size)[0] == list(range(size))


@pytest.mark.parametrize("size", [17, 64, 1000])
def test_of_many_ranks_each_meets_those_at_distances_of_powers_of_two(size):
    found = rounds(size)
    met = {(rank, other) for partners in found for rank, other in enumerate(partners) if rank < other}
    assert all(partners[other] == rank for partners in found for rank, other in enumerate(partners))
    assert met == {(i, i + 2**k) for k in range(10) for i in range(size) if i + 2**k < size}
    assert len(found) <= 2 * size.bit_length() + 1


def test_relations():
    places = [Place(0, "a", "1"), Place(0, "a", "1"), Place(0, "a", "2"), Place(3, "a", "1"), Place(3, "a", "")]
    told = [relation(places, 0, other) for other in range(4)]
    assert told == ["same process", "same GPU", "other GPU", "other node"]
    assert relation(places, 3, 4) == "same node"


@pytest.fixture
def check(tmp_path):
    """Runs a check of two ranks, and returns its output, its exit code and its report."""

    def call(*arguments, **variables):
        report = tmp_path / "report.json"
        python_path = {"PYTHONPATH": ":".join(filter(None, sys.path))}
        command = [sys.executable, "-m", "tempi", "check", "--output", str(report), "--seconds", "3", *arguments]
        done = run(command, shim.clean_environment() | FAKE | python_path | variables)
        return done, json.loads(report.read_text()) if report.exists() else None

    return call


FIRST_LAYOUT = 8  # messages: of two ranks, of two memories, within the process and to the other one


def test_all_is_right(check):
    done, report = check("--strategies", "auto,staged", "--seconds", "5" if effort.IS_QUICK else "60")
    assert done.code == 0, done.text
    assert "right" in done.out
    tried = {run["strategy"]: run["messages"] for run in report["runs"] if len(run["messages"]) >= FIRST_LAYOUT}
    assert len(tried) == 2 or "the time was too short for" in done.out
    for messages in tried.values():
        assert {(m["place"], m["memory"]) for m in messages} == {
            (place, memory) for place in ("same process", "same node") for memory in ("host", "GPU")
        }
    if "auto" in tried:
        assert any(outcome.startswith("taken: direct") for message in tried["auto"] for outcome in message["outcomes"])
    staged = [m["outcomes"] for m in tried.get("staged", ()) if m["memory"] == "GPU"]
    by_staging = "taken: staged (packed in device memory, copied to host)"
    assert {outcome for outcomes in staged for outcome in outcomes} <= {by_staging}


def test_each_send_has_an_outcome(check):
    """A process without a GPU passes messages on without counting them."""
    done, report = check("--strategies", "library", TEMPI_DEVICE="none")
    assert done.code == 0, done.text
    sends = [sum(message["outcomes"].values()) for message in report["runs"][0]["messages"]]
    assert sends == [N_TIMES] * len(sends)
    assert re.search("^  not counted +in a process that uses no GPU", done.out, re.MULTILINE)
    rows = [line for line in done.out.splitlines() if line.startswith(" same ")]
    assert rows
    assert all(re.search(r"\d (not counted|library)", row) for row in rows)


def test_the_columns_are_explained_below_the_tables(check):
    done, _ = check("--strategies", "host", "-n", "1")
    assert done.code == 0, done.text
    for name in ("between", "exchanges", "wrong", "median µs", "sends by outcome", "  host"):
        assert any(line.startswith(f"{name}  ") for line in done.out.splitlines())


def test_the_tables_have_at_most_100_columns_and_no_long_outcomes(check):
    done, report = check("--strategies", "auto,library", "--seconds", "6", TEMPI_DEVICE="none")
    assert done.code == 0, done.text
    assert max(map(len, done.out.splitlines()[:-1])) <= 100  # the last line has the path of the report
    outcomes = {name for run in report["runs"] for message in run["messages"] for name in message["outcomes"]}
    assert "passed on: library (handled by the MPI library)" in outcomes
    assert "passed on" not in done.out
    assert re.search("^  library +the MPI library sends", done.out, re.MULTILINE)


def test_one_is_in_the_singular():
    message = {"wrong": 1, "pair": [0, 1], "place": "same node", "memory": "host", "layout": "a", "size": "1 KiB"}
    run = Run(
        "auto", "start", ranks=[RANK | {"unknown_neighbours": 1}], messages=[message | {"outcomes": {}}], left_out=1
    )
    assert run.problems() == ["auto: rank 0 received 1 wrong byte from rank 1 (same node): host memory, a, 1 KiB"]
    assert run.notes()[0].startswith("no direct messages between 1 pair of ranks, ")
    assert run.notes()[1] == "auto: no time for 1 case (--seconds)"
    assert summary_of([run], ["auto"])[0] == "1 exchange: 1 problem"


def test_wrong_bytes_are_found(check):
    done, report = check("--strategies", "staged", TEMPI_FAKE_FAIL="flip:5")
    assert done.code == 1, done.text
    assert re.search(r"received \d+ wrong bytes? from rank", done.out)
    assert report["runs"][0]["problems"]


def test_a_shim_that_is_off_is_found(check):
    """The problem is the same for both strategies, and is printed once for each rank."""
    done, report = check("--strategies", "auto,host", TEMPI_DISABLE="1", TEMPI_DEVICE="none")
    assert done.code == 1
    assert done.out.count("its MPI calls do not reach TEMPI") == 2
    assert "2 problems" in done.out
    assert [len(run["problems"]) for run in report["runs"]] == [2, 2]


def test_a_library_before_the_shim_is_found(check, tmp_path):
    tool = compiled(mpicc(), "slow_start_tool.c", tmp_path, "-shared", "-fPIC", f"-I{SOURCES}", "-lpthread")
    ranks = f"{mpiexec()} -n 2 env LD_PRELOAD={tool}:{shim.path()}"
    done, _ = check("--strategies", "auto", "--ranks-command", ranks)
    assert done.code == 1, done.text
    assert f"calls of PMPI_Start reach {tool}" in done.out


def test_a_job_that_does_not_start_is_told(check):
    done, report = check("--strategies", "auto", "--ranks-command", "false")
    assert done.code == 1
    assert "ended with exit code 1" in done.out
    assert "No report was written." in done.out
    assert report is None


def test_a_check_without_ranks_keeps_an_older_report(check, tmp_path):
    (tmp_path / "report.json").write_text('{"older": true}')
    done, report = check("--strategies", "auto", "--ranks-command", "/no/such/launcher")
    assert (done.code, report) == (1, {"older": True})


@pytest.mark.parametrize(
    ("start", "why"),
    [
        ("sh -c 'echo [no] such host >&2; exit 3'", "sh ended with exit code 3\n[no] such host\n"),
        ("/no/such/launcher", "/no/such/launcher cannot be run: No such file or directory\n"),
        ("true", "the command ended without an error, but no rank reported\n"),
    ],
)
def test_a_failed_start_is_told_once_for_all_strategies(check, start, why):
    done, report = check("--strategies", "auto,staged,host,library", "--ranks-command", start)
    assert done.code == 1, done.text
    assert done.out.count(why) == 1
    assert done.out.count("The ranks did not start") == 1
    assert f"First make this command work: {start} hostname\n" in done.out
    assert "0 exchanges: the ranks did not start (strategy auto, staged); not tested: host, library." in done.out
    assert report is None


def test_a_strategy_whose_ranks_do_not_start_does_not_hide_the_others(check, tmp_path):
    ranks = tmp_path / "ranks"
    ranks.write_text(f'#!/bin/sh\n[ "$TEMPI_STRATEGY" = auto ] && exit 9\nexec {mpiexec()} -n 2 "$@"\n')
    ranks.chmod(0o755)
    done, report = check("--strategies", "auto,host", "--ranks-command", str(ranks))
    assert done.code == 1, done.text
    assert "The ranks did not start (TEMPI_STRATEGY=auto)" in done.out
    assert "exchanges: the ranks did not start (strategy auto). Report" in done.out
    assert report["runs"][1]["messages"]


def test_a_failure_that_all_strategies_share_is_told_once(capsys):
    runs = [
        Run(name, f"start {name}", ranks=[RANK], failure="mpirun ended with exit code 1\n[x] no memory")
        for name in "ab"
    ]
    screen = Screen(Console(width=100), ["mpirun"])
    for one in runs:
        screen.show(one)
    shown = capsys.readouterr().out
    assert shown.count("mpirun ended with exit code 1\n[x] no memory\n") == 1
    assert "b: mpirun ended with exit code 1; the report has its output\n" in shown
    assert summary_of(runs, ["a", "b"]) == ("0 exchanges: 1 problem", False)


def test_an_unknown_strategy(check):
    done, report = check("--strategies", "fastest")
    assert (done.code, report) == (2, None)
    assert "--strategies fastest" in done.text
    assert "did you mean staged?" in check("--strategies", "stagged")[0].err


def test_a_launcher_around_it_is_refused(check):
    done, report = check("--strategies", "auto", PMI_RANK="0")
    assert (done.code, report) == (2, None)
    assert "leave mpirun out" in done.text


def test_the_same_as_tests_of_pytest_under_the_users_launcher(tmp_path):
    """Elsewhere than here, where pytest loads tests/conftest.py."""
    selected = ["-k", "not MiB and not 64", "-q", "-p", "no:cacheprovider"]
    pytest_there = [sys.executable, "-m", "pytest", *selected, "--pyargs", "tempi.check"]
    launched = [sys.executable, "-m", "tempi", "run", "--", mpiexec(), "-n", "2", *pytest_there]
    done = run(
        launched, shim.clean_environment() | FAKE | {"PYTHONPATH": ":".join(filter(None, sys.path))}, cwd=tmp_path
    )
    assert done.code == 0, done.text
    assert done.out.count("27 passed") == 2, done.text


def test_a_strategy_that_no_message_used_is_told(check):
    """Without a GPU, no message is direct."""
    done, report = check("--strategies", "direct,host", "--seconds", "4", TEMPI_DEVICE="none")
    assert done.code == 1, done.text
    assert "no message used the strategy direct. Report: " in done.out.splitlines()[-1]
    assert "direct: no message used this strategy (docs/strategies.md)" in report["runs"][0]["notes"]
    assert not [note for note in report["runs"][1]["notes"] if "used this strategy" in note]


def test_only_a_strategy_that_the_user_named_must_be_used():
    message = {"wrong": 0, "memory": "host", "outcomes": {NOT_COUNTED: 3}}
    run = Run("direct", "start", ranks=[RANK | {"memories": ["host"]}], messages=[message])
    assert summary_of([run], ["direct"], is_asked=True) == (
        "1 exchange: these are right, but no message used the strategy direct",
        False,
    )
    assert summary_of([run], ["direct"]) == ("1 exchange: all is right", True)
    had_no_time = Run("direct", "start", ranks=[RANK | {"memories": ["host", "GPU"]}], messages=[message], left_out=1)
    assert not had_no_time.is_unused


def test_what_was_left_out_is_not_called_right():
    assert verdict_of(0, 0) == "all is right"
    assert verdict_of(0, 3) == "these are right, but the time was too short for 3 cases (--seconds)"
    assert verdict_of(0, 0, ["host"]) == "these are right, but the time was too short for strategy host (--seconds)"
    assert verdict_of(2, 3) == "2 problems"
    assert verdict_of(1, 0) == "1 problem"
    assert verdict_of(0, 144, n_messages=0) == "nothing was tested, because the time was too short (--seconds)"


def test_it_ends_in_time_with_more_cases_than_there_is_time_for(check):
    begin = time.monotonic()
    done, report = check("--strategies", "auto,staged,oneshot", "-n", "8", "--seconds", "1")
    n_messages = sum(len(run["messages"]) for run in report["runs"])
    assert done.code == (0 if n_messages else 1), done.text
    assert "the time was too short" in done.out
    assert "all is right" not in done.out
    assert time.monotonic() - begin < 1 + 20 + 60  # of which 60 s are for this command's own start
    assert len(report["runs"]) < 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_ranks_too(tmp_path, number):
    os.mkfifo(tmp_path / "begun")
    ranks = tmp_path / "ranks"
    ranks.write_text(f"#!/bin/sh\necho $$ > {tmp_path / 'begun'}\nexec sleep 1000\n")
    ranks.chmod(0o755)
    words = [sys.executable, "-m", "tempi", "check", "--strategies", "auto", "--ranks-command", str(ranks)]
    variables = shim.clean_environment() | {"PYTHONPATH": ":".join(filter(None, sys.path))}
    with subprocess.Popen(
        words,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=variables,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            rank = int(line_from(tmp_path / "begun", process))
            process.send_signal(number)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(rank, signal.SIGKILL)  # else it sleeps on
    assert process.returncode == 128 + number
    assert "Traceback" not in said
