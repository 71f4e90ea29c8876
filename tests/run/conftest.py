"""The command line, as users call it, in a folder that is not the source tree."""

import sys

import pytest

from support import shim
from support.programs import cxx, run, succeed

TEMPI = [sys.executable, "-m", "tempi"]


@pytest.fixture
def tempi(tmp_path, monkeypatch):
    """Calls the command with the arguments given, and with variables besides those of every test."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, **variables):
        return run([*TEMPI, *map(str, arguments)], shim.clean_environment() | variables)

    return call


@pytest.fixture
def needing(tmp_path):
    """Makes a program that needs a library of a name, and returns its path."""

    def make(library):
        stand_in, program = tmp_path / library, tmp_path / "program"
        source = tmp_path / "program.c"
        source.write_text("int main(void) { return 0; }\n")
        compile_c = [cxx(), "-x", "c", str(source), "-x", "none"]
        clean = shim.clean_environment()
        succeed([*compile_c, "-shared", "-fPIC", f"-Wl,-soname,{library}", "-o", str(stand_in)], clean)
        succeed([*compile_c, "-Wl,--no-as-needed", str(stand_in), "-o", str(program)], clean)
        return program

    return make


@pytest.fixture
def script(tmp_path):
    """Makes an executable script, and returns its path."""

    def make(name, text):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    return make
