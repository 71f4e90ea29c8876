"""CUDA streams of the program, above a driver without a GPU that aborts where a dead handle is used."""

from pathlib import Path

import pytest

from support import needs
from support.programs import INCLUDE, SOURCES, compiled, cxx, mpicc, mpirun, succeed
from support.shim import clean_environment, preloaded

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("driver")
    headers = f"-isystem{needs.cuda_headers()}"
    driver = folder / "libcuda.so.1"
    sources = [SOURCES / "cuda_driver.cpp", INCLUDE / "pack/kernels.cpp"]
    options = ("-std=c++20", "-O1", "-g", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{INCLUDE}", headers)
    command = [cxx(), *options, *map(str, sources), "-Wl,-soname,libcuda.so.1", "-o", str(driver)]
    succeed(command, clean_environment(), timeout=300)
    options = (headers, f"-I{INCLUDE.parent / 'include'}", str(driver), f"-Wl,-rpath,{folder}", "-ldl")
    return compiled(mpicc(), HERE / "streams_of_contexts.c", folder, *options)


@pytest.mark.parametrize("environment", [{}, {"TEMPI_STREAM": "legacy"}, {"TEMPI_STRATEGY": "oneshot"}], ids=str)
def test_streams_of_contexts_that_end(program, environment):
    done = mpirun(1, program, preloaded(**environment))
    assert done.out == "all is right\n"
