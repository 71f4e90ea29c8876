"""Fortran programs, threads, and programs of another MPI."""

import pytest

from support import shim
from support.programs import compiled, fortran_compiler, mpi_of, mpirun, succeed, tool


@pytest.fixture(params=["mpifh", "usempi", "f08"])
def fortran(request, binaries, pack_types):
    compiler = fortran_compiler()
    if compiler is None:
        pytest.skip("no mpifort")
    flags = ["-fallow-argument-mismatch"] if request.param == "mpifh" else []
    program = compiled(compiler, f"pack_{request.param}.f90", binaries, *flags)
    if mpi_of(program) != mpi_of(pack_types):
        pytest.skip("mpifort is of another MPI than mpicc")
    return program


def test_fortran_program_is_intercepted(fortran):
    assert succeed([str(fortran)], shim.clean_environment()).out.strip() == "ok"
    reported = succeed([str(fortran)], shim.preloaded(TEMPI_REPORT="1"))
    assert "ok" in reported.out
    for function in ("MPI_Type_commit", "MPI_Pack", "MPI_Unpack"):
        assert function in reported.text


@pytest.mark.parametrize("memory", ["host", "fake"])
def test_threads_pack_at_the_same_time(binaries, memory):
    program = compiled(tool("mpicc", "MPICC"), "threads.c", binaries, "-pthread", "-ldl")
    output = succeed([str(program), memory], shim.preloaded(TEMPI_DEVICE="fake"))
    if output.out.strip() == "no threads":
        pytest.skip("this MPI has no MPI_THREAD_MULTIPLE")
    assert output.out.strip() == "ok"


@pytest.mark.parametrize("progress", ["auto", "calls"])
def test_threads_send_at_the_same_time(binaries, progress):
    program = compiled(tool("mpicc", "MPICC"), "threads_send.c", binaries, "-pthread", "-ldl")
    output = succeed([str(program)], shim.preloaded(TEMPI_DEVICE="fake", TEMPI_PROGRESS=progress))
    if output.out.strip() == "no threads":
        pytest.skip("this MPI has no MPI_THREAD_MULTIPLE")
    assert output.out.strip() == "ok"


def test_a_send_does_not_overtake_one_that_is_being_started(binaries):
    """Neither of those of other threads: a message counts as pending until MPI_Start has returned."""
    compiler = tool("mpicc", "MPICC")
    program = compiled(compiler, "overtaking.c", binaries, "-pthread", "-ldl")
    tool_below = compiled(compiler, "slow_start_tool.c", binaries, "-shared", "-fPIC", "-ldl")
    environment = shim.preloaded(TEMPI_DEVICE="fake")
    environment["LD_PRELOAD"] += f" {tool_below}"
    output = mpirun(2, program, environment)
    if "no threads" in output.out:
        pytest.skip("this MPI has no MPI_THREAD_MULTIPLE")
    assert output.out.strip() == "ok"


OTHERS = ("mpicc.openmpi", "mpicc.mpich")


def family(library):
    return "openmpi" if library.rsplit("/", 1)[-1].startswith("libmpi.so.40") else "mpich"


@pytest.mark.parametrize("compiler", OTHERS)
def test_shim_of_another_mpi_says_so_in_one_line_and_passes_through(compiler, binaries, pack_types):
    program = compiled(tool(compiler), "pack_types.c", binaries)
    if family(mpi_of(program)) == family(mpi_of(pack_types)):
        pytest.skip("the same MPI ABI")
    alone = succeed([str(program)], shim.clean_environment())
    foreign = succeed([str(program)], shim.preloaded())
    assert foreign.out == alone.out
    added = [line for line in foreign.err.splitlines() if line not in alone.err.splitlines()]
    assert len(added) == 1
    assert "tempi" in added[0].lower()
