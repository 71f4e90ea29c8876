"""Older tools than TEMPI needs are refused when it is configured."""

import os
from pathlib import Path

import pytest

from support.programs import run, tool

ROOT = Path(__file__).resolve().parents[2]
MPI_H = """
#define OPEN_MPI 1
#define OMPI_MAJOR_VERSION 1
#define OMPI_MINOR_VERSION 8
#define OMPI_RELEASE_VERSION 8
#define MPI_VERSION 3
#define MPI_SUBVERSION 0
"""
NVCC = """#!/bin/sh
case "$*" in
*--version*) echo "Cuda compilation tools, release {0}, V{0}.0" ;;
*) echo "#$ TOP=$(dirname "$0")/.." >&2 ;;
esac
"""


def configured(folder, *options):
    """The messages of CMake, which must fail."""
    cmake = tool("cmake") or pytest.skip("no cmake: pip install cmake")
    done = run([cmake, "-S", str(ROOT), "-B", str(folder / "build"), *options], dict(os.environ))
    assert done.code != 0
    return " ".join(done.text.split())


def with_cuda(version, folder):
    """With a toolkit that has nothing but this version."""
    for name in ("include/cuda.h", "include/cuda_runtime.h", "lib64/libcudart.so", "bin/nvcc"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch(mode=0o755)
    (folder / "bin" / "nvcc").write_text(NVCC.format(version))
    return configured(folder, "-DTEMPI_CUDA=ON", f"-DCUDAToolkit_ROOT={folder}")


def test_cuda_11(tmp_path):
    assert "no nvcc of CUDA 12.0 or newer was found" in with_cuda("11.8", tmp_path)


def test_cuda_12_is_taken_and_asked_for_its_gpus(tmp_path):
    assert "none of the GPU architectures" in with_cuda("12.0", tmp_path)


def test_mpi_3_0(tmp_path):
    (tmp_path / "mpi.h").write_text(MPI_H)
    text = configured(tmp_path, "-DTEMPI_CUDA=OFF", f"-DTEMPI_MPI_INCLUDE_DIRS={tmp_path}")
    assert "Open MPI 1.8.8 has MPI 3.0, TEMPI needs MPI 3.1 or newer" in text
