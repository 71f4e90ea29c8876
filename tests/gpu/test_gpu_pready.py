"""Kernels make the partitions of a message ready: include/tempi_device.h in a CUDA program."""

import subprocess
from pathlib import Path

import pytest

from support import gpu_memory, needs, shim
from support.programs import INCLUDE, mpicc, mpirun, succeed, tool

pytestmark = [needs.function("Psend_init"), pytest.mark.skipif(not tool("nvcc"), reason="no nvcc")]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("pready") / "pready_device"
    source = Path(__file__).parent / "pready_device.cu"
    flags = subprocess.run([mpicc(), "-show"], check=True, capture_output=True, text=True).stdout.split()[1:]
    passed = [part if part.startswith(("-I", "-L", "-l")) else f"-Xcompiler={part}" for part in flags]
    command = [tool("nvcc"), f"-I{INCLUDE.parent / 'include'}", source, "-o", path, *passed]
    succeed(list(map(str, command)), shim.clean_environment())
    return path


@pytest.mark.parametrize("n_gpus", [1, 2])
def test_partitions_that_a_kernel_makes_ready(program, n_gpus):
    if gpu_memory.gpu_count() < n_gpus:
        pytest.skip(f"needs {n_gpus} GPU(s), this machine has {gpu_memory.gpu_count()}: run it on one that has")
    variables = {"LD_PRELOAD": shim.preload(), "CUDA_VISIBLE_DEVICES": ",".join(map(str, range(n_gpus)))}
    assert mpirun(2, program, shim.clean_environment() | variables).out == "wrong 0\n"
