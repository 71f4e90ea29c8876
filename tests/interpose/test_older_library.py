"""The shim of a new Open MPI over an Open MPI of MPI 3.1, as the wheel meets it: mpi4py sees what that library has."""

import sys
from pathlib import Path

import pytest

from support import needs, shim
from support.programs import succeed, tool

PROGRAM = Path(__file__).with_name("older_library_program.py")
pytestmark = [needs.open_mpi("the older library is an Open MPI"), needs.compiler_of("openmpi")]


@pytest.fixture
def library():
    """Variables by which mpi4py takes Debian's Open MPI."""
    folder = succeed([tool("mpicc.openmpi"), "--showme:libdirs"], shim.clean_environment()).out.split()[0]
    path = Path(folder, "libmpi.so").resolve()
    version = succeed([tool("mpicc.openmpi"), "--showme:version"], shim.clean_environment()).text
    if "Open MPI 4." not in version:
        pytest.skip(f"needs an Open MPI 4.1 beside this one, found {version.strip()}")
    return {"LD_LIBRARY_PATH": str(path.parent), "MPI4PY_LIBMPI": str(path)}


@pytest.mark.parametrize("device", ["none", "fake"])
def test_functions_that_the_library_lacks_are_not_implemented(library, device):
    command = [sys.executable, str(PROGRAM)]
    alone = succeed(command, shim.clean_environment() | library)
    shimmed = succeed(command, shim.preloaded(TEMPI_DEVICE=device) | library)
    assert shimmed.out == alone.out
    assert "NotImplementedError" in alone.out
