"""Failed tests are named for a second run."""

import os
import subprocess
import sys

from support.failed import VARIABLE

RUN = """
import sys, pytest
from support.failed import Failed
sys.exit(pytest.main(sys.argv[1:], [Failed.of_environment()]))
"""
TESTS = """
import pytest
@pytest.mark.parametrize("word", ["one", "two words", "three"])
def test_of_words(word):
    assert word != "two words"
"""


def run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", RUN, "-p", "no:cacheprovider", *arguments],
        env=os.environ | {VARIABLE: str(folder / "failed"), "PYTHONPATH": os.path.dirname(__file__)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    return done.returncode, done.stdout


def test_the_second_run_takes_the_failed_tests_alone(tmp_path):
    (tmp_path / "test_words.py").write_text(TESTS)
    code, output = run(tmp_path)
    assert code == 1, output
    assert "1 failed, 2 passed" in output
    assert (tmp_path / "failed").read_text() == "test_words.py::test_of_words[two words]\n"
    code, output = run(tmp_path, f"@{tmp_path / 'failed'}")
    assert code == 1, output
    assert "1 failed in" in output


def test_a_run_that_ends_early_names_no_tests(tmp_path):
    (tmp_path / "test_words.py").write_text(TESTS)
    (tmp_path / "test_broken.py").write_text("import no_such_module")
    code, output = run(tmp_path)
    assert code == 2, output
    assert not (tmp_path / "failed").exists()
