"""The environment of a command that measures."""

import pytest

from support import shim


@pytest.fixture
def environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # not the source tree, which has no built module
    return shim.clean_environment() | {"TEMPI_CACHE_DIR": str(tmp_path / "cache")}
