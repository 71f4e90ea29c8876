"""Functions of CUDA that wait for a stream, while an exchange of this stream waits for the thread of TEMPI."""

from pathlib import Path

import pytest

from support import gpu_memory, needs, shim
from support.programs import INCLUDE, compiled, mpicc, mpirun

pytestmark = pytest.mark.two_gpus
BY_THREAD = {"TEMPI_PROGRESS": "thread", "TEMPI_NO_DIRECT": "1", "TEMPI_REPORT": "1"}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if gpu_memory.gpu_count() < 2:
        pytest.skip("needs 2 GPUs: if ranks share one, the CPU waits")
    source, libraries = Path(__file__).parent / "enqueue_and_copy.c", ("-lcudart_static", "-lpthread", "-ldl", "-lrt")
    options = (f"-isystem{needs.cuda_headers()}", f"-I{INCLUDE.parent / 'include'}", f"-L{needs.cuda_runtime()}")
    return compiled(mpicc(), source, tmp_path_factory.mktemp("copy"), *options, *libraries, "-lstdc++", "-lm")


@pytest.mark.parametrize("how", ["device", "pageable", "upload"])
def test_the_thread_ends_the_exchange(program, how):
    result = mpirun(2, program, shim.preloaded(**BY_THREAD), how, timeout=60)
    assert result.out == "right\n"
    assert "without a channel, by the thread of TEMPI" in result.err
