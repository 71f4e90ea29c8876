"""Error handlers of the program that throw C++ exceptions, or jump: the call is left, and nothing of ours is lost."""

import pytest

from support import shim
from support.programs import compiled, mpicc, succeed

CPP = ("-std=c++17", "-DOMPI_SKIP_MPICXX=1", "-DMPICH_SKIP_MPICXX=1", "-lstdc++", "-ldl")
WAYS = pytest.mark.parametrize("way", ["throw", "jump"])


@pytest.fixture(scope="module")
def program(binaries):
    return compiled(mpicc(), "throwing.cpp", binaries, *CPP)


@WAYS
def test_the_library_lets_them_pass(program, way):
    assert succeed([str(program), way, "host"], shim.clean_environment()).out.strip() == "ok"


@WAYS
@pytest.mark.parametrize("options", [{}, {"TEMPI_DISABLE": "1"}, {"TEMPI_STRATEGY": "host"}, {"TEMPI_DEVICE": "fake"}])
def test_errors_of_host_memory(program, way, options):
    assert succeed([str(program), way, "host"], shim.preloaded(**options)).out.strip() == "ok"


@WAYS
@pytest.mark.parametrize("kind", ["device", "managed", "pinned"])
def test_errors_of_gpu_memory(program, way, kind):
    assert succeed([str(program), way, kind], shim.preloaded(TEMPI_DEVICE="fake")).out.strip() == "ok"


@WAYS
@pytest.mark.parametrize("kind", ["device", "managed"])
def test_errors_beside_direct_messages(program, way, kind):
    environment = shim.preloaded(TEMPI_DEVICE="fake", TEMPI_STRATEGY="direct", TEMPI_NO_DIRECT="0")
    assert succeed([str(program), way, kind], environment).out.strip() == "ok"
