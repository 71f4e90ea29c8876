"""The fake device itself: work behind a lost mark fails; memory that another process maps, as with CUDA's IPC."""

from pathlib import Path

import pytest

from support import shim
from support.programs import INCLUDE, compiled, cxx, run, succeed

HERE = Path(__file__).parent


SIZE = 10000  # of the shared allocation


def program_with_fake(tmp_path_factory, name, *more):
    """A program of this folder with its own copy of the fake device: needs neither MPI nor the shim."""
    names = (
        "device/fake/fake",
        "device/fake/free_spans",
        "device/fake/memory",
        "device/fake/program",
        "device/fake/queues",
        "device/fake/shared_pages",
        "device/fake/tiles",
        "device/host_pages",
        "device/stream_order",
        "base/counters",
        "base/error",
        "base/options",
        "base/log",
        "base/mutex",
        *more,
    )
    sources = [str(INCLUDE / f"{name}.cpp") for name in names]
    folder = tmp_path_factory.mktemp("device")
    return compiled(cxx(), HERE / name, folder, "-std=c++20", "-pthread", *sources)


@pytest.fixture(scope="module")
def fake_queues(tmp_path_factory):
    return program_with_fake(tmp_path_factory, "fake_queues.cpp")


@pytest.fixture(scope="module")
def chunk_lanes(tmp_path_factory):
    return program_with_fake(tmp_path_factory, "chunk_lanes.cpp", "pack/chunk_lanes")


@pytest.fixture(scope="module")
def fake_shared(tmp_path_factory):
    """Two processes: the owner of an allocation, and its child, which maps it."""
    program = program_with_fake(tmp_path_factory, "fake_shared.cpp")

    def run_case(*words, **options):
        return run([str(program), *map(str, words)], shim.clean_environment() | options)

    return run_case


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(8))
def test_queue_goes_on_behind_a_mark_that_is_reached(fake_queues, seed):
    output = succeed([str(fake_queues)], shim.clean_environment() | {"TEMPI_FAKE_SEED": str(seed)})
    assert output.out == "first done, mark done, second done, arrived\n"


@pytest.mark.parametrize("seed", range(8))
def test_work_behind_a_lost_mark_fails(fake_queues, seed):
    environment = shim.clean_environment() | {"TEMPI_FAKE_SEED": str(seed), "TEMPI_FAKE_FAIL": "finish:1"}
    assert succeed([str(fake_queues)], environment).out == "first failed, mark failed, second failed, nothing\n"


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("failure", "outcome"),
    [("", "done, done, done, done, all done: arrived"), ("finish:1", "done, done, failed, failed, all failed: ")],
)
def test_chunks_behind_one_that_has_failed_do_not_hide_it(chunk_lanes, failure, outcome, seed):
    environment = shim.clean_environment() | {"TEMPI_FAKE_SEED": str(seed), "TEMPI_FAKE_FAIL": failure}
    assert succeed([str(chunk_lanes)], environment).out.startswith(outcome)


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("owner", "mapper"), [(0, 0), (0, 1), (1, 0)])
def test_owner_sees_what_kernels_and_copies_of_another_process_write(fake_shared, owner, mapper, seed):
    output = fake_shared("writes", owner, mapper, TEMPI_FAKE_SEED=str(seed))
    assert output.out == "located 1: 6b 6b 00 00 63 63 freed, child returned 0\n"


@pytest.mark.parametrize("offset", [0, 1, SIZE - 1])
def test_kernel_writes_the_bytes_of_a_mapped_allocation(fake_shared, offset):
    assert fake_shared("word", offset, 1).out == "child returned 0\n"


@pytest.mark.parametrize("offset", [-1, SIZE, -5000, 1 << 20])
def test_kernel_beyond_a_mapped_allocation_aborts(fake_shared, offset):
    output = fake_shared("word", offset, 1)
    assert output.out == "child ended by Aborted\n"
    assert "a kernel used memory that its GPU does not reach" in output.err


def test_kernel_of_another_gpu_than_the_mapping_aborts(fake_shared):
    assert fake_shared("word", 0, 1, 1).out == "child ended by Aborted\n"


def test_word_across_the_end_of_a_mapped_allocation_aborts_its_owner(fake_shared):
    output = fake_shared("word", SIZE - 2, 4)
    assert output.code == -6
    assert "a kernel wrote outside of an allocation" in output.err


def test_copy_beyond_a_mapped_allocation_fails(fake_shared):
    assert fake_shared("copies").out == "done failed child returned 0\n"


@pytest.mark.parametrize(
    ("failure", "shares", "maps"),
    [
        ("", "1 1", "done done"),
        ("map:1", "1 1", "failed done"),
        ("map:2", "1 1", "done failed"),
        ("share:1", "0 1", "done done"),
    ],
)
def test_sharing_and_mapping_fail_on_demand_and_for_other_memory(fake_shared, failure, shares, maps):
    output = fake_shared("failures", TEMPI_FAKE_FAIL=failure)
    assert output.out == f"shared {shares} pinned 0 own failed {maps} failed child returned 0\n"


def test_mapping_outlives_the_allocation_but_no_kernel_writes_to_the_next_one(fake_shared):
    output = fake_shared("freed")
    assert output.out == "mapped again: failed, freed memory db, same address 1, new id 1, child ended by Aborted\n"
    assert "a kernel used memory that its GPU does not reach" in output.err


def test_mappings_end_one_by_one_and_leave_nothing(fake_shared):
    assert fake_shared("often").out == "no leak, 6d, child returned 0\n"


def test_memory_of_a_process_that_has_ended_is_not_mapped(fake_shared):
    assert fake_shared("ended").out == "child returned 0\nmapping failed\n"


@pytest.fixture(scope="module")
def fake_contexts(tmp_path_factory):
    return program_with_fake(tmp_path_factory, "fake_contexts.cpp")


def test_a_context_that_has_ended_is_refused_and_its_addresses_are_used_again(fake_contexts):
    output = succeed([str(fake_contexts), "nothing"], shim.clean_environment())
    assert output.out == "ended 1 0, scope failed, mark failed, located 0, same address 1, unfinished 0\n"


@pytest.mark.parametrize("what", ["memory", "pages", "mapping"])
def test_giving_back_what_has_gone_with_a_context_aborts(fake_contexts, what):
    output = run([str(fake_contexts), what], shim.clean_environment())
    assert output.code == -6
    assert "memory is given back that is not there" in output.err
