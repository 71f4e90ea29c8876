"""Large accesses of files from and to GPU memory, which are carried out in chunks (TEMPI_FILE_CHUNK).

A tool between the shim and the library (file_tool.c) shows the calls that the library gets.
"""

from pathlib import Path

import file_chunk_cases as cases
import file_chunks_worker as worker
import files_worker
import pytest
from file_chunks_worker import How
from mpi4py import MPI

from support import defects, needs, shim
from support.effort import scaled
from support.messages import KINDS
from support.programs import compiled, mpicc

GPU_KINDS = tuple(kind for kind in KINDS if kind not in ("host", "pinned"))
CHUNK = 64
CHUNKED = {"TEMPI_DEVICE": "fake", "TEMPI_FILE_CHUNK": str(CHUNK)}
# With Open MPI, only nonblocking accesses of more bytes are in chunks; with MPICH, all for which there is memory.
SMALL_POOL = {"TEMPI_POOL_LIMIT": "0"} if defects.loses_file_requests_of_threads() else {}
FAILURES = ("launch:2", "launch:5", "copy:1", "copy:3", "finish:2", "finish:3", "pinned:1", "pinned:2", "query:2")

BLOCKING = [How(False), How(True)]
LATER = [How(False, "wait"), How(True, "test"), How(True, "waitany")]
# Nonblocking reads of this Open MPI over the end of a file never complete.
IN_CHUNKS = BLOCKING if defects.loses_file_requests_of_threads() else BLOCKING + LATER

pytestmark = needs.fake_device("the option of the chunks is for small buffers here")


@pytest.fixture(scope="module")
def below(tmp_path_factory):
    tool = compiled(mpicc(), Path(__file__).parent / "file_tool.c", tmp_path_factory.mktemp("tool"), "-shared", "-fPIC")
    return f"{shim.preload()} {tool}"


@pytest.fixture(params=[{}, SMALL_POOL] if SMALL_POOL else [{}], ids=lambda more: "small pool" if more else "")
def job(ranks, below, request):
    return ranks(1, preload=False, LD_PRELOAD=below, **CHUNKED, **request.param)


def test_random_accesses(job, drawn, tmp_path):
    [share] = job.call(worker.random_cases, str(tmp_path), drawn.getrandbits(30), scaled(600), timeout=240)
    assert share > 0.1  # of 5 kinds of memory, 3 are a GPU's


@pytest.mark.sample(4)
@pytest.mark.parametrize("failure", FAILURES)
def test_random_accesses_while_the_gpu_fails(ranks, below, drawn, tmp_path, failure):
    job = ranks(1, preload=False, LD_PRELOAD=below, TEMPI_FAKE_FAIL=failure, **CHUNKED)
    job.call(worker.random_cases, str(tmp_path), drawn.getrandbits(30), scaled(100), timeout=120)


@pytest.mark.parametrize("which", files_worker.SETS)
def test_every_call_with_small_chunks(ranks, drawn, tmp_path, which):
    """Among ranks, and with every call that is not cut."""
    job = ranks(2, **CHUNKED)
    for kind in GPU_KINDS:
        seed = drawn.getrandbits(30)
        done = job.call(files_worker.check, str(tmp_path), which, kind, "native", seed, timeout=60)
        assert done == [len(files_worker.hows(which))] * 2


@pytest.mark.parametrize("how", IN_CHUNKS, ids=str)
def test_reads_over_the_end_of_the_file(job, drawn, tmp_path, how):
    """The position of the file pointer after them is that after a read into host memory."""
    seed = drawn.getrandbits(30)
    [expected] = job.call(cases.short_reads, str(tmp_path), "host", how, seed)
    for kind in GPU_KINDS:
        assert job.call(cases.short_reads, str(tmp_path), kind, how, seed) == [expected]


@pytest.mark.parametrize("kind", GPU_KINDS)
def test_accesses_that_must_be_one_call_of_the_library(job, tmp_path, kind):
    [found] = job.call(cases.whole_accesses, str(tmp_path), kind)
    assert [len(found[how]) for how in found] == [1] * (len(found) - 1) + [8]
    assert found["cut"] == [CHUNK] * 7 + [508 - 7 * CHUNK]


@pytest.mark.parametrize("how", IN_CHUNKS, ids=str)
@pytest.mark.parametrize("kind", GPU_KINDS)
def test_an_error_is_told_once_and_ends_the_access(job, tmp_path, kind, how):
    [[told, is_right]] = job.call(cases.failures, str(tmp_path), kind, how)
    assert is_right
    assert [error for _, error in told] == [MPI.ERR_NO_SPACE] * 2  # the handler's, and the program's
    assert [whose for whose, _ in told].count("file") == 1


@pytest.mark.parametrize("how", LATER, ids=str)
@pytest.mark.parametrize("kind", GPU_KINDS)
def test_an_error_of_a_later_chunk_without_staging_memory(ranks, below, tmp_path, kind, how):
    job = ranks(1, preload=False, LD_PRELOAD=below, **CHUNKED, **SMALL_POOL)
    [[told, is_right]] = job.call(cases.failures, str(tmp_path), kind, how)
    assert is_right
    assert [error for _, error in told] == [MPI.ERR_NO_SPACE] * 2
    assert [whose for whose, _ in told].count("file") == 1


@pytest.mark.parametrize("kind", GPU_KINDS)
def test_a_file_that_may_only_be_read(job, tmp_path, kind):
    [expected] = job.call(cases.refusals, str(tmp_path / "host"), "host")
    assert job.call(cases.refusals, str(tmp_path / kind), kind) == [expected]


@pytest.mark.parametrize("kind", GPU_KINDS)
def test_a_sequential_file(job, tmp_path, kind):
    """Its error handler is called as often as for a read into host memory."""
    [expected] = job.call(cases.sequential_reads, str(tmp_path / "host"), "host")
    assert job.call(cases.sequential_reads, str(tmp_path / kind), kind) == [expected]


@pytest.mark.parametrize("kind", GPU_KINDS)
def test_the_datatype_is_freed_before_the_write_ends(job, tmp_path, kind):
    assert job.call(cases.frees_the_datatype, str(tmp_path / kind), kind) == [True]


@pytest.mark.parametrize("kind", GPU_KINDS)
def test_an_mpi_call_moves_a_few_chunks_of_a_pending_write(ranks, below, tmp_path, kind):
    job = ranks(1, preload=False, LD_PRELOAD=below, **CHUNKED, **SMALL_POOL)
    [steps] = job.call(cases.steps_of, str(tmp_path / kind), kind)
    assert sum(steps) == 30
    assert max(steps) <= 4


@pytest.mark.parametrize("kind", GPU_KINDS)
def test_a_write_of_which_the_library_moves_a_part(job, tmp_path, kind):
    assert job.call(cases.half_writes, str(tmp_path / kind), kind) == [(2, True)]


def test_threads_that_share_a_file_pointer(job, thread_multiple, tmp_path):
    assert job.call(cases.threads, str(tmp_path / "file"), ("device", "managed", "host"), 20, timeout=60) == [True]
