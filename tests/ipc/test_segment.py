"""The memory of a shared segment: the last numbers of words, claims, a full table of match queues, freed memory."""

from pathlib import Path

import pytest

from support import shim
from support.programs import INCLUDE, compiled, cxx, succeed

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    sources = str(INCLUDE / "segment/segment.cpp")
    return compiled(cxx(), HERE / "segment.cpp", tmp_path_factory.mktemp("segment"), "-std=c++20", sources)


@pytest.mark.parametrize("case", ["words", "claims", "lines", "ends", "closed", "freed"])
def test_segment(program, case):
    assert succeed([str(program), case], shim.clean_environment()).out == "well\n"
