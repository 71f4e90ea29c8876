"""Failing commands end with one line that says so, and the exit code that shells and click use."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from support import shim
from support.programs import line_from
from tempi.check.exchange import DIRECT, NOT_COUNTED
from tempi.check.screen import OUTCOMES
from tempi.model.machine import Machine
from tempi.model.profile import fit_text

ENDING_SECONDS = 60
HUGE = str(10**20)


@pytest.fixture
def environment(tmp_path):
    return {"TEMPI_CACHE_DIR": str(tmp_path / "cache")}


def check_told(done, code, words):
    assert done.code == code, done.text
    assert words in done.err
    assert "Traceback" not in done.text
    assert len([line for line in done.err.splitlines() if line.startswith("Error: ")]) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["explain", "MPI.INT", "--count", HUGE], 2, "is not in the range"),
        (["explain", "MPI.INT", "--bytes", HUGE], 2, "is not in the range"),
        (["explain", "MPI.INT", "--count", str(2**63 - 1)], 1, "elements of 4 bytes: explain plans at most 16 TiB"),
        (["explain", "MPI.BYTE", "--bytes", str(2**63 - 1)], 1, "elements of 1 byte: explain plans at most 16 TiB"),
        (["explain", "MPI.DOUBLE.Create_resized(0, 0)", "--count", str(2**61)], 1, "elements of 8 bytes"),
        (["explain", "MPI.INT", "--profile", "."], 1, ". cannot be read"),
        (["explain", "MPI.DATATYPE_NULL"], 1, "datatype is MPI.DATATYPE_NULL"),
        (["explain", "MPI.INT.Create_vector("], 2, "SyntaxError"),
        (["measure", "--ranks-command", '"x'], 1, '--ranks-command "x: No closing quotation'),
        (["measure", "--seconds", "nan"], 2, "nan is not a finite number"),
        (["measure", "--seconds", "inf"], 2, "is not in the range"),
        (["measure", "--mpirun", "./none"], 1, "./none"),
        (["measure", "--from", "."], 1, ". cannot be read"),
        (["measure", "--from", "binary"], 1, "binary"),
        (["measure", "--plot", "none/plot.svg"], 1, "none/plot.svg cannot be written"),
        (["measure", "--plot", "folder.svg"], 1, "folder.svg cannot be written"),
        (["measure", "--output", "binary"], 1, "binary cannot be written"),
        (["bench", "halo"], 1, "in the folder of TEMPI's sources"),
    ],
)
def test_one_line_and_no_traceback(tempi, environment, tmp_path, arguments, code, words):
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "folder.svg").mkdir()
    check_told(tempi(*arguments, **environment), code, words)


@pytest.mark.mpi_process(shim=False)
def test_counts_that_mpi_does_not_hold_are_refused():
    from mpi4py import MPI

    import tempi
    from tempi.explanation import ExplainError

    for count in (-1, 2**63, 10**20):
        with pytest.raises(ExplainError, match=f"count is {count}"):
            tempi.explain(MPI.INT, count)


def start_measuring(module, tmp_path, environment, ranks, on_interrupt):
    """`tempi measure` with SIGINT as a shell leaves it: ignored in background jobs of scripts."""
    words = [sys.executable, "-m", module, *(["measure"] if module == "tempi" else []), "--ranks-command", str(ranks)]
    return subprocess.Popen(
        words,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=shim.clean_environment() | environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, on_interrupt),
    )


@pytest.mark.parametrize("module", ["tempi", "tempi.measure"])
def test_an_interrupted_measurement_ends_its_ranks(tmp_path, environment, script, module):
    """The exit code of SIGINT in a shell. It has begun to read when more is written than a pipe holds."""
    os.mkfifo(tmp_path / "begun")
    ranks = script(
        "ranks", f"head -c 1000000 /dev/zero | tr '\\0' '\\n'; echo $$ > {tmp_path / 'begun'}; exec sleep 1000"
    )
    with start_measuring(module, tmp_path, environment, ranks, signal.SIG_DFL) as process:
        try:
            rank = int(line_from(tmp_path / "begun", process))
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=ENDING_SECONDS)
        finally:
            process.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(rank, signal.SIGKILL)  # else it sleeps on
    assert process.returncode == 128 + signal.SIGINT
    assert "Traceback" not in said


@pytest.mark.parametrize("module", ["tempi", "tempi.measure"])
def test_an_interrupt_that_is_ignored_at_the_start_stays_ignored(tmp_path, environment, script, module):
    """The ranks end as they do without it."""
    os.mkfifo(tmp_path / "begun")
    os.mkfifo(tmp_path / "go")
    ranks = script("ranks", f"echo > {tmp_path / 'begun'}; read line < {tmp_path / 'go'}; echo ended >&2; exit 3")
    with start_measuring(module, tmp_path, environment, ranks, signal.SIG_IGN) as process:
        try:
            line_from(tmp_path / "begun", process)
            process.send_signal(signal.SIGINT)
            with open(os.open(tmp_path / "go", os.O_RDWR), "w") as go:  # the ranks may not have opened it yet
                go.write("go\n")
                go.flush()
                _, said = process.communicate(timeout=ENDING_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 1
    assert "ended" in said


def test_the_screen_of_check_knows_its_outcomes_by_the_texts_of_the_counters():
    base = Path(__file__).resolve().parents[2] / "src" / "base"
    texts = {text for name in ("outcomes", "strategies")
             for text in re.findall(r'"((?:taken|passed on): .*?)"', (base / f"{name}.def").read_text())}  # fmt: skip
    assert {*OUTCOMES, *DIRECT} - {NOT_COUNTED} <= texts


def test_info_is_an_object_for_programs_and_whole_lines_in_a_pipe(tempi, environment):
    whole = json.loads(tempi("info", "--json", **environment).out)
    assert os.path.exists(whole["tempi"]["libtempi_so"])
    names = {row["name"] for row in whole["options"]}
    assert "STRATEGY" in names
    assert "FAKE_FAIL" not in names
    assert "FAKE_FAIL" in {
        row["name"] for row in json.loads(tempi("info", "--all", "--json", **environment).out)["options"]
    }
    text = tempi("info", **environment).out
    assert "…" not in text
    meanings = [row["meaning"] for row in whole["options"]]
    assert all(any(meaning in line for line in text.splitlines()) for meaning in meanings)


@pytest.mark.parametrize("json", [[], ["--json"]], ids=["text", "json"])
def test_info_warns_of_options_without_effect(tempi, environment, json):
    wrong = {"TEMPI_STRATEGY": "foo", "TEMPI_REPROT": "1", "TEMPI_PATIENCE": "7"}
    told = tempi("info", *json, **environment | wrong).err.splitlines()
    assert len(told) == 3
    assert any(line.startswith("tempi: warning: TEMPI_STRATEGY=foo is ignored: it takes one of ") for line in told)
    assert "tempi: warning: TEMPI_REPROT is not an option of TEMPI; did you mean TEMPI_REPORT?" in told
    assert "tempi: warning: TEMPI_PATIENCE is now TEMPI_MATCH_TIMEOUT" in told


def test_info_names_the_same_libraries_in_json_and_in_text(tempi, environment):
    found = json.loads(tempi("info", "--json", **environment).out)["tempi"]
    rows = dict(line.split(maxsplit=1) for line in tempi("info", **environment).out.splitlines() if " /" in line)
    assert rows["libtempi.so"].startswith(f"{found['libtempi_so']} (")
    assert rows["shim"].startswith(f"{found['shim']} (")
    assert found["libtempi_so"] == tempi("lib", **environment).out.strip()


def test_the_json_of_info_has_values_for_programs(tempi, environment):
    """Reasons are texts of their own, whose names begin with why."""
    variables = {"TEMPI_DEVICE": "none", "TEMPI_POOL_LIMIT": "4096", "TEMPI_CACHE_DIR": "2024", "TEMPI_REPORT": "0"}
    variables |= {"TEMPI_DISABLE": "off", "TEMPI_VERIFY": "true"}
    whole = json.loads(tempi("info", "--json", **environment | variables).out)
    found = whole["tempi"]
    switches = ("handles_calls", "cuda_aware", "direct_to_self", "direct_between_processes")
    assert {name: found[name] for name in switches} == dict.fromkeys(switches, False)
    assert isinstance(found["installed_for"], list)
    assert found["profile"] is None
    assert found["why_no_profile"] == "TEMPI_PROFILE=none"
    assert not [name for name, value in found.items() if not name.startswith("why") and ": " in str(value)]
    assert whole["gpus"] == []
    values = {row["name"]: row["value"] for row in whole["options"]}
    assert (values["POOL_LIMIT"], values["STRATEGY"], values["TRACE"]) == (4096, "auto", None)
    assert (values["CACHE_DIR"], values["REPORT"]) == ("2024", 0)
    assert (values["DISABLE"], values["VERIFY"]) == (0, 1)


def test_info_says_which_profile_is_in_use(tempi, environment, tmp_path):
    machine = Machine("elsewhere", "none", 0, "none", "An MPI 3.4", cuda_aware=False)
    path = tmp_path / "one.fit"
    path.write_text(fit_text(machine, {}, {}))
    shown = {}
    for choice in (str(path), "none", "auto", str(tmp_path / "missing.fit")):
        done = tempi("info", **environment | {"TEMPI_PROFILE": choice, "TEMPI_DEVICE": "none"})
        assert done.code == 0, done.text
        (line,) = (line for line in done.out.splitlines() if line.startswith("profile "))
        shown[choice] = line.removeprefix("profile").strip()
    assert shown[str(path)] == str(path)
    assert shown["none"] == "none (TEMPI_PROFILE=none)"
    assert shown["auto"] == "none (tempi measure writes a profile of this machine)"
    assert shown[str(tmp_path / "missing.fit")] == f"none (TEMPI_PROFILE={tmp_path}/missing.fit cannot be used)"


@pytest.mark.parametrize("words", [(), ("simulate",), ("bench",)], ids=str)
def test_no_line_of_the_help_is_cut(tempi, words):
    done = tempi(*words, "--help", COLUMNS="80")
    assert done.code == 0, done.text
    assert "..." not in done.out.replace("[ARGS]...", "")


def test_nothing_is_cut_at_80_columns(environment):
    from tempi import info

    console = Console(width=80, file=io.StringIO())
    rows = info.option_rows(True)
    console.print(info._option_table(rows))
    shown = console.file.getvalue()
    assert "…" not in shown
    assert all(f"TEMPI_{row.name}" in shown for row in rows)  # no name is divided


def test_an_explanation_is_an_object_for_programs(tempi, environment):
    found = json.loads(tempi("explain", "MPI.INT.Create_vector(2, 1, 2)", "--json", **environment).out)
    assert found["features"]["bytes"] == 8
    assert found["predictions"] == {}


@pytest.mark.mpi_process(shim=False)
def test_the_package_shows_its_public_names():
    from mpi4py import MPI

    import tempi

    assert dir(tempi) == sorted(tempi.__all__)
    vector = MPI.INT.Create_vector(2, 1, 2)
    assert repr(tempi.explain(vector)) == "<Explanation of 8 bytes in 2 blocks>"
    assert "<pre>" in tempi.explain(vector)._repr_html_()


@pytest.mark.mpi_process(shim=False)
def test_wrong_arguments_of_explain_are_named():
    from mpi4py import MPI

    import tempi

    with pytest.raises(TypeError, match="datatype is 3; it must be"):
        tempi.explain(3, MPI.INT)
    with pytest.raises(TypeError, match=r"datatype is of type bytearray; .* is tempi.view\(array\)\[2\]"):
        tempi.explain(bytearray(99))
    for count in ("a", 1.5, None, True):
        with pytest.raises(TypeError, match=f"count is {count!r}; it must be an integer"):
            tempi.explain(MPI.INT, count)
    freed = MPI.INT.Create_contiguous(2)
    freed.Free()
    with pytest.raises(ValueError, match=r"datatype is MPI.DATATYPE_NULL: the datatype has been freed"):
        tempi.explain(freed)


def test_counters_are_a_table():
    from tempi._library import Counter, Counters

    row = Counter("MPI_Pack", "taken: GPU kernel", 1200, 34567, 0.5, 0.0)
    assert repr(Counters([row])).splitlines()[1] == "MPI_Pack  taken: GPU kernel  1,200  34,567      0.5"
    assert "<td>MPI_Pack</td>" in Counters([row])._repr_html_()
    assert repr(Counters()) == "no calls counted"
