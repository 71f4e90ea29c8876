"""Boxes that meet become one, and move the words that they moved before."""

from pathlib import Path

from support import shim
from support.effort import scaled
from support.programs import INCLUDE, cxx, succeed

SOURCES = ("pack/woven.cpp", "pack/kernel_box.cpp", "datatype/box.cpp", "base/error.cpp", "base/tuning.cpp")
FACES = """\
-72 0
-64 0
-56 1
0 1
24 1
56 1
64 0
72 0
behind each other 0
"""


def test_woven_boxes_move_the_same_words(tmp_path, drawn):
    program = tmp_path / "woven"
    sources = [str(Path(__file__).with_name("woven.cpp")), *(str(INCLUDE / name) for name in SOURCES)]
    options = ["-std=c++20", "-O1", "-fsanitize=undefined", "-fno-sanitize-recover", f"-I{INCLUDE}", "-o", str(program)]
    succeed([cxx(), *sources, *options], shim.clean_environment())
    rounds = scaled(3000, least=500)
    done = succeed([str(program), str(drawn.getrandbits(30)), str(rounds)], shim.clean_environment())
    faces, _, random_ones = done.out.rpartition("behind each other 0\n")
    assert faces + "behind each other 0\n" == FACES
    assert int(random_ones.split()[0]) > rounds / 4
