"""Programs that break MPI's rules, or copy and drop handles: C programs of one rank, in memory that the shim takes."""

from pathlib import Path

import pytest

from support import needs, shim
from support.outcomes import rows_of_report
from support.programs import compiled, mpicc, mpirun, succeed

KINDS = ("device", "managed")  # of the fake device, whatever TESTS_SEND_KINDS says; pinned memory is the library's
HERE = Path(__file__).parent
CRASHES = needs.own_abi("MPICH by the standard's ABI crashes in MPI_Startall of no address, without the shim too")
NULL_ARGUMENTS = pytest.param("null_arguments", marks=CRASHES)
CASES = (
    "refused",  # an error handler that returns: told once, and nothing is sent, received or made
    "refused_pack",
    "late",  # one of several receives in error: the others are unpacked when they arrive
    "copied",  # copies of the handle of MPI_Bsend_init
    "no_room",  # MPI_Ibsend without room in the buffer
    "freed_receives",
    NULL_ARGUMENTS,
    "mrecv",  # of a datatype that is not committed
    "many",  # arrays of 1,000 requests
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("strict")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_strict(folder, case, kind):
    program = compiled(mpicc(), HERE / "strict.c", folder, "-ldl")
    done = succeed([str(program), case, kind], shim.preloaded(TEMPI_DEVICE="fake", TEMPI_REPORT="1"))
    assert done.out.strip() == "ok"
    assert any(outcome.startswith("taken") for _, outcome in rows_of_report(done.err)), "the library did all"


# MPICH's own packing fills the buffer in part before it reports that there is no room.
@pytest.mark.parametrize("case", [case for case in CASES if case != "refused_pack"])
def test_strict_of_host_memory(folder, case):
    program = compiled(mpicc(), HERE / "strict.c", folder, "-ldl")
    done = succeed([str(program), case, "host"], shim.preloaded(TEMPI_STRATEGY="host", TEMPI_REPORT="1"))
    assert done.out.strip() == "ok"
    assert any(outcome == "taken: host packer" for _, outcome in rows_of_report(done.err)), "the library did all"


@needs.function("Session_init")
@needs.newer_than_mpich_4_0("MPICH 4.0 crashes where a session frees a request, without the shim too")
def test_a_session_sends_device_memory(folder):
    program = compiled(mpicc(), HERE / "sessions.c", folder, "-ldl")
    assert mpirun(1, program, shim.preloaded(TEMPI_DEVICE="fake")).out.strip() == "ok"


def test_a_tool_below_sees_pairs(folder):
    """Each request that a tool sees made is one that it sees started, completed and freed.

    Nine of the ten MPI_Isend take the first one's over.
    """
    program = compiled(mpicc(), HERE / "strict.c", folder, "-ldl")
    counter = compiled(mpicc(), HERE / "counting_tool.c", folder, "-shared", "-fPIC")
    environment = shim.preloaded(TEMPI_DEVICE="fake")
    environment["LD_PRELOAD"] += f" {counter}"
    output = succeed([str(program), "pairs", "device"], environment)
    assert output.out.strip() == "ok"
    assert "made 11, started 20, freed 11" in output.err.splitlines()
