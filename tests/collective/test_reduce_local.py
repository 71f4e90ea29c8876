"""MPI_Reduce_local on one GPU is a kernel; everything else is reduced in host memory."""

import pytest
import reduce_local_worker as worker
from reduce_local_worker import Case

from support import needs

C_INTEGERS = (
    *("SIGNED_CHAR", "UNSIGNED_CHAR", "SHORT", "UNSIGNED_SHORT", "INT", "UNSIGNED", "LONG", "UNSIGNED_LONG"),
    *("LONG_LONG", "UNSIGNED_LONG_LONG", "INT8_T", "UINT8_T", "INT16_T", "UINT16_T", "INT32_T", "UINT32_T"),
    *("INT64_T", "UINT64_T"),
)
FLOATS = ("FLOAT", "DOUBLE")
ARITHMETIC = ("SUM", "PROD", "MIN", "MAX")
OTHERS = ("BAND", "BOR", "BXOR", "LAND", "LOR", "LXOR")
TAKEN = (
    *((name, op) for name in C_INTEGERS for op in (*ARITHMETIC, *OTHERS)),
    *((name, op) for name in FLOATS for op in ARITHMETIC),
)


@pytest.fixture
def reduced(ranks):
    """Whether a kernel did it, for each case."""

    def call(*cases, **options):
        [by_kernel] = ranks(1, TEMPI_DEVICE="fake", **options).call(worker.reduce_locals, list(cases))
        return by_kernel

    return call


def test_all_datatypes_and_operations(reduced, drawn):
    """Counts around the units of a thread and of a tile; buffers aligned to 16 bytes, or to elements."""
    counts, offsets = (1, 3, 16, 17, 1000, 10_007), ((0, 0), (8, 0), (8, 8))
    cases = [
        Case(*each, drawn.choice(counts), offsets=drawn.choice(offsets), seed=drawn.getrandbits(30)) for each in TAKEN
    ]
    assert reduced(*cases) == [True] * len(cases)


@pytest.mark.parametrize("count", [1, 3, 4, 5, 2047, 2048, 2049, 100_000])
@pytest.mark.parametrize("offset", [0, 4])
def test_counts(reduced, count, offset):
    cases = Case("FLOAT", "SUM", count, offsets=(offset, offset)), Case("INT8_T", "BXOR", count, offsets=(offset, 0))
    assert reduced(*cases) == [True, True]


@pytest.mark.parametrize("kinds", [("managed", "device"), ("pinned", "device"), ("device", "managed")])
def test_memory_that_the_gpu_of_the_result_reaches(reduced, kinds):
    assert reduced(Case("DOUBLE", "SUM", 1000, kinds)) == [True]


@pytest.mark.parametrize(
    "kinds",
    [
        ("host", "device"),
        ("device", "host"),
        ("device", "pinned"),
        pytest.param(("device 1", "device"), marks=needs.fake_device("two GPUs")),
    ],
)
def test_other_memory_is_reduced_on_the_host(reduced, kinds):
    assert reduced(Case("DOUBLE", "SUM", 1000, kinds)) == [False]


def test_what_has_no_kernel_is_reduced_on_the_host(reduced, ranks):
    assert reduced(Case("LONG_DOUBLE", "SUM", 10)) == [False]
    assert ranks(1, TEMPI_DEVICE="fake").call(worker.by_an_operation_of_the_program) == [[11, 22]]


@pytest.mark.parametrize("offsets", [(2, 0), (0, 2)])
def test_buffers_that_are_not_aligned_are_reduced_on_the_host(reduced, offsets):
    assert reduced(Case("INT", "SUM", 10, offsets=offsets)) == [False]


def test_no_elements(reduced):
    assert reduced(Case("INT", "SUM", 0)) == [False]


def test_switched_off(reduced):
    assert reduced(Case("INT", "SUM", 5, ("managed", "managed")), TEMPI_NO_SEND="1") == [False]


@pytest.mark.parametrize("operation", ["MIN", "MAX"])
def test_numbers_that_compare_oddly_are_as_on_the_host(ranks, operation):
    [(by_kernel, by_library)] = ranks(1, TEMPI_DEVICE="fake").call(worker.special_numbers, operation)
    assert by_kernel == by_library


@needs.fake_device("failures on demand")
def test_a_kernel_that_cannot_be_launched_is_done_on_the_host(ranks):
    job = ranks(1, TEMPI_DEVICE="fake", TEMPI_FAKE_FAIL="launch:1")
    cases = [Case("INT", "SUM", 5, ("pinned", "managed"))] * 2
    assert job.call(worker.reduce_locals, cases) == [[False, True]]


@needs.fake_device("failures on demand")
def test_a_kernel_that_fails_is_an_error(ranks):
    job = ranks(1, TEMPI_DEVICE="fake", TEMPI_FAKE_FAIL="finish:1")
    with pytest.raises(AssertionError, match="finish failed on demand"):
        job.call(worker.reduce_locals, [Case("INT", "SUM", 5)])
