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


def test_a_segment_that_was_published_late_is_found_when_it_must_be_there(tmp_path):
    """Another process notes itself as an importer: then it has a segment."""
    of_base = ("error", "launcher", "log", "mutex", "options")
    of_segment = ("segment", "own_segment", "peer_segments", "discovery", "shared_boxes", "arrivals")
    names = [f"base/{name}" for name in of_base] + [f"segment/{name}" for name in of_segment]
    sources = [str(INCLUDE / f"{name}.cpp") for name in names]
    program = compiled(cxx(), HERE / "late_segment.cpp", tmp_path, "-std=c++20", *sources)
    assert succeed([str(program)], shim.clean_environment()).out == "well\n"
