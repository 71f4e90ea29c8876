"""The memory of a mailbox: words at the end of their numbers, claims, a table of lines that is full, freed memory."""

from pathlib import Path

import pytest

from support import shim
from support.programs import INCLUDE, compiled, cxx, succeed

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    sources = str(INCLUDE / "mailbox" / "contents.cpp")
    return compiled(cxx(), HERE / "contents.cpp", tmp_path_factory.mktemp("mailbox"), "-std=c++20", sources)


@pytest.mark.parametrize("case", ["words", "claims", "lines", "ends", "closed", "freed"])
def test_contents(program, case):
    assert succeed([str(program), case], shim.clean_environment()).out == "well\n"
