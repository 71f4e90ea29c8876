"""MPICH's stream extensions (tempi_mpix.h) on two GPUs."""

from pathlib import Path

import pytest

from support import gpu_memory, needs, shim
from support.programs import compiled, mpicc, mpirun

pytestmark = pytest.mark.two_gpus
HERE = Path(__file__).parent
WAYS = {"channels": {"TEMPI_NO_DIRECT": "0"}, "by the CPU": {}, "by the thread": {"TEMPI_PROGRESS": "thread"}}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if gpu_memory.gpu_count() < 2:
        pytest.skip("needs 2 GPUs: ranks that share one have no channel")
    options = (f"-isystem{needs.cuda_headers()}", f"-I{HERE.parents[1]}/include", f"-L{needs.cuda_runtime()}")
    libraries = ("-lcudart_static", str(needs.cuda_driver()), "-lpthread", "-ldl", "-lrt")
    return compiled(mpicc(), HERE / "mpix.c", tmp_path_factory.mktemp("mpix"), *options, *libraries)


@pytest.mark.parametrize("way", WAYS)
def test_messages_and_reductions(program, way):
    assert mpirun(2, program, shim.preloaded(**WAYS[way]), timeout=120).out == "right\n"


@needs.function("Allreduce_init")
def test_they_have_channels(program):
    errors = mpirun(2, program, shim.preloaded(TEMPI_NO_DIRECT="0", TEMPI_REPORT="1"), timeout=120).err
    assert "enqueued exchanges: kernels of two GPUs" in errors
    assert "for which the CPU waited" not in errors
