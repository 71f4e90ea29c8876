"""Boxes whose rows are aligned to lines of memory move the bytes that they moved before."""

from pathlib import Path

from support import shim
from support.effort import scaled
from support.programs import INCLUDE, cxx, succeed

SOURCES = ("pack/aligned_rows.cpp", "pack/kernel_box.cpp", "datatype/box.cpp", "base/error.cpp", "base/tuning.cpp")


def test_aligned_rows_move_the_same_bytes(tmp_path, drawn):
    program = tmp_path / "aligned_rows"
    sources = [str(Path(__file__).with_name("aligned_rows.cpp")), *(str(INCLUDE / name) for name in SOURCES)]
    options = ["-std=c++20", "-O1", "-fsanitize=undefined,address", "-fno-sanitize-recover", f"-I{INCLUDE}"]
    succeed([cxx(), *sources, *options, "-o", str(program)], shim.clean_environment())
    rounds = scaled(300, least=60)
    done = succeed([str(program), str(drawn.getrandbits(30)), str(rounds)], shim.clean_environment())
    assert int(done.out) > rounds / 4
