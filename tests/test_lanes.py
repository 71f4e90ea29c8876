"""Two processes that share one suite run each file once."""

import os
import re
import subprocess
import sys
from pathlib import Path

from support.lanes import VARIABLE, Lane

FOLDER = Path(__file__).parent
# All but the first need the same child process.
FILES = ["test_lanes.py", "pack/test_many_boxes.py", "pack/test_mpi4py.py", "pack/test_word_widths.py"]


def test_a_file_is_of_the_lane_that_comes_first(tmp_path):
    first, second = Lane("1", tmp_path), Lane("2", tmp_path)
    assert first.takes(FOLDER / "a.py")
    assert second.takes(FOLDER / "b.py")
    assert first.takes(FOLDER / "a.py")  # asked for each test of the file
    assert not first.takes(FOLDER / "b.py")
    assert not second.takes(FOLDER / "a.py")


def test_the_second_lane_begins_at_the_end_and_leaves_out_what_the_first_has(tmp_path):
    first = Lane("1", tmp_path)
    for name in ("test_lanes.py", "pack/test_mpi4py.py"):
        assert first.takes(FOLDER / name)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *(str(FOLDER / name) for name in FILES)],
        env=os.environ | {VARIABLE: f"2:{tmp_path}"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    ran = re.findall(r"^tests/(\S+)::(.+?) (?:PASSED|SKIPPED)", done.stdout, re.MULTILINE)
    assert list(dict.fromkeys(file for file, _ in ran)) == ["pack/test_word_widths.py", "pack/test_many_boxes.py"]
    assert len(ran) == len(set(ran))
