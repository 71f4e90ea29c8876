"""The compiler holds the table of functions against mpi.h, and every entry against the table."""

from pathlib import Path

import pytest

from support import mpi_functions, shim
from support.programs import INCLUDE, run

FLAGS = ("-x", "c++", "-std=c++20", "-fsyntax-only", "-DOMPI_SKIP_MPICXX=1", "-DMPICH_SKIP_MPICXX=1")
TABLE = INCLUDE / "base" / "functions.def"
# By error: the function, the text in its row, and its wrong replacement.
WRONG = {
    "a count where mpi.h has an int": ("MPI_Ssend", "int tag", "Count tag"),
    "an int where mpi.h has a count": ("MPI_Ssend_c", "Size count", "int count"),
    "an int where mpi.h has an address": ("MPI_Type_create_hvector", "Aint stride", "int stride"),
    "a handle where mpi.h has an address": ("MPI_Recv", "void* buffer", "Handle buffer"),
    "an address where mpi.h has a value": ("MPI_Startall", "int count", "int* count"),
    "an address of another type": ("MPI_Comm_rank", "int* rank", "Count* rank"),
    "one parameter less": ("MPI_Wait", ", MPI_Status* status", ""),
    "one parameter more": ("MPI_Cancel", "void* request", "void* request, int why"),
}
ENTRY = """
#include "interpose/entry.hpp"
TEMPI_ENTRY(MPI_Startall, (int count, {} requests), count == 0 || real.MPI_Start == nullptr)
"""


WITH_EACH_MPI = [
    pytest.param(compiler, wrong, id=f"{Path(compiler).name}-{wrong}")
    for compiler in mpi_functions.compilers()
    for wrong, (function, *_) in WRONG.items()
    if function in mpi_functions.declared(compiler)
]


@pytest.fixture(params=mpi_functions.compilers(), ids=lambda path: Path(path).name)
def compiler(request):
    return request.param


@pytest.fixture
def compiled(compiler, tmp_path):
    """Compiles a source file against mpi.h and a table with one function's row changed."""
    declared = mpi_functions.declared(compiler)
    config = (f"#define TEMPI_HAVE_{name} {int(name in declared)}\n" for name in mpi_functions.rows())
    (tmp_path / "mpi_config.h").write_text("".join(config))

    def compile_with(source, function="", have="", others=""):
        lines = TABLE.read_text().splitlines()
        row = next((i for i, line in enumerate(lines) if f"({function.removesuffix('_c')}, " in line), 0)
        assert have in lines[row]
        lines[row] = lines[row].replace(have, others) if function else lines[row]
        (tmp_path / "base").mkdir(exist_ok=True)
        (tmp_path / "base" / "functions.def").write_text("\n".join(lines) + "\n")
        return run([compiler, *FLAGS, f"-I{tmp_path}", f"-I{INCLUDE}", str(source)], shim.clean_environment())

    return compile_with


def test_every_row_agrees_with_the_header(compiled):
    done = compiled(INCLUDE / "mpi" / "signatures.cpp")
    assert done.code == 0, done.text


@pytest.mark.sample(2)
@pytest.mark.parametrize(("compiler", "wrong"), WITH_EACH_MPI, indirect=["compiler"])
def test_a_row_that_disagrees_with_the_header_does_not_compile(compiled, wrong):
    function, have, others = WRONG[wrong]
    done = compiled(INCLUDE / "mpi" / "signatures.cpp", function, have, others)
    assert done.code != 0
    assert f"{function}: base/functions.def has other parameters than mpi.h" in done.err


@pytest.mark.parametrize(("parameter", "compiles"), [("void*", True), ("Handle", False)])
def test_an_entry_must_have_the_parameters_of_its_row(compiled, tmp_path, parameter, compiles):
    source = tmp_path / "entry.cpp"
    source.write_text(ENTRY.format(parameter.replace("Handle", "::tempi::Handle")))
    done = compiled(source)
    assert (done.code == 0) == compiles, done.text
    assert compiles or "MPI_Startall: the entry has other parameters than its row" in done.err
