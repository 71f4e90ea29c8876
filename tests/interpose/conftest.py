"""Compiled programs, shared by the tests of this folder."""

import pytest

from support import programs


@pytest.fixture(scope="session")
def binaries(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="session")
def pack_types(binaries):
    return programs.compiled(programs.mpicc(), "pack_types.c", binaries)
