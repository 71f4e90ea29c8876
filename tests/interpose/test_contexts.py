"""Programs that end their CUDA contexts, above a driver (cuda_driver.cpp) that aborts where a dead handle is used."""

import pytest

from support import contexts, needs
from support.programs import compiled, mpicc


@pytest.fixture(scope="module")
def program(cuda_driver, binaries):
    headers = f"-isystem{needs.cuda_headers()}"
    options = ("-DWITHOUT_CUDART", headers, "-pthread", str(cuda_driver), f"-Wl,-rpath,{cuda_driver.parent}")
    return compiled(mpicc(), "contexts.c", binaries, *options)


@pytest.mark.sample(3)
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
