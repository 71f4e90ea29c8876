"""Fortran programs, threads, and programs of another MPI."""

from pathlib import Path

import pytest

from support import needs, shim
from support.defects import library_name
from support.programs import compiled, mpi_of, mpicc, mpirun, succeed, tool


@pytest.fixture(params=["mpifh", "usempi", "f08"])
def fortran(request, binaries, pack_types):
    flags = ["-fallow-argument-mismatch"] if request.param == "mpifh" else []
    program = compiled(needs.fortran_compiler(), f"pack_{request.param}.f90", binaries, *flags)
    needs.one_mpi(program, pack_types)
    return program


def test_fortran_program_is_intercepted(fortran):
    assert succeed([str(fortran)], shim.clean_environment()).out.strip() == "ok"
    reported = succeed([str(fortran)], shim.preloaded(TEMPI_REPORT="1"))
    assert "ok" in reported.out
    for function in ("MPI_Type_commit", "MPI_Pack", "MPI_Unpack"):
        assert function in reported.text


@pytest.mark.usefixtures("thread_multiple")
@pytest.mark.parametrize("memory", ["host", "fake"])
def test_threads_pack_at_the_same_time(binaries, memory):
    program = compiled(mpicc(), "threads.c", binaries, "-pthread", "-ldl")
    output = succeed([str(program), memory], shim.preloaded(TEMPI_DEVICE="fake"))
    assert output.out.strip() == "ok"


@pytest.mark.usefixtures("thread_multiple")
@pytest.mark.parametrize("arguments", ["own", "shared"])
@pytest.mark.parametrize("strategy", ["auto", "direct"])
@pytest.mark.parametrize("progress", ["auto", "calls"])
def test_threads_send_at_the_same_time(binaries, progress, strategy, arguments):
    program = compiled(mpicc(), "threads_send.c", binaries, "-pthread", "-ldl")
    options = {"TEMPI_DEVICE": "fake", "TEMPI_PROGRESS": progress, "TEMPI_STRATEGY": strategy, "TEMPI_NO_DIRECT": "0"}
    output = succeed([str(program), arguments], shim.preloaded(**options))
    assert output.out.strip() == "ok"


@pytest.mark.usefixtures("thread_multiple")
def test_a_send_does_not_overtake_one_that_is_being_started(binaries):
    """Neither of those of other threads: a message counts as pending until MPI_Start has returned."""
    compiler = mpicc()
    program = compiled(compiler, "overtaking.c", binaries, "-pthread", "-ldl")
    tool_below = compiled(compiler, "slow_start_tool.c", binaries, "-shared", "-fPIC", "-ldl")
    environment = shim.preloaded(TEMPI_DEVICE="fake")
    environment["LD_PRELOAD"] += f" {tool_below}"
    output = mpirun(2, program, environment)
    assert output.out.strip() == "ok"


@pytest.mark.parametrize("failure", ["told", "untold"])
def test_requests_are_freed_while_they_are_started(binaries, failure):
    """By an error handler: the call that starts them still looks at their messages."""
    compiler = mpicc()
    program = compiled(compiler, "freed_in_start.c", binaries, "-ldl")
    tool_below = compiled(compiler, "freeing_tool.c", binaries, "-shared", "-fPIC", "-ldl")
    environment = shim.preloaded(TEMPI_DEVICE="fake", TEMPI_NO_DIRECT="0")
    environment["LD_PRELOAD"] += f" {tool_below}"
    assert succeed([str(program), failure], environment).out.strip() == "ok"


OTHER = {"openmpi": "mpich", "mpich": "openmpi"}[library_name()]


@needs.compiler_of(OTHER)
def test_shim_of_another_mpi_says_so_in_one_line_and_passes_through(binaries, pack_types):
    program = compiled(tool(f"mpicc.{OTHER}"), "pack_types.c", binaries)
    assert Path(mpi_of(program)).name.split(".so")[1] != Path(mpi_of(pack_types)).name.split(".so")[1]
    alone = succeed([str(program)], shim.clean_environment())
    foreign = succeed([str(program)], shim.preloaded())
    assert foreign.out == alone.out
    added = [line for line in foreign.err.splitlines() if line not in alone.err.splitlines()]
    assert len(added) == 1
    assert "tempi" in added[0].lower()
