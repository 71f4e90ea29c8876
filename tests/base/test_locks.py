"""The order of locks: the table of src/base/lock_order.def, and builds with assertions, which end at a wrong order."""

import re

import pytest

from support.programs import INCLUDE, cxx, run, succeed
from support.shim import clean_environment

TABLE = re.findall(r"^TEMPI_LOCK\((\w+),", (INCLUDE / "base/lock_order.def").read_text(), re.MULTILINE)
SOURCES = [path for path in INCLUDE.rglob("*.[ch]pp") if path.name not in ("mutex.hpp", "mutex.cpp")]
WELL = ["in order", "recursive", "tried", "given back in another order", "in a handler", "in another thread"]
WELL += ["recursive, behind a later one"]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    built, here = tmp_path_factory.mktemp("locks") / "locks", INCLUDE.parent / "tests/base/locks.cpp"
    options = ["-std=c++20", "-O1", "-UNDEBUG", "-pthread", f"-I{INCLUDE}"]
    succeed([cxx(), *options, str(here), str(INCLUDE / "base/mutex.cpp"), "-o", str(built)], clean_environment(), 300)
    return built


@pytest.mark.parametrize("case", WELL)
def test_an_order_that_is_right(program, case):
    assert succeed([str(program), case], clean_environment()).out == "well\n"


@pytest.mark.parametrize(
    ("case", "held", "taken"),
    [
        ("the wrong way round", "warnings", "staging"),
        ("two of one kind", "staging", "staging"),
        ("behind a handler", "warnings", "staging"),
    ],
)
def test_a_wrong_order_ends_the_process(program, case, held, taken):
    ended = run([str(program), case], clean_environment())
    assert ended.code != 0
    assert ended.err == f"tempi: a thread holds the lock {held} and takes {taken}; lock_order.def has the order\n"


def test_each_lock_of_the_sources_is_in_the_table():
    used = re.findall(r"Mutex<Lock::(\w+)>", "".join(path.read_text() for path in SOURCES))
    assert set(used) == set(TABLE)


def test_no_lock_is_without_a_place_in_the_order():
    plain = [str(path) for path in SOURCES if re.search(r"std::(recursive_|shared_|timed_)*mutex\b", path.read_text())]
    assert plain == []
