"""Requirements that not every MPI, machine or run meets: a skipped test says what is missing and what to do."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from support import defects, effort, gpu_memory, memory, p2p, programs, shim

_ASK_LEVEL = "from mpi4py import MPI; print(MPI.Query_thread() == MPI.THREAD_MULTIPLE)"


def _unless(is_met: bool, reason: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not is_met, reason=reason)


# ---- the MPI library


def function(name: str) -> pytest.MarkDecorator:
    """A function of a newer MPI standard."""
    return _unless(p2p.has(name), f"this MPI has no MPI_{name}: take one of a newer standard")


def open_mpi(why: str = "the job's name is read from PMIX_NAMESPACE") -> pytest.MarkDecorator:
    return _unless(defects.library_name() == "openmpi", f"{why}: run it with Open MPI")


def newer_than_mpich_4_0(why: str) -> pytest.MarkDecorator:
    return _unless(not defects.is_mpich_4_0(), f"{why}: run it with another MPI than MPICH 4.0")


def own_abi(why: str) -> pytest.MarkDecorator:
    return _unless(not defects.is_standard_abi(), f"{why}: run it with another MPI than mpiabi")


def mpich(version: str) -> pytest.MarkDecorator:
    """That very version, whose defects are known."""
    is_it = f"MPICH Version:      {version}" in p2p.MPI.Get_library_version()
    return _unless(is_it, f"is about defects of MPICH {version}: run it with that")


@cache
def has_thread_multiple() -> bool:
    """Asked without the shim: a shim that lowers the level must not leave out the tests that would tell."""
    return programs.succeed([sys.executable, "-c", _ASK_LEVEL], shim.clean_environment()).out.strip() == "True"


def thread_multiple() -> None:
    if not has_thread_multiple():
        pytest.skip("this MPI has no MPI_THREAD_MULTIPLE: take one that was built with threads")


# ---- compilers and packages


def fortran_compiler() -> str:
    found = programs.fortran_compiler()
    return found or pytest.skip("no mpifort that works: apt-get install gfortran, or name one with MPIFC")


def one_mpi(fortran_program: Path, c_program: Path) -> None:
    if programs.mpi_of(fortran_program) != programs.mpi_of(c_program):
        pytest.skip("mpifort is of another MPI than mpicc: name mpicc's with MPIFC")


def compiler_of(mpi: str) -> pytest.MarkDecorator:
    """Debian's, of an MPI beside the one at hand."""
    return _unless(bool(programs.tool(f"mpicc.{mpi}")), f"no mpicc.{mpi}: apt-get install lib{mpi}-dev")


def nvtx() -> pytest.MarkDecorator:
    """Ranges in the shim, and a compiler that knows where their header is."""
    is_there = b"InitializeInjectionNvtx2" in shim.path().read_bytes() and bool(programs.tool("nvcc"))
    return _unless(is_there, "no nvcc, or a shim that was built without it: install the CUDA toolkit, and build again")


def cuda_headers() -> Path:
    """Their folder."""
    nvcc = Path(shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    for toolkit in (nvcc.resolve().parent.parent, Path("/usr/local/cuda")):
        if (toolkit / "include" / "cuda.h").exists():
            return toolkit / "include"
    pytest.skip("no cuda.h beside nvcc, nor in /usr/local/cuda: install the CUDA toolkit")


def cuda_driver() -> Path:
    """The driver's library, wherever the loader finds it."""
    if gpu_memory.gpu_count() == 0:
        pytest.skip("no CUDA driver: run it on a machine that has one")
    with open("/proc/self/maps") as maps:
        return next(Path(line.split()[-1]) for line in maps if "libcuda.so" in line)


def cuda_runtime() -> Path:
    """The folder of its static library."""
    toolkit = cuda_headers().parent
    for folder in (toolkit / "lib64", toolkit / "lib", *toolkit.glob("targets/*/lib")):
        if (folder / "libcudart_static.a").exists():
            return folder
    pytest.skip("no libcudart_static.a in the CUDA toolkit: install all of it")


def numba() -> pytest.MarkDecorator:
    return _unless(importlib.util.find_spec("numba") is not None, "needs Numba: pip install numba numba-cuda")


def numba_cuda() -> ModuleType:
    return pytest.importorskip("numba.cuda", reason="needs Numba: pip install numba numba-cuda")  # type: ignore[no-any-return]


def torch() -> pytest.MarkDecorator:
    return _unless(importlib.util.find_spec("torch") is not None, "needs PyTorch: pip install torch")


def jax() -> pytest.MarkDecorator:
    return _unless(importlib.util.find_spec("jax") is not None, "needs JAX: pip install jax")


def lmod() -> str:
    """Its command."""
    found = os.environ.get("LMOD_CMD") or "/usr/share/lmod/lmod/libexec/lmod"
    return found if Path(found).exists() else pytest.skip("no Lmod: apt-get install lmod")


# ---- GPUs


def gpus(count: int) -> pytest.MarkDecorator:
    found = gpu_memory.gpu_count()
    return _unless(found >= count, f"needs {count} GPU(s), this machine has {found}: run it on one that has")


def cupy() -> pytest.MarkDecorator:
    is_there = importlib.util.find_spec("cupy") is not None
    return _unless(is_there, "needs CuPy: pip install cupy-cuda12x or cupy-cuda13x")


def free_gpu_memory(gib: int, free_bytes: int) -> None:
    if free_bytes < gib << 30:
        free = f"{free_bytes / (1 << 30):.1f}"
        pytest.skip(f"needs {gib} GiB of GPU memory, of which {free} are free: end what else uses the GPU")


def fake_device(why: str) -> pytest.MarkDecorator:
    return _unless(not memory.on_real_gpu(), f"{why}: run it without TESTS_MEMORY=gpu")


def real_gpu(why: str) -> pytest.MarkDecorator:
    return _unless(memory.on_real_gpu(), f"{why}: run it with TESTS_MEMORY=gpu")


# ---- the run


def root(why: str) -> pytest.MarkDecorator:
    return _unless(os.geteuid() == 0, f"{why}, which takes root: run it as root, for example in a container")


def no_sanitizer(why: str) -> pytest.MarkDecorator:
    return _unless(not shim.is_sanitized(), f"{why}: run it without TESTS_PRELOAD_FIRST")


def full_effort(why: str) -> pytest.MarkDecorator:
    return _unless(effort.IS_FULL, f"{why}: run it with TESTS_EFFORT=full")


def wheel() -> pytest.MarkDecorator:
    return _unless(bool(os.environ.get("TESTS_WHEEL")), "no wheel in TESTS_WHEEL: make test-wheel")


def hosts(why_not: str | None) -> None:
    """Namespaces of this machine that stand for nodes (tests/nodes/hosts.py)."""
    if why_not:
        pytest.skip(why_not)
