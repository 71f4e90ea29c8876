"""Runs ``tempi simulate`` as users call it."""

import sys

import pytest

from support import shim
from support.programs import run

SIMULATE = [sys.executable, "-m", "tempi", "simulate"]


@pytest.fixture
def simulate_with(tmp_path, monkeypatch):
    """The command in an empty folder, with environment variables: a function of its words."""
    monkeypatch.chdir(tmp_path)
    return lambda **variables: lambda *words: run([*SIMULATE, *words], shim.clean_environment() | variables)


@pytest.fixture
def simulate(simulate_with):
    """The command in an empty folder: a function of its words."""
    return simulate_with()
