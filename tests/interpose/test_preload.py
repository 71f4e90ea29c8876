"""An unmodified program with and without the shim."""

import re
import subprocess

import pytest

from support import shim
from support.programs import mpirun, succeed

REPORT_ROWS = ("MPI_Type_commit", "MPI_Pack", "MPI_Unpack")


@pytest.fixture(scope="module")
def alone(pack_types):
    return succeed([str(pack_types)], shim.clean_environment())


@pytest.mark.parametrize(
    "options", [{}, {"TEMPI_VERIFY": "1"}, {"TEMPI_DEVICE": "fake"}, {"TEMPI_NO_TYPE_COMMIT": "1"}]
)
def test_same_bytes_with_and_without(pack_types, alone, options):
    assert alone.out.count("\n") == 6
    shimmed = succeed([str(pack_types)], shim.preloaded(**options))
    assert shimmed.out == alone.out
    notes = [line for line in shimmed.err.splitlines() if line not in alone.err.splitlines()]
    if "TEMPI_VERIFY" in options:
        (note,) = notes
        assert re.fullmatch(
            r"tempi: note: verified: 12 calls of MPI_Pack and MPI_Unpack, \d+ bytes, are right on rank 0", note
        )
    else:
        assert notes == []


def test_it_says_that_it_is_on(pack_types):
    """To those who ask for messages, once for a job."""
    text = mpirun(2, pack_types, shim.preloaded(TEMPI_LOG="info")).text
    assert re.findall(r"TEMPI is on in this job, by (\S+) \(transports: ipc\)", text) == [str(shim.path())]


def test_it_says_that_it_is_off(pack_types):
    text = mpirun(2, pack_types, shim.preloaded(TEMPI_LOG="info", TEMPI_DISABLE="1")).text
    assert re.findall(r"TEMPI is .*", text) == ["TEMPI is off in this job: TEMPI_DISABLE is set"]


def test_it_says_what_is_not_written_when_it_is_off(pack_types):
    asked = {"TEMPI_REPORT": "1", "TEMPI_VERIFY": "1", "TEMPI_TRACE": "t.json"}
    text = mpirun(2, pack_types, shim.preloaded(TEMPI_DISABLE="1", **asked)).text
    said = "TEMPI_DISABLE is set: without effect: TEMPI_REPORT TEMPI_VERIFY TEMPI_TRACE"
    assert re.findall(r"tempi: warning: (.*)", text) == [said]
    assert "tempi" not in mpirun(2, pack_types, shim.preloaded(TEMPI_DISABLE="1", TEMPI_REPORT="0")).text


def test_two_ranks_exchange_the_same_bytes(pack_types):
    without = mpirun(2, pack_types, shim.clean_environment())
    assert mpirun(2, pack_types, shim.preloaded()).out == without.out


def test_report_proves_interception(pack_types, alone):
    reported = succeed([str(pack_types)], shim.preloaded(TEMPI_REPORT="1"))
    assert all(line in reported.out for line in alone.out.splitlines())
    for function in REPORT_ROWS:
        assert function in reported.text
    assert "taken" in reported.text


def table_of(text):
    """The rows of a report: (function, outcome) -> (calls, payload bytes, seconds)."""
    rows = re.findall(r"^tempi: (MPI_\w+) +(\S.*?) +(\d+) +(\d+)(?: +(\d+\.\d+))?$", text, re.MULTILINE)
    return {(function, outcome): (int(n), int(size), float(s or 0)) for function, outcome, n, size, s in rows}


@pytest.mark.parametrize("ranks", [1, 2])
def test_report_is_one_table_over_all_ranks(pack_types, ranks):
    """6 datatypes a rank, each committed, packed and unpacked once: every call is in one row, whatever its outcome."""
    text = mpirun(ranks, pack_types, shim.preloaded(TEMPI_REPORT="1")).text
    assert text.count("tempi: report of") == 1
    assert f"report of {ranks} rank" in text
    table = table_of(text)
    for function in REPORT_ROWS:
        assert sum(calls for (f, _), (calls, _, _) in table.items() if f == function) == 6 * ranks
    taken = [row for (f, outcome), row in table.items() if f == "MPI_Pack" and outcome.startswith("taken")]
    assert taken
    assert all(size > 0 and seconds > 0 for _, size, seconds in taken)
    sizes = [sum(size for (f, _), (_, size, _) in table.items() if f == name) for name in ("MPI_Pack", "MPI_Unpack")]
    assert sizes[0] == sizes[1]


def test_one_report_for_all_ranks(pack_types):
    reported = mpirun(2, pack_types, shim.preloaded(TEMPI_REPORT="1")).text
    single = succeed([str(pack_types)], shim.preloaded(TEMPI_REPORT="1")).text
    assert [reported.count(name) for name in REPORT_ROWS] == [single.count(name) for name in REPORT_ROWS]


def test_what_was_not_timed_has_no_seconds(pack_types):
    text = succeed([str(pack_types)], shim.preloaded(TEMPI_REPORT="1")).text
    assert "0.000000" not in text
    assert {row for row in table_of(text) if row[0] == "MPI_Type_commit"}


def test_no_report_unless_asked(pack_types):
    assert "MPI_Pack" not in succeed([str(pack_types)], shim.preloaded()).text


@pytest.mark.parametrize("option", ["TEMPI_DISABLE", "TEMPI_NO_PACK"])
def test_switched_off_is_pass_through(pack_types, alone, option):
    off = succeed([str(pack_types)], shim.preloaded(**{option: "1"}))
    assert (off.out, off.err) == (alone.out, alone.err)
    report = succeed([str(pack_types)], shim.preloaded(**{option: "1", "TEMPI_REPORT": "1"})).text
    assert not [row for row in report.splitlines() if "Pack" in row and "taken" in row]


def test_misspelt_variable_is_warned_about_once(pack_types, alone):
    warned = succeed([str(pack_types)], shim.preloaded(TEMPI_DISABEL="1"))
    lines = [line for line in warned.err.splitlines() if "TEMPI_DISABEL" in line]
    assert len(lines) == 1
    assert "TEMPI_DISABLE" in lines[0].replace("TEMPI_DISABEL", "", 1)
    assert warned.out == alone.out


def test_bad_value_is_warned_about(pack_types, alone):
    warned = succeed([str(pack_types)], shim.preloaded(TEMPI_VERIFY="perhaps"))
    assert "TEMPI_VERIFY" in warned.err
    assert warned.out == alone.out


def test_bin_true_prints_nothing():
    done = subprocess.run(["/bin/true"], env=shim.preloaded(), capture_output=True, timeout=10)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_programs_that_are_not_mpi_are_left_alone():
    done = subprocess.run(
        ["/bin/sh", "-c", "echo hello; exit 3"], env=shim.preloaded(), capture_output=True, timeout=10
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, b"hello\n", b"")
