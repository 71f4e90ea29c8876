"""examples/find_package: a program that is linked to an installed TEMPI."""

import os
import shutil
from pathlib import Path

import pytest

from support import needs, shim
from support.programs import mpicc, mpirun, run, succeed, tool

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "find_package"


@pytest.fixture(scope="module")
def cmake():
    return tool("cmake") or pytest.skip("no cmake: pip install cmake")


@pytest.fixture(scope="module")
def prefix(cmake, tmp_path_factory):
    """What `cmake --install` installs. The libraries are the installed package's: to compile them takes minutes."""
    build, prefix = tmp_path_factory.mktemp("build"), tmp_path_factory.mktemp("prefix")
    options = [f"-DMPI_C_COMPILER={mpicc()}", "-DTEMPI_CUDA=OFF"]
    succeed([cmake, "-S", str(ROOT), "-B", str(build), *options], dict(os.environ))
    for library in ("libtempi.so", "libtempi_mpi.so"):
        shutil.copy(shim.path().with_name(library), build)
    succeed([cmake, "--install", str(build), "--prefix", str(prefix)], dict(os.environ))
    return prefix


@pytest.mark.skipif("TESTS_SHIM" in os.environ, reason="is about the installed package: run it without TESTS_SHIM")
@needs.no_sanitizer("the example is linked to the shim")
def test_the_example_is_built_and_its_messages_are_seen(cmake, prefix, tmp_path):
    options = [f"-DCMAKE_PREFIX_PATH={prefix}", f"-DMPI_C_COMPILER={mpicc()}"]
    succeed([cmake, "-S", str(EXAMPLE), "-B", str(tmp_path), *options], dict(os.environ))
    succeed([cmake, "--build", str(tmp_path)], dict(os.environ))
    done = mpirun(2, tmp_path / "ring", shim.clean_environment() | {"TEMPI_REPORT": "1"})
    assert "0 of 1000 values are wrong" in done.out
    assert "tempi: report of 2 ranks" in done.err


def test_another_minor_version_is_refused(cmake, prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.24)\nproject(other LANGUAGES C)\nfind_package(tempi 0.2 REQUIRED)\n"
    )
    command = [cmake, "-S", str(tmp_path), "-B", str(tmp_path / "build"), f"-DCMAKE_PREFIX_PATH={prefix}"]
    done = run(command, dict(os.environ))
    assert done.code != 0
    assert "requested version" in done.text
