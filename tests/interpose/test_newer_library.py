"""An MPI library that is newer than the one that TEMPI was built with."""

import sys
from pathlib import Path

import pytest

from support import p2p, shim
from support.programs import compiled, mpicc, succeed

WARNING = "that TEMPI does not handle, because it was built with "


def start(*behind):
    environment = shim.preloaded()
    environment["LD_PRELOAD"] = " ".join((environment["LD_PRELOAD"], *behind))
    return succeed([sys.executable, "-c", "import mpi4py.MPI"], environment)


def test_functions_that_bypass_tempi_are_named_at_the_start(tmp_path):
    if p2p.has("Allreduce_c"):
        pytest.skip("TEMPI was built with the functions of MPI-4.0: run it with Open MPI")
    options = ("-shared", "-fPIC", "-Wl,--no-as-needed")  # it brings the MPI library along
    newer = compiled(mpicc(), Path(__file__).with_name("newer_library.c"), tmp_path, *options)
    words = start(str(newer)).err
    assert words.count("warning: ") == 1
    assert "the MPI library has 2 functions (MPI_All" in words
    assert WARNING in words


def test_the_library_of_the_build_has_no_such_functions():
    assert WARNING not in start().err
