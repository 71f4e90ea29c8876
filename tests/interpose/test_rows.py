"""Every function of mpi.h that can block has a row, and the table names no others."""

from pathlib import Path

import pytest

from support import mpi_functions


@pytest.fixture(scope="module", params=mpi_functions.compilers(), ids=lambda path: Path(path).name)
def compiler(request):
    return request.param


@pytest.fixture(scope="module")
def functions(compiler):
    return mpi_functions.declared(compiler)


def test_header_declares_functions(functions):
    assert {"MPI_Send", "MPI_Comm_shrink", "MPI_Barrier"} - functions <= {"MPI_Comm_shrink"}
    assert len(functions) > 350


def test_every_function_is_classified(functions):
    unknown = sorted(f for f in functions - mpi_functions.has_rows() if not mpi_functions.is_local(f))
    assert not unknown, "functions that can block need a row in passed.def, others are for the table of local ones"


def test_no_function_is_both_local_and_blocking():
    rows = mpi_functions.rows()
    assert [f for f, row in rows.items() if row.kind == "PASSED" and mpi_functions.is_local(f)] == []


def test_each_header_declares_all_of_its_version(functions, compiler):
    """Misspelled names and wrong versions: a row whose function no mpi.h declares would be left out silently."""
    version = mpi_functions.standard_of(compiler)
    promised = {name for name, row in mpi_functions.rows().items() if row.since and row.since <= version}
    assert len(promised) > 150
    assert sorted(promised - functions) == []
