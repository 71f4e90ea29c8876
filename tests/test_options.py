"""The options table: documented and parsed options agree."""

import re
import sys
from pathlib import Path

import options_page
import pytest

import tempi
from support import shim
from support.programs import succeed

PAGE = Path(__file__).resolve().parent.parent / "docs" / "options.md"
ROW = re.compile(r"^\| `TEMPI_(\w+)` \| \w+ \| (.*?) \| (.*) \|$", re.MULTILINE)
OF_WORDS = ("LOG", "PROGRESS", "HOST_PACK", "DEVICE", "STRATEGY", "STREAM", "CUDA_AWARE")
SHOW = "import tempi, sys; print(*[(o.value, o.from_environment) for o in tempi.options() if o.name == sys.argv[1]])"
# The text options; all others are flags and numbers.
VALUES = {
    "LOG": "error",
    "PROGRESS": "calls",
    "HOST_PACK": "ours",
    "DEVICE": "none",
    "FAKE_FAIL": "copy:9",
    "STRATEGY": "staged",
    "STREAM": "legacy",
    "CUDA_AWARE": "1",
}


def test_documented_options_are_the_parsed_ones():
    rows = ROW.findall(PAGE.read_text())
    documented = {
        name: ("" if default == "–" else default, options_page.unmarked(meaning)) for name, default, meaning in rows
    }
    assert documented == {option.name: (option.default, option.meaning.replace("`", "")) for option in tempi.options()}


def test_every_option_is_read_from_its_variable():
    for option in tempi.options():
        value = VALUES.get(option.name, "1" if option.default == "0" else "17")
        environment = shim.clean_environment() | {"PYTHONPATH": ":".join(filter(None, sys.path))}
        shown = succeed([sys.executable, "-c", SHOW, option.name], environment | {f"TEMPI_{option.name}": value}).out
        assert shown.strip() == repr((value, True)), option.name


OLD = [("PATIENCE", "MATCH_TIMEOUT"), ("LANDING_SPAN", "BOUNCE_SPAN")]


def test_old_names_are_documented():
    rows = re.findall(r"^\| `TEMPI_(\w+)` \| `TEMPI_(\w+)` \|$", PAGE.read_text(), re.MULTILINE)
    assert rows == OLD


@pytest.mark.parametrize(("old", "name"), OLD)
def test_an_old_name_works_with_one_warning_unless_the_new_one_is_set(old, name):
    warning = f"warning: TEMPI_{old} is now TEMPI_{name}"
    for new_value, value in (("", "5"), ("6", "6")):
        variables = {f"TEMPI_{old}": "5", f"TEMPI_{name}": new_value}
        environment = shim.preloaded(**variables, PYTHONPATH=":".join(filter(None, sys.path)))
        shown = succeed([sys.executable, "-c", "import mpi4py.MPI; " + SHOW, name], environment)
        assert shown.out.strip() == repr((value, True))
        assert shown.err.count("warning: ") == shown.err.count(warning) == 1, shown.err


@pytest.mark.parametrize(("old", "name"), OLD)
def test_tempi_run_sets_the_new_name_for_an_old_one(old, name):
    command = [sys.executable, "-m", "tempi", "run", "--dry-run", "-o", f"{old.lower()}=5", "--", "true"]
    done = succeed(command, shim.clean_environment() | {"PYTHONPATH": ":".join(filter(None, sys.path))})
    assert f"TEMPI_{name}=5" in done.out
    assert f"TEMPI_{old}=" not in done.out
    assert done.err.strip() == f"tempi run: TEMPI_{old} is now TEMPI_{name}"


def test_a_word_that_an_option_does_not_take_is_told():
    defaults = {option.name: option.default for option in tempi.options()}
    for name in OF_WORDS:
        environment = shim.preloaded(**{f"TEMPI_{name}": "libary"}, PYTHONPATH=":".join(filter(None, sys.path)))
        shown = succeed([sys.executable, "-c", "import mpi4py.MPI; " + SHOW, name], environment)
        assert shown.out.strip() == repr((defaults[name], False))
        assert f"warning: TEMPI_{name}=libary is ignored: it takes one of " in shown.err


@pytest.mark.parametrize(("name", "value"), [("MATCH_TIMEOUT", "-5"), ("POOL_LIMIT", "-1"), ("FILE_CHUNK", "1e6")])
def test_a_number_that_an_option_does_not_take_is_told(name, value):
    environment = shim.preloaded(**{f"TEMPI_{name}": value})
    shown = succeed([sys.executable, "-c", "import mpi4py.MPI"], environment)
    assert f"warning: TEMPI_{name}={value} is ignored: it takes an integer from 0 to 9223372036854775807" in shown.err


def test_a_limit_that_may_be_negative_is_taken():
    shown = succeed([sys.executable, "-c", "import mpi4py.MPI"], shim.preloaded(TEMPI_FREED_LIMIT="-1"))
    assert "FREED_LIMIT" not in shown.err


def test_a_name_that_is_no_option_is_told_with_the_nearest_one():
    shown = succeed([sys.executable, "-c", "import mpi4py.MPI"], shim.preloaded(TEMPI_STRATEGIE="device"))
    assert "warning: TEMPI_STRATEGIE is not an option of TEMPI" in shown.err
    assert "TEMPI_STRATEGY" in shown.err
