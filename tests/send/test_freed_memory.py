"""Memory that the program frees is free, though other processes have written into it."""

from pathlib import Path

import freed_memory_worker as worker
import pytest
from test_direct import DIRECT

from support import memory, needs, shim
from support.programs import compiled, cxx, succeed
from support.ranks import Ranks
from tempi import lib_path

MIB = 1 << 20
MOST_MAPPED = 256  # src/sharing/imports.cpp
LOOKED_AT = 256  # of what is lent, at a time (src/sharing/exports.cpp)
SLACK = 64 * MIB if memory.on_real_gpu() else MIB  # a GPU's memory is everyone's
LARGE_BYTES = (128 if memory.on_real_gpu() else 32) * MIB  # more than SLACK
KNOWS = 1 if memory.on_real_gpu() else 0  # the rank that knows what became free
FUNNELED, MULTIPLE = "1", "3"
SOON = 1.0  # seconds
PATIENT = {**DIRECT, "TEMPI_MATCH_TIMEOUT": "5000000"}


@pytest.mark.parametrize(("n_buffers", "n_bytes"), [(3, LARGE_BYTES), (3 * LOOKED_AT, MIB // 4)])
def test_freed_buffers_are_mapped_no_longer(ranks, n_buffers, n_bytes):
    job = ranks(2, **PATIENT, TEMPI_FREED_LIMIT="0")
    job.call(worker.exchange, 1, n_bytes, 1)
    before = max(job.call(worker.rest))
    for seed in (2, 3):
        (most, n_direct), _ = job.call(worker.exchange, n_buffers, n_bytes, seed, timeout=60)
        assert n_direct == n_buffers
        assert most - before >= min(n_buffers, MOST_MAPPED) * n_bytes
        after = max(job.call(worker.rest_until, before + SLACK // 2, timeout=60))
        assert after - before < SLACK, (before, most, after)


@pytest.mark.parametrize(("level", "in_thread"), [(MULTIPLE, True), (MULTIPLE, False), (FUNNELED, False)])
def test_much_is_given_back_at_once(ranks, level, in_thread):
    """The process that has it mapped makes no MPI call."""
    job = ranks(2, **PATIENT, TEMPI_FREED_LIMIT=str(LARGE_BYTES // 2), TESTS_THREAD_LEVEL=level)
    assert (
        job.call(worker.given_back_at_once, LARGE_BYTES, in_thread, worker.PATIENCE_SECONDS, timeout=60)[KNOWS]
        >= LARGE_BYTES
    )


@pytest.mark.parametrize(("limit", "level", "in_thread"), [(2 * LARGE_BYTES, MULTIPLE, False), (0, FUNNELED, True)])
def test_the_rest_is_given_back_in_mpi_calls(ranks, limit, level, in_thread):
    """Little memory; and at MPI_THREAD_FUNNELED, memory that another thread frees."""
    job = ranks(2, **PATIENT, TEMPI_FREED_LIMIT=str(limit), TESTS_THREAD_LEVEL=level)
    before = max(job.call(worker.rest))
    assert job.call(worker.given_back_at_once, LARGE_BYTES, in_thread, worker.REST_SECONDS)[KNOWS] < SLACK
    if limit == 0:
        assert max(job.call(worker.rest_until, before + SLACK // 2, timeout=60)) - before < SLACK


def test_little_is_kept_until_it_is_much(ranks):
    job = ranks(2, **PATIENT, TEMPI_FREED_LIMIT=str(200 * MIB))
    before = max(job.call(worker.rest))
    job.call(worker.exchange, 3, 64 * MIB, 1)
    kept = max(job.call(worker.rest)) - before
    assert abs(kept - 3 * 64 * MIB) < SLACK
    job.call(worker.exchange, 1, 65 * MIB, 2)
    assert max(job.call(worker.rest_until, before + SLACK // 2, timeout=60)) - before < SLACK


def test_nothing_is_told_with_a_negative_limit(ranks):
    job = ranks(2, **PATIENT, TEMPI_FREED_LIMIT="-1")
    before = max(job.call(worker.rest))
    job.call(worker.exchange, 300, MIB // 4, 1, timeout=60)
    assert max(job.call(worker.rest)) - before > MOST_MAPPED // 2 * (MIB // 4)


def test_the_chooser_and_the_shim_share_the_function_after_a_free():
    """Python opens the shim after the chooser, whose dlsym the CUDA runtime has used by then."""
    if shim.is_sanitized():
        pytest.skip("the chooser is built without a sanitizer: run it without TESTS_SHIM")
    with Ranks(2, PATIENT | {"LD_PRELOAD": lib_path()}, preload=False) as job:
        assert job.call(worker.function_after_free, 4 * MIB)[1] != 0


@needs.fake_device("a mapping whose end takes two seconds")
def test_no_message_waits_for_the_end_of_a_mapping():
    """Another buffer is mapped meanwhile; one at the same place is not, and its message comes packed."""
    slow = {"TEMPI_FREED_LIMIT": "0", "TEMPI_FAKE_FAIL": "unmap:1"}
    with Ranks(2, DIRECT | {"TEMPI_MATCH_TIMEOUT": "500000"}, {0: slow, 1: {"TEMPI_FREED_LIMIT": "0"}}) as job:
        found, _ = job.call(worker.beside_an_ending_mapping, 4 * MIB, timeout=60)
    assert [is_direct for is_direct, _ in found] == [True, False, True]
    assert max(seconds for _, seconds in found) < SOON


@needs.fake_device("the addresses of its allocations, and what is mapped")
def test_mappings_of_freed_memory_end_before_a_cuda_aware_library_gets_a_window_there():
    """The library maps the window in the process that still has the freed memory mapped."""
    with Ranks(2, PATIENT | {"TEMPI_CUDA_AWARE": "1"}) as job:
        assert job.call(worker.window_over_freed_memory, 4 * MIB)[0] == 0


@needs.real_gpu("the fake device's kernels run when somebody asks for them")
def test_running_kernels_hold_up_no_call(ranks):
    """The driver waits for them before it ends a mapping."""
    job = ranks(2, **PATIENT, TEMPI_FREED_LIMIT="0")
    assert max(job.call(worker.seconds_beside_a_kernel, timeout=60)) < worker.KERNEL_SECONDS / 2


def test_addresses_that_meet(tmp_path):
    program = compiled(cxx(), Path(__file__).parent / "remote_ranges.cpp", tmp_path, "-std=c++20")
    assert succeed([str(program)], shim.clean_environment()).out == "well\n"
