"""Wrong words on the command line: the error names the option, and comes before the command runs."""

import json

import pytest

from support.programs import mpiexec

SIMULATE = ("simulate", "halo", "--network", "summit", "--nodes", "1", "--size", "32")


def check_refused(done, words):
    assert done.code == 2, done.text
    assert words in done.err
    assert "Traceback" not in done.text
    assert "ran" not in done.out


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
@pytest.mark.parametrize(
    "words",
    [
        (*SIMULATE, "--call-us"),
        (*SIMULATE, "--noise"),
        (*SIMULATE, "--library-block-us"),
        ("check", "--seconds"),
        ("measure", "--seconds"),
    ],
    ids=lambda words: f"{words[0]} {words[-1]}",
)
def test_numbers_that_are_not_finite_are_refused(tempi, words, number):
    check_refused(tempi(*words, number), f"Invalid value for '{words[-1]}': ")


def test_a_word_that_is_no_number_is_told_without_the_words_of_click(tempi):
    check_refused(tempi(*SIMULATE, "--call-us", "x"), "'x' is not a valid number.")
    check_refused(tempi(*SIMULATE, "--radius", "x"), "'x' is not a valid integer.")


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("trace", "trace needs a value (-o trace=VALUE): it takes a text"),
        ("TEMPI_CACHE_DIR", "TEMPI_CACHE_DIR needs a value (-o TEMPI_CACHE_DIR=VALUE)"),
        ("profile", "profile needs a value"),
        ("pool_limit", "pool_limit needs a value (-o pool_limit=VALUE): it takes an integer"),
        ("match_timeout", "match_timeout needs a value"),
        ("=", "'=' has no name of an option"),
        ("", "'' has no name of an option"),
    ],
)
def test_an_option_that_is_no_flag_needs_a_value(tempi, word, why):
    check_refused(tempi("run", "-o", word, "--", "echo", "ran"), why)


@pytest.mark.parametrize("word", ["report", "REPORT", "TEMPI_VERIFY", "disable"])
def test_a_flag_needs_no_value(tempi, word):
    done = tempi("run", "-o", word, "--", "echo", "ran")
    assert (done.code, done.out) == (0, "ran\n"), done.text


@pytest.mark.parametrize("command", ["check", "measure"])
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--ranks-command", "true", "--hosts", "a,b"], "leave --hosts out"),
        (["--ranks-command", "true", "--mpirun", "mpirun"], "leave --mpirun out"),
        (["--ranks-command", " "], "--ranks-command is empty"),
        (["--hosts", "a,,b"], "Invalid value for '--hosts': 'a,,b' has an empty name"),
        (["--hosts", ""], "Invalid value for '--hosts': '' has an empty name"),
    ],
)
def test_starts_that_contradict_each_other_are_refused(tempi, command, words, why):
    check_refused(tempi(command, *words), why)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["check", "--ranks-command", "true", "-n", "2"], "leave -n out"),
        (["check", "-n", str(10**20)], f"{10**20} is not in the range 1<=x<=1048576"),
        (["measure", "--from", "a.json", "--hosts", "a,b"], "--from measures nothing"),
        (["measure", "--from", "a.json", "--quick"], "--from measures nothing"),
        (["measure", "--output", "-"], "--output is a folder; --json prints the profile on standard output"),
    ],
)
def test_options_without_effect_are_refused(tempi, words, why):
    check_refused(tempi(*words), why)


def test_a_measurement_between_nodes_needs_two(tempi):
    done = tempi("measure", "--hosts", "a")
    assert done.code == 1, done.text
    assert "--hosts names two nodes, A,B; not 'a'" in done.err


def test_a_measurement_of_one_rank_is_refused(tempi):
    """Its profile would have no times of messages, and would replace the profile of this machine."""
    done = tempi("measure", "--quick", "--ranks-command", f"{mpiexec()} -n 1", TEMPI_CACHE_DIR="cache")
    assert done.code == 1, done.text
    assert "this job has one rank, which has no peer: start two ranks" in done.err


def test_in_a_job_the_ranks_are_not_started_otherwise(tempi):
    check_refused(tempi("measure", "--hosts", "a,b", PMI_RANK="0"), "this process is a rank of a job")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["measure", "--from", "X.fit"], "--from: X.fit has no measurements: name the .json file of the profile"),
        (["measure", "--from", "X.json"], "--from: X.json cannot be read"),
        (["explain", "MPI.INT", "--profile", "X.fit"], "--profile: X.fit cannot be read"),
        ([*SIMULATE, "--profile", "X.fit"], "--profile: X.fit cannot be read"),
        ([*SIMULATE, "--network", "X.json"], "--network: X.json cannot be read"),
    ],
)
def test_errors_of_files_name_the_option(tempi, words, why):
    done = tempi(*words)
    assert done.code == 1, done.text
    assert why in done.err


@pytest.mark.parametrize(
    "words",
    [("check", "--output"), (*SIMULATE, "--csv"), (*SIMULATE, "--json")],
    ids=lambda words: words[-1],
)
def test_a_file_that_cannot_be_written_is_told_first(tempi, words):
    why = f"Invalid value for '{words[-1]}': /nodir/x cannot be written: there is no folder /nodir"
    check_refused(tempi(*words, "/nodir/x"), why)


def test_a_dash_is_standard_output(tempi):
    table = tempi(*SIMULATE, "--csv", "-")
    assert table.code == 0, table.text
    assert table.out.startswith("# command: ")
    assert table.out.splitlines()[-1].startswith("1,6,")
    assert "speed-up" in table.err
    check_refused(tempi(*SIMULATE, "--csv", "-", "--json", "-"), "--csv and --json both write to -")
    report = json.loads(tempi("check", "--strategies", "host", "--seconds", "2", "--output", "-").out)
    assert report["runs"][0]["messages"]


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("", "the expression is empty"),
        ("exit()", "exit(): SystemExit"),
        ("MPI.COMM_WORLD", "MPI.COMM_WORLD is of type Intracomm, not an MPI datatype"),
    ],
)
def test_expressions_that_are_no_datatype(tempi, expression, why):
    check_refused(tempi("explain", expression), why)


def test_bytes_that_are_no_whole_elements_are_told(tempi):
    vector = "MPI.DOUBLE.Create_vector(16, 4, 8)"
    assert "--bytes 1000 is rounded: 2 elements of 512 bytes" in tempi("explain", vector, "--bytes", "1000").out
    assert "is rounded" not in tempi("explain", vector, "--bytes", "1024").out
