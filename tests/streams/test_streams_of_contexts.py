"""CUDA streams of the program, above a driver without a GPU that aborts where a dead handle is used."""

from pathlib import Path

import pytest

from support import needs
from support.programs import INCLUDE, compiled, mpicc, mpirun
from support.shim import preloaded

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def program(cuda_driver):
    folder, headers = cuda_driver.parent, f"-isystem{needs.cuda_headers()}"
    options = (headers, f"-I{INCLUDE.parent / 'include'}", str(cuda_driver), f"-Wl,-rpath,{folder}", "-ldl")
    return compiled(mpicc(), HERE / "streams_of_contexts.c", folder, *options)


@pytest.mark.parametrize("environment", [{}, {"TEMPI_STREAM": "legacy"}, {"TEMPI_STRATEGY": "oneshot"}], ids=str)
def test_streams_of_contexts_that_end(program, environment):
    done = mpirun(1, program, preloaded(**environment))
    assert done.out == "all is right\n"
