"""Every kernel with every launch parameter on a real GPU, and the search for the best of them."""

import sys

import pytest

from support import shim
from support.programs import run
from support.tuned import WORDS, check_every_value

MEASURE = [sys.executable, "-m", "tempi.measure", "--quick", "--keep-anyway"]


@pytest.mark.mpi_process
@pytest.mark.parametrize("unpacks", [False, True], ids=["pack", "unpack"])
@pytest.mark.parametrize("leaf", WORDS, ids=lambda leaf: leaf.name)
def test_every_value_of_every_parameter(leaf, unpacks):
    check_every_value(leaf, unpacks)


def test_the_search_finds_no_wrong_bytes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # not the source tree, which has no built module
    environment = shim.clean_environment() | {"TEMPI_CACHE_DIR": str(tmp_path)}
    for arguments in (["--seconds", "2"], ["--tune", "--seconds", "10"]):
        done = run([*MEASURE, *arguments], environment)
        assert done.code == 0, done.text
    assert "chosen: " in done.out
    assert "REJECTED" not in done.out
