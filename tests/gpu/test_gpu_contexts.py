"""Programs that end their CUDA contexts: interpose/contexts.c above the real driver."""

import pytest

from support import contexts, needs
from support.programs import compiled, mpicc


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    options = (f"-isystem{needs.cuda_headers()}", "-pthread", f"-L{needs.cuda_runtime()}")
    libraries = ("-lcudart_static", str(needs.cuda_driver()), "-ldl", "-lrt")
    return compiled(mpicc(), "contexts.c", tmp_path_factory.mktemp("contexts"), *options, *libraries)


@pytest.mark.parametrize("way", contexts.WAYS)
@pytest.mark.parametrize("situation", contexts.IN_A_JOB)
def test_ranks_whose_context_ends(program, situation, way):
    contexts.check_in_a_job(program, situation, way)


def test_two_contexts_of_one_gpu(program):
    contexts.check_in_a_job(program, contexts.SEVERAL_GPUS, "created")


@pytest.mark.two_gpus
@pytest.mark.parametrize("way", contexts.WAYS)
def test_contexts_of_several_gpus(program, way):
    contexts.check_in_a_job(program, contexts.SEVERAL_GPUS, way)


@pytest.mark.parametrize("way", contexts.WAYS)
@pytest.mark.parametrize("situation", contexts.ALONE)
def test_a_process_that_ends_within_a_call(program, situation, way):
    contexts.check_alone(program, situation, way)


@pytest.mark.usefixtures("thread_multiple")
@pytest.mark.parametrize("way", contexts.WAYS)
def test_threads_that_end_before_and_after_the_context(program, way):
    contexts.check_alone(program, contexts.THREADS, way)
