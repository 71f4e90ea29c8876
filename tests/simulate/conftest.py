"""Runs ``tempi simulate`` as users call it."""

import sys

import pytest

from support import shim
from support.programs import run

SIMULATE = [sys.executable, "-m", "tempi", "simulate"]


@pytest.fixture
def simulate(tmp_path, monkeypatch):
    """The command in an empty folder: a function of its words."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: run([*SIMULATE, *words], shim.clean_environment())
