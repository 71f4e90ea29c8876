"""The shim for a program: chosen by the MPI library that it names as needed."""

import re
import shutil
import sys
from pathlib import Path

import mpi4py
import pytest

from support.defects import library_name
from tempi import lib_path
from tempi.run import shims

# MPI.<ABI>.<platform>.so, or MPI.<platform>.so of an mpi4py that was built for one MPI.
MODULES = sorted(Path(mpi4py.__file__).parent.glob("MPI.*.so"))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_the_abi_is_that_of_the_library_needed(module):
    name = module.name.split(".")[1]
    assert shims.abi_of(module) == (name if name in shims.LIBRARIES else library_name())


@pytest.mark.parametrize(("abi", "library"), [(abi, name) for abi, names in shims.LIBRARIES.items() for name in names])
def test_a_program_needs_a_library_by_its_name(needing, abi, library):
    assert shims.abi_of(needing(library)) == abi


def test_what_needs_no_mpi_has_no_abi(tmp_path):
    (tmp_path / "text").write_text("no program")
    (tmp_path / "empty").touch()
    for path in (Path("/bin/sh"), tmp_path / "text", tmp_path / "empty", tmp_path, tmp_path / "missing"):
        assert shims.abi_of(path) is None


def test_a_damaged_program_has_no_abi(tmp_path):
    whole = Path(sys.executable).resolve().read_bytes()
    for n_bytes in (4, 60, 100, 5000):
        (tmp_path / "cut").write_bytes(whole[:n_bytes])
        assert shims.abi_of(tmp_path / "cut") is None


def test_a_python_is_asked_for_its_mpi4py():
    assert shims.abi_of_program(sys.executable) == shims.abi_of_this_python()
    assert shims.abi_of_program(sys.executable) in shims.LIBRARIES


@pytest.mark.parametrize("word", ["-n", "4", "no-such-program", "/", "sh"])
def test_words_that_are_no_mpi_program_have_no_abi(word):
    assert shims.abi_of_program(word) is None


def test_every_shim_is_built_for_the_abi_of_its_folder(tempi):
    assert shims.installed()
    for abi, path in shims.installed().items():
        assert re.search(rb"MPI ABI: (\w+)", path.read_bytes()).group(1).decode() == abi
        assert lib_path(abi) == str(path)
        assert tempi("lib", "--abi", abi).out == f"{path}\n"


def test_the_default_is_the_one_of_the_mpi_here(tempi):
    abi = shims.abi_of_this_python()
    assert abi in shims.installed()
    assert tempi("lib").out == f"{shims.shim_for(abi)}\n"


def test_one_that_is_not_installed_is_told(tempi, monkeypatch):
    monkeypatch.setattr(shims, "installed", dict)
    with pytest.raises(RuntimeError, match=r"no libtempi.so for mpich is installed, only for nothing: .*MPICC="):
        lib_path("mpich")
    monkeypatch.setattr(shims, "abi_of_this_python", lambda: None)
    monkeypatch.setattr(shims, "find_mpirun", lambda: shutil.which("false"))
    with pytest.raises(RuntimeError, match="installed for nothing"):
        lib_path()
    assert "'lam' is not one of" in tempi("lib", "--abi", "lam").err
