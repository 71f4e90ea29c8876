"""The shim for a program: chosen by the MPI library that it names as needed."""

import re
import sys
from pathlib import Path

import mpi4py
import pytest

from support import shim
from support.defects import library_name
from support.programs import succeed
from tempi import lib_path
from tempi.run import shims

# MPI.<ABI>.<platform>.so, or MPI.<platform>.so of an mpi4py that was built for one MPI.
MODULES = sorted(Path(mpi4py.__file__).parent.glob("MPI.*.so"))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_the_abi_is_that_of_the_library_needed(module):
    name = module.name.split(".")[1]
    assert shims.abi_of(module) == (name if name in shims.ABIS else library_name())


LIBRARIES = {
    "openmpi": ("libmpi.so.40", "libmpi_mpifh.so.40"),
    "mpich": ("libmpi.so.12", "libmpich.so.12", "libmpi_gnu_123.so.12"),
    "mpiabi": ("libmpi_abi.so.1", "libmpi_abi.so.0"),
}


@pytest.mark.parametrize(("abi", "library"), [(abi, name) for abi, names in LIBRARIES.items() for name in names])
def test_a_program_needs_a_library_by_its_name(needing, abi, library):
    assert shims.abi_of(needing(library)) == abi


def test_a_program_needs_a_library_by_way_of_others(built, tmp_path, monkeypatch):
    """The library is in the run path, or in LD_LIBRARY_PATH behind a file that the loader passes over."""
    middle = built("libmiddle.so", "-Wl,--no-as-needed", built("libmpi.so.12"))
    outer = built("libouter.so", "-Wl,--no-as-needed", middle)
    assert shims.abi_of(outer) is None
    assert shims.abi_of(built("libouter.so", "-Wl,--no-as-needed", middle, "-Wl,-rpath,$ORIGIN")) == "mpich"
    outer = built("libouter.so", "-Wl,--no-as-needed", middle)
    (tmp_path / "other").mkdir()
    of_32_bits = bytearray(middle.read_bytes())
    of_32_bits[4] = 1
    (tmp_path / "other" / "libmiddle.so").write_bytes(of_32_bits)
    ask = f"from tempi._native import abi_needed_by; print(abi_needed_by({str(outer)!r}))"
    path = {"LD_LIBRARY_PATH": f"{tmp_path / 'other'}:{tmp_path}"}
    assert succeed([sys.executable, "-c", ask], shim.clean_environment() | path).out == "mpich\n"


def test_what_needs_no_mpi_has_no_abi(tmp_path):
    (tmp_path / "text").write_text("no program")
    (tmp_path / "empty").touch()
    for path in (Path("/bin/sh"), tmp_path / "text", tmp_path / "empty", tmp_path, tmp_path / "missing"):
        assert shims.abi_of(path) is None


def test_a_damaged_program_has_no_abi(needing, tmp_path):
    whole = needing("libmpi.so.12").read_bytes()
    n_known = 0
    for n_bytes in (*range(0, 4096, 97), len(whole) // 2, len(whole) - 1, len(whole)):
        (tmp_path / "cut").write_bytes(whole[:n_bytes])
        found = shims.abi_of(tmp_path / "cut")
        assert found in (None, "mpich")
        n_known += found is not None
    assert found == "mpich", "the whole program"
    assert n_known < 10, "the case is void: what was cut off is not read"


def test_every_shim_is_built_for_the_abi_of_its_folder(tempi):
    assert shims.installed()
    for abi, path in shims.installed().items():
        assert re.search(rb"MPI ABI: (\w+)", path.read_bytes()).group(1).decode() == abi
        assert lib_path(abi) == str(path)
        assert tempi("lib", "--abi", abi).out == f"{path}\n"


def test_the_default_is_the_one_for_any_mpi(tempi):
    path = shims.package_folder() / "lib" / "libtempi.so"
    assert path.exists()
    assert tempi("lib").out == f"{path}\n"


def test_one_that_is_not_installed_is_told(tempi, monkeypatch):
    monkeypatch.setattr(shims, "installed", dict)
    with pytest.raises(RuntimeError, match=r"no libtempi.so for mpich is installed, only for nothing: .*MPICC="):
        lib_path("mpich")
    assert "'lam' is not one of" in tempi("lib", "--abi", "lam").err


@pytest.mark.parametrize("wrong", ["lam", 3])
def test_an_abi_that_does_not_exist(wrong):
    with pytest.raises(ValueError, match=f"abi is {wrong!r}; it must be one of 'openmpi', 'mpich', 'mpiabi'"):
        lib_path(wrong)
