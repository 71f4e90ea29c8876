"""tempi.h and the Fortran module: programs as their users write them."""

from pathlib import Path

import pytest

from support import needs, shim
from support.programs import compiled, cxx, mpicc, mpirun, run, succeed

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "include"
FAKE = {"TEMPI_DEVICE": "fake"}
STRICT = ("-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", "-ldl")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(mpicc(), HERE / "fill_and_send.c", tmp_path_factory.mktemp("c"), "-std=c11", *STRICT)


@pytest.fixture(scope="module")
def fortran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fortran")
    program = folder / "set_stream"
    command = [needs.fortran_compiler(), "-o", str(program), str(INCLUDE / "tempi.f90"), str(HERE / "set_stream.f90")]
    succeed([*command, f"-J{folder}", "-ldl"], shim.clean_environment())
    return program


DIRECT = {"TEMPI_NO_DIRECT": "0", "TEMPI_MATCH_TIMEOUT": "20000"}
PATHS = ({}, DIRECT, {"TEMPI_PROGRESS": "thread"}, {"TEMPI_VERIFY": "1"})
WITHOUT = {"absent": shim.clean_environment, "off": lambda: shim.preloaded(TEMPI_DISABLE="1")}


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_a_c_program(program, path):
    assert mpirun(2, program, shim.preloaded(**FAKE, **path)).out == "24 rounds are right\n"


def test_the_report_counts_what_is_ordered(program):
    errors = mpirun(2, program, shim.preloaded(**FAKE, TEMPI_REPORT="1")).err
    assert "queued in the program's stream" in errors
    assert "buffers that a GPU reads or writes after the program's stream" in errors


@pytest.mark.parametrize("how", WITHOUT)
def test_a_c_program_without_tempi(program, how):
    assert mpirun(2, program, WITHOUT[how]()).out == "not loaded\n"


def test_the_fortran_module(fortran):
    """Without a launcher, which may be of another MPI than mpifort."""
    assert succeed([str(fortran)], shim.preloaded(**FAKE)).out == "set and taken back\n"
    assert succeed([str(fortran)], shim.clean_environment()).out == "not loaded\n"


@pytest.mark.parametrize("compiler", [["cc", "-xc", "-std=c11"], [cxx(), "-xc++", "-std=c++11"]], ids=["C", "C++"])
def test_the_header_is_correct_beside_cudas(compiler, tmp_path):
    """Alone, and behind and before the header of the CUDA toolkit, if there is one."""
    strict = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", f"-I{INCLUDE}"]
    compile_ = lambda text, *more: run(  # noqa: E731
        [*compiler, *strict, *more, str(_written(tmp_path / "use.c", text))], shim.clean_environment()
    )
    use = "int main(void) { cudaStream_t s; return TEMPI_Set_stream(TEMPI_STREAM_NONE) + TEMPI_Get_stream(&s); }\n"
    done = compile_("#include <tempi.h>\n" + use)
    assert done.code == 0, done.err
    toolkit = needs.cuda_headers()
    for order in (("tempi.h", "cuda_runtime_api.h"), ("cuda_runtime_api.h", "tempi.h")):
        done = compile_("".join(f"#include <{name}>\n" for name in order) + use, "-isystem", str(toolkit))
        assert done.code == 0, done.err


def _written(path, text):
    path.write_text(text)
    return path
