"""Kernels make the partitions of a message ready: include/tempi_device.h in a CUDA program."""

import subprocess
from pathlib import Path

import pytest

from support import gpu_memory, needs, shim
from support.programs import INCLUDE, mpicc, mpirun, succeed, tool

NO_NVCC = "nvcc compiles the program: install the CUDA toolkit"
pytestmark = [needs.function("Psend_init"), pytest.mark.skipif(not tool("nvcc"), reason=NO_NVCC)]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path, object_file = (tmp_path_factory.mktemp("pready") / name for name in ("pready_device", "pready_device.o"))
    source, environment = Path(__file__).parent / "pready_device.cu", shim.clean_environment()
    shown = subprocess.run([mpicc(), "-show"], check=True, capture_output=True, text=True).stdout.split()
    includes = [f"-I{INCLUDE.parent / 'include'}", *(word for word in shown if word.startswith("-I"))]
    succeed([str(tool("nvcc")), *includes, "-c", str(source), "-o", str(object_file)], environment)
    libraries = (f"-L{needs.cuda_runtime()}", "-lcudart_static", "-lstdc++", "-lrt", "-lpthread", "-ldl")
    succeed([mpicc(), str(object_file), "-o", str(path), *libraries], environment)
    return path


@pytest.mark.parametrize("n_gpus", [1, 2])
def test_partitions_that_a_kernel_makes_ready(program, n_gpus):
    if gpu_memory.gpu_count() < n_gpus:
        pytest.skip(f"needs {n_gpus} GPU(s), this machine has {gpu_memory.gpu_count()}: run it on one that has")
    variables = {"LD_PRELOAD": shim.preload(), "CUDA_VISIBLE_DEVICES": ",".join(map(str, range(n_gpus)))}
    assert mpirun(2, program, shim.clean_environment() | variables).out == "wrong 0\n"
