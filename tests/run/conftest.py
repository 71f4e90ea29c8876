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
def built(tmp_path):
    """Builds a library or program of C, and returns its path."""

    def build(name, *options, source="int main(void) { return 0; }"):
        (tmp_path / "source.c").write_text(source + "\n")
        kind = ["-shared", "-fPIC", f"-Wl,-soname,{name}"] if name.startswith("lib") else []
        command = [cxx(), "-x", "c", tmp_path / "source.c", "-x", "none", *kind, *options, "-o", tmp_path / name]
        succeed([*map(str, command)], shim.clean_environment())
        return tmp_path / name

    return build


@pytest.fixture
def needing(built):
    """Builds a program that needs a library of a name, which is a stand-in, and returns its path."""
    return lambda library: built("program", "-Wl,--no-as-needed", built(library))


@pytest.fixture
def script(tmp_path):
    """Makes an executable script, and returns its path."""

    def make(name, text):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    return make
