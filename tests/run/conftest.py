"""The command line, as users call it, in a folder that is not the source tree."""

import sys

import pytest

from support import shim
from support.programs import run

TEMPI = [sys.executable, "-m", "tempi"]


@pytest.fixture
def tempi(tmp_path, monkeypatch):
    """Calls the command with the arguments given, and with variables besides those of every test."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, **variables):
        return run([*TEMPI, *map(str, arguments)], shim.clean_environment() | variables)

    return call


@pytest.fixture
def script(tmp_path):
    """Makes an executable script, and returns its path."""

    def make(name, text):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    return make
