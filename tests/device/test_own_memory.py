"""Addresses that cannot be GPU memory (src/device/own_memory.hpp)."""

from pathlib import Path

from support import shim
from support.programs import INCLUDE, compiled, cxx, succeed

HERE = Path(__file__).parent


def test_heap_and_stack_are_recognised_and_the_heap_stays_whole_under_ucx_sbrk(tmp_path):
    own_memory = str(INCLUDE / "device/own_memory.cpp")
    program = compiled(cxx(), HERE / "own_memory.cpp", tmp_path, "-std=c++20", "-pthread", own_memory)
    assert succeed([str(program)], shim.clean_environment()).out == "111 00\nall of the heap\n"
