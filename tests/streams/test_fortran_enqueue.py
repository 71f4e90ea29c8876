"""Enqueued exchanges from Fortran: `use mpi` and `use mpi_f08`."""

from pathlib import Path

import pytest

from support import needs, shim
from support.programs import INCLUDE, compiled, mpicc, mpirun, succeed

HERE = Path(__file__).parent
SEND = HERE.parent / "send"
MODULE = HERE.parents[1] / "include" / "tempi.f90"
FAKE = {"TEMPI_DEVICE": "fake", "TEMPI_REPORT": "1"}


@pytest.fixture(scope="module", params=["usempi", "f08"])
def program(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fortran")
    compiler, c_compiler, clean = needs.fortran_compiler(), mpicc(), shim.clean_environment()
    made, helper = folder / request.param, folder / "memory.o"
    succeed([c_compiler, "-c", str(SEND / "exchange_memory.c"), "-o", str(helper), f"-I{INCLUDE}"], clean)
    sources = [str(MODULE), str(SEND / "exchange_memory.f90"), str(HERE / f"enqueue_{request.param}.f90")]
    flags = ["-fallow-argument-mismatch", f"-J{folder}"]
    succeed([compiler, "-g", *flags, *sources, str(helper), "-ldl", "-o", str(made)], clean)
    needs.one_mpi(made, compiled(c_compiler, "pack_types.c", folder))
    return made


@pytest.mark.parametrize("n_ranks", [1, 2])
def test_gpu_memory(program, n_ranks, monkeypatch):
    monkeypatch.setenv("TESTS_FORTRAN_KIND", "device")
    done = mpirun(n_ranks, program, shim.preloaded(**FAKE))
    assert done.out.strip() == "ok"
    assert "enqueued exchanges" in done.err


def test_host_memory(program, monkeypatch):
    """The CPU carries the exchanges out."""
    monkeypatch.delenv("TESTS_FORTRAN_KIND", raising=False)
    done = mpirun(2, program, shim.preloaded(**FAKE))
    assert done.out.strip() == "ok"
    assert "enqueued exchanges without a channel, for which the CPU waited" in done.err


@pytest.mark.parametrize("how", [shim.clean_environment, lambda: shim.preloaded(TEMPI_DISABLE="1")], ids=["no", "off"])
def test_without_tempi(program, how):
    assert mpirun(2, program, how()).out.strip() == "not loaded"
