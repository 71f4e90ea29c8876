"""Benchmarks that a machine or an MPI library cannot run end with one sentence."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support import gpu_memory, shim
from support.programs import run

ROOT = Path(__file__).resolve().parents[2]


def error_of(name, *arguments):
    done = run([sys.executable, "-m", "tempi", "bench", name, *arguments], shim.clean_environment(), cwd=ROOT)
    assert done.code == 1, done.text
    assert "Traceback" not in done.text
    return done.err.strip()


@pytest.mark.parametrize("name", ["collectives", "reduction", "progress", "sequence"])
def test_a_missing_gpu_or_cupy_is_told_in_one_sentence(tmp_path, name):
    if gpu_memory.gpu_count() == 0:
        wanted = "Error: this benchmark needs a GPU; this machine has none"
    elif find_spec("cupy") is None:
        wanted = "Error: this benchmark needs CuPy: pip install cupy-cuda12x"
    else:
        pytest.skip("this machine has a GPU and CuPy: run it on one without")
    assert error_of(name, "--out", str(tmp_path)) == wanted


def test_an_mpi_without_partitioned_messages_is_told_in_one_sentence(tmp_path):
    compiler = tmp_path / "mpicc"
    compiler.write_text("#!/bin/sh\necho \"error: 'MPI_Psend_init' was not declared in this scope\" >&2\nexit 1\n")
    compiler.chmod(0o755)
    said = error_of("partitioned", "--mpicc", str(compiler), "--out", str(tmp_path))
    assert said == f"Error: the MPI library of {compiler} has no MPI_Psend_init: take a library with MPI 4.0"
