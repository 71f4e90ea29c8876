"""Requirements of tests that not every MPI or machine meets: the test is skipped, and says what to do."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import pytest

from support import p2p, programs, shim

_ASK_LEVEL = "from mpi4py import MPI; print(MPI.Query_thread() == MPI.THREAD_MULTIPLE)"


def function(name: str) -> pytest.MarkDecorator:
    """A function of a newer MPI standard."""
    return pytest.mark.skipif(not p2p.has(name), reason=f"this MPI has no MPI_{name}: take one of a newer standard")


def open_mpi() -> pytest.MarkDecorator:
    """The launcher's name of the job in the environment of its ranks."""
    is_other = p2p.MPI.get_vendor()[0] != "Open MPI"
    return pytest.mark.skipif(is_other, reason="the job's name is read from PMIX_NAMESPACE: run it with Open MPI")


@cache
def has_thread_multiple() -> bool:
    """Asked without the shim: a shim that lowers the level must not leave out the tests that would tell."""
    return programs.succeed([sys.executable, "-c", _ASK_LEVEL], shim.clean_environment()).out.strip() == "True"


def fortran_compiler() -> str:
    found = programs.fortran_compiler()
    return found or pytest.skip("no mpifort that works: apt-get install gfortran, or name one with MPIFC")


def one_mpi(fortran_program: Path, c_program: Path) -> None:
    if programs.mpi_of(fortran_program) != programs.mpi_of(c_program):
        pytest.skip("mpifort is of another MPI than mpicc: name mpicc's with MPIFC")


def hosts(why_not: str | None) -> None:
    """Namespaces of this machine that stand for nodes (tests/nodes/hosts.py)."""
    if why_not:
        pytest.skip(why_not)
