"""Messages of a vector type and collective calls from Fortran: mpif.h, `use mpi` and `use mpi_f08`."""

from pathlib import Path

import pytest

from support import memory, needs, shim
from support.messages import KINDS
from support.outcomes import is_gpu_memory, rows_of_report
from support.programs import INCLUDE, compiled, mpicc, mpirun, succeed

HERE = Path(__file__).parent
MESSAGES = ("MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv")
FORTRAN_KINDS = tuple(kind for kind in KINDS if kind != "device 1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fortran")


@pytest.fixture(scope="module", params=["mpifh", "usempi", "f08"])
def program(request, folder):
    compiler, c_compiler = needs.fortran_compiler(), mpicc()
    made, helper = folder / request.param, folder / "memory.o"
    clean = shim.clean_environment()
    succeed([c_compiler, "-c", str(HERE / "exchange_memory.c"), "-o", str(helper), f"-I{INCLUDE}"], clean)
    sources = [str(HERE / f"exchange_{part}.f90") for part in ("memory", request.param)]
    flags = ["-fallow-argument-mismatch", f"-J{folder}"]
    succeed([compiler, "-O1", "-g", *flags, *sources, str(helper), "-ldl", "-o", str(made)], clean)
    needs.one_mpi(made, compiled(c_compiler, "pack_types.c", folder))
    return made


def test_host_memory_without_the_shim(program):
    assert mpirun(2, program, shim.clean_environment()).out.strip() == "ok"


@pytest.mark.parametrize("kind", FORTRAN_KINDS)
def test_memory_of_every_kind(program, kind, monkeypatch):
    if kind != memory.HOST:
        monkeypatch.setenv("TESTS_FORTRAN_KIND", kind)
    done = mpirun(2, program, shim.preloaded(TEMPI_DEVICE="fake", TEMPI_REPORT="1"))
    assert done.out.strip() == "ok"
    path = (
        "taken: oneshot (packed in pinned host memory)"
        if is_gpu_memory(kind)
        else "passed on: library (handled by the MPI library)"
    )
    paths = {outcome for (call, outcome), _ in rows_of_report(done.err).items() if call in MESSAGES}
    assert paths == {path}
