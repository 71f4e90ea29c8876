"""The installed package has the files that `tempi info`, options and messages name."""

import json
import re
from pathlib import Path

import pytest

from support import shim
from support.programs import succeed, tool

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = re.compile(r"\bdocs/[\w./-]+\.md\b")


@pytest.fixture(scope="module")
def info():
    return json.loads(succeed([tool("tempi"), "info", "--json"], shim.clean_environment()).out)


def package(info):
    return Path(info["tempi"]["documents"]).parent


def test_every_path_of_info_exists(info):
    paths = [value for value in info["tempi"].values() if isinstance(value, str) and value.startswith("/")]
    assert len(paths) >= 2
    assert not [path for path in paths if not Path(path).exists()]


def test_each_mpi_that_it_is_installed_for_has_its_libraries(info):
    assert (package(info) / "lib" / "libtempi.so").is_file()
    for abi in info["tempi"]["installed_for"]:
        assert {"libtempi.so", "libtempi_mpi.so"} <= {one.name for one in (package(info) / "lib" / abi).iterdir()}


def test_documents_that_options_name_are_installed(info):
    named = {name for option in info["options"] for name in DOCUMENT.findall(option["meaning"])}
    assert named
    assert not [name for name in named if not (package(info) / name).is_file()]


def test_documents_that_messages_name_are_installed(info):
    """Messages are string literals of the sources; comments name documents of the repository."""
    sources = [*ROOT.glob("src/**/*.[ch]pp"), *ROOT.glob("tempi/**/*.py")]
    literals = re.compile(r'"[^"\n]*"')
    named = {
        name
        for source in sources
        for literal in literals.findall(source.read_text())
        for name in DOCUMENT.findall(literal)
    }
    assert not [name for name in named if not (package(info) / name).is_file()]


def test_the_profiles_of_the_repository_are_installed(info):
    shipped = {one.name: one.read_bytes() for one in (ROOT / "perfmodel" / "machines").iterdir()}
    installed = {one.name: one.read_bytes() for one in (package(info) / "perfmodel" / "machines").iterdir()}
    assert shipped
    assert installed == shipped
