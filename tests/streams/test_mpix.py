"""MPICH's stream extensions (tempi_mpix.h): programs as their users write them, and random ones."""

from pathlib import Path

import pytest

from support import effort, needs, shim
from support.programs import compiled, cxx, mpicc, mpirun, run

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "include"
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", f"-I{INCLUDE}", f"-I{HERE}", "-ldl")
FAKE = {"TEMPI_DEVICE": "fake", "TEMPI_NO_DIRECT": "0"}
WAYS = {
    "channels": {},
    "by the CPU": {"TEMPI_NO_DIRECT": "1"},
    "by the thread": {"TEMPI_NO_DIRECT": "1", "TEMPI_PROGRESS": "thread"},
}
CASES = ("saxpy", "both ways", "other patterns", "many buffers", "same arguments twice", "wildcards", "freed types")
CASES += ("freed while another communicator has it", "from MPI_BOTTOM")
CASES += ("plain calls", "captured", "freed communicator", "to itself")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mpix")


@pytest.fixture(scope="module")
def user(folder):
    return compiled(mpicc(), HERE / "mpix_user.c", folder, *STRICT)


@pytest.fixture(scope="module")
def random_program(folder):
    return compiled(mpicc(), HERE / "mpix_random.c", folder, *STRICT)


@pytest.fixture(scope="module")
def wrong(folder):
    return compiled(mpicc(), HERE / "mpix_wrong.c", folder, *STRICT)


def environment(way):
    if way == "by the thread":
        needs.thread_multiple()
    return shim.preloaded(**{**FAKE, **WAYS[way]})


@pytest.mark.sample(16)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES)
def test_a_program_of_a_user(user, case, way):
    if case == "captured" and way == "by the CPU":
        pytest.skip("the CPU cannot wait in a graph")
    assert mpirun(2, user, environment(way), case, timeout=60).out == "right\n"


def test_the_thread_looks_after_streams_until_mpi_ends(user):
    """On a busy machine it crashed in MPI_Finalize, in one of 25 runs."""
    for _ in range(effort.scaled(50, least=2)):
        assert mpirun(2, user, environment("by the thread"), "captured", timeout=60).out == "right\n"


@pytest.fixture
def run_random(random_program, drawn):
    """Random messages, and reductions; `n_streams`: each with a communicator."""

    def run_(n_ranks, way, n_streams, reduces=False, pinned=False, **more):
        for _ in range(effort.scaled(10, least=2)):
            arguments = (drawn.getrandbits(30), 60, n_streams, int(reduces), int(pinned))
            said = mpirun(n_ranks, random_program, environment(way) | more, *arguments, timeout=90).out
            assert said == "right\n", arguments

    return run_


@pytest.mark.parametrize("n_ranks", [1, 2, 3])
def test_random_messages_on_two_streams(run_random, n_ranks):
    run_random(n_ranks, "channels", 2)


@pytest.mark.sample(2)
@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
def test_random_messages_and_reductions_on_two_streams(run_random, n_ranks):
    run_random(n_ranks, "channels", 2, reduces=True)


@pytest.mark.sample(5)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n_ranks", [1, 2, 3])
def test_random_messages_and_reductions(run_random, n_ranks, way):
    """The CPU waits for some exchanges, so there is one stream: two would need the same order on all ranks."""
    run_random(n_ranks, way, 1, reduces=True)
    run_random(n_ranks, way, 1, reduces=True, pinned=True)


@pytest.mark.parametrize("n_ranks", [3, 4])
def test_replies_that_come_late(run_random, folder, n_ranks):
    library = compiled(mpicc(), HERE / "mpix_late_replies.c", folder, "-shared", "-fPIC", "-ldl")
    for n_streams in (1, 2):
        run_random(n_ranks, "channels", n_streams, reduces=True, LD_PRELOAD=f"{shim.preload()} {library}")


@pytest.mark.parametrize("n_streams", [1, 2])
def test_two_threads(folder, n_streams):
    needs.thread_multiple()
    program = compiled(mpicc(), HERE / "mpix_threads.c", folder, *STRICT, "-pthread")
    for _ in range(3):
        assert mpirun(2, program, environment("channels"), n_streams, timeout=60).out == "right\n"


def test_exchanges_have_channels(user):
    errors = mpirun(2, user, environment("channels") | {"TEMPI_REPORT": "1"}, "other patterns").err
    assert "enqueued exchanges: kernels of two GPUs" in errors
    assert "for which the CPU waited" not in errors


def test_other_streams_go_to_the_library(folder):
    library = compiled(mpicc(), HERE / "mpix_library.c", folder, "-shared", "-fPIC")
    program = compiled(mpicc(), HERE / "mpix_other_streams.c", folder, *STRICT)
    both = {"LD_PRELOAD": f"{shim.preload()} {library}"}
    said = mpirun(1, program, environment("channels") | both, timeout=60).out.splitlines()
    created = ["MPIX_Stream_create", "MPIX_Stream_comm_create its stream", "MPIX_Stream_comm_create no stream"]
    assert said == [*created, "MPIX_Send_enqueue", "MPIX_Wait_enqueue", "MPIX_Stream_free", "right"]


def test_wrong_usage(wrong):
    assert mpirun(2, wrong, environment("channels"), timeout=60).out == "right\n"


USE = """#include <mpi.h>
#ifdef MPIX_STREAM_NULL /* of the library: it may have other errors */
#define HAS_OTHERS 1
#else
#define HAS_OTHERS 0
#endif
#include <tempi_mpix.h>
int main(void) {
  MPIX_Stream stream = MPIX_STREAM_NULL;
  MPI_Info info = MPI_INFO_NULL;
  int code;
  MPI_Init(0, 0);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  code = MPIX_Stream_create(info, &stream);
  MPI_Finalize();
  return HAS_OTHERS || code == MPI_SUCCESS || code == MPI_ERR_UNSUPPORTED_OPERATION ? 0 : 1;
}
"""


@pytest.mark.parametrize(
    "without", [shim.clean_environment, lambda: shim.preloaded(TEMPI_DISABLE="1")], ids=["absent", "off"]
)
def test_without_tempi(folder, without):
    source = folder / "use.c"
    source.write_text(USE)
    mpirun(1, compiled(mpicc(), source, folder, f"-I{INCLUDE}", "-ldl"), without())


def test_the_header_is_correct_in_cpp(tmp_path):
    source = tmp_path / "use.cpp"
    source.write_text(USE)
    strict = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", "-fsyntax-only"]
    flags = run([mpicc(), "-show"], shim.clean_environment()).out.split()
    done = run(
        [cxx(), *strict, *[f for f in flags if f.startswith("-I")], f"-I{INCLUDE}", str(source)],
        shim.clean_environment(),
    )
    assert done.code == 0, done.err
