"""Large memory of a rank is free when cudaFree returns, though another rank has it mapped and makes no MPI call."""

from pathlib import Path

import pytest

from support import needs, shim
from support.programs import compiled, mpicc, mpirun

RUNTIMES = {"static": ("-lcudart_static", "-lpthread", "-ldl", "-lrt", "-lstdc++", "-lm"), "shared": ("-lcudart",)}
DIRECT = {"TEMPI_NO_DIRECT": "0"}


@pytest.fixture(params=RUNTIMES)
def program(request, tmp_path):
    options = (f"-isystem{needs.cuda_headers()}", f"-L{needs.cuda_runtime()}", f"-Wl,-rpath,{needs.cuda_runtime()}")
    return compiled(mpicc(), Path(__file__).parent / "large_frees.c", tmp_path, *options, *RUNTIMES[request.param])


def test_more_can_be_allocated_at_once(program):
    result = mpirun(2, program, shim.preloaded(**DIRECT, TEMPI_REPORT="1"), timeout=60)
    assert result.out == "right\n", result.text
    assert "taken: direct" in result.err


def test_nothing_is_given_back_without_a_limit(program):
    """The buffers are mapped, else the other test would show nothing."""
    assert mpirun(2, program, shim.preloaded(**DIRECT, TEMPI_FREED_LIMIT="-1"), "kept", timeout=60).out == "right\n"
