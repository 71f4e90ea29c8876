"""The exported symbols and the dependencies of libtempi.so."""

import re

import pytest

from support import mpi_functions, shim
from support.programs import mpi_of, succeed


def dynamic_symbols(library):
    """Names that a library defines for others."""
    lines = succeed(["nm", "-D", "--defined-only", str(library)], shim.clean_environment()).out.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if line.split()[-2] != "A"}


@pytest.fixture(scope="module")
def table():
    return mpi_functions.has_rows()


def test_exports_are_exactly_the_table(table, pack_types):
    assert table
    library = dynamic_symbols(mpi_of(pack_types))
    both = {prefix + name for name in table for prefix in ("", "P")}
    own = {"tempi_api", "tempi_mpix", "dlsym", "tempi_after_free", "TEMPI_Set_stream", "TEMPI_Get_stream"}
    own |= {"TEMPI_Startall_enqueue", "TEMPI_Waitall_enqueue"}
    own |= {"TEMPI_Startall_enqueue_fortran", "TEMPI_Waitall_enqueue_fortran"}
    own |= {"TEMPI_Prequest_create", "TEMPI_Prequest_free"}
    assert dynamic_symbols(shim.path()) == (both & library) | own


def test_never_exports_what_mpi4py_recognises_a_library_by(table):
    forbidden = re.compile(r"P?MPI_(Get_version|Get_library_version|Abi_\w+)$")
    assert not [name for name in dynamic_symbols(shim.path()) if forbidden.match(name)]


def test_needs_no_mpi_no_cuda_and_no_cpp_runtime():
    dynamic = succeed(["readelf", "-d", str(shim.path())], shim.clean_environment()).out
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert needed
    allowed = ("libc.so", "libdl.so", "libpthread.so", "libm.so", "librt.so", "ld-linux", "libgcc_s")
    if shim.is_sanitized():
        allowed += ("libasan", "libubsan", "libtsan", "libstdc++")
    assert [name for name in needed if not name.startswith(allowed)] == []
