"""Programs that end their CUDA contexts, above a driver (cuda_driver.cpp) that aborts where a dead handle is used."""

import pytest

from support import contexts, needs
from support.programs import INCLUDE, SOURCES, compiled, cxx, mpicc, succeed
from support.shim import clean_environment


@pytest.fixture(scope="module")
def program(binaries):
    headers = f"-isystem{needs.cuda_headers()}"
    driver = binaries / "libcuda.so.1"
    sources = [SOURCES / "cuda_driver.cpp", INCLUDE / "pack/kernels.cpp"]
    options = ("-std=c++20", "-O1", "-g", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{INCLUDE}", headers)
    command = [cxx(), *options, *map(str, sources), "-Wl,-soname,libcuda.so.1", "-o", str(driver)]
    succeed(command, clean_environment(), timeout=300)
    options = ("-DWITHOUT_CUDART", headers, "-pthread", str(driver), f"-Wl,-rpath,{binaries}")
    return compiled(mpicc(), "contexts.c", binaries, *options)


@pytest.mark.sample(6)
@pytest.mark.parametrize("way", contexts.WAYS)
@pytest.mark.parametrize("situation", [*contexts.IN_A_JOB, contexts.SEVERAL_GPUS])
def test_ranks_whose_context_ends(program, situation, way):
    contexts.check_in_a_job(program, situation, way)


@pytest.mark.parametrize("way", contexts.WAYS)
@pytest.mark.parametrize("situation", contexts.ALONE)
def test_a_process_that_ends_within_a_call(program, situation, way):
    contexts.check_alone(program, situation, way)


@pytest.mark.usefixtures("thread_multiple")
@pytest.mark.parametrize("way", contexts.WAYS)
@pytest.mark.parametrize("progress", ["auto", "calls"])
def test_threads_that_end_before_and_after_the_context(program, way, progress):
    contexts.check_alone(program, contexts.THREADS, way, TEMPI_PROGRESS=progress)
