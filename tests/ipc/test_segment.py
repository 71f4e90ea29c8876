"""The memory of a shared segment: words at the end of their numbers, claims, a table of match queues that is full, freed memory."""

from pathlib import Path

import pytest

from support import shim
from support.programs import INCLUDE, compiled, cxx, succeed

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    sources = str(INCLUDE / "transport/ipc/segment/segment.cpp")
    return compiled(cxx(), HERE / "segment.cpp", tmp_path_factory.mktemp("mailbox"), "-std=c++20", sources)


@pytest.mark.parametrize("case", ["words", "claims", "lines", "ends", "closed", "freed"])
def test_segment(program, case):
    assert succeed([str(program), case], shim.clean_environment()).out == "well\n"
