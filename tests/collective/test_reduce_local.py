"""MPI_Reduce_local on one GPU is a kernel; everything else is reduced in host memory."""

import pytest
import reduce_local_worker as worker

from support import needs

INTEGERS = ("SIGNED_CHAR", "UNSIGNED_CHAR", "SHORT", "UNSIGNED_SHORT", "INT", "UNSIGNED", "LONG", "UNSIGNED_LONG")
SIZED = ("LONG_LONG", "UNSIGNED_LONG_LONG", "INT8_T", "UINT16_T", "INT32_T", "UINT64_T")
FLOATS = ("FLOAT", "DOUBLE")
ARITHMETIC = ("SUM", "PROD", "MIN", "MAX")
BITS = ("BAND", "BOR", "BXOR")
LOGICAL = ("LAND", "LOR", "LXOR")
TAKEN = (
    *((name, op) for name in (*INTEGERS, *SIZED) for op in (*ARITHMETIC, *BITS, *LOGICAL)),
    *((name, op) for name in FLOATS for op in ARITHMETIC),
)
DEVICE = ("device", "device")


@pytest.fixture
def reduced(ranks):
    """The calls that a kernel did, by case."""

    def call(*cases, **options):
        [by_kernel] = ranks(1, TEMPI_DEVICE="fake", **options).call(worker.reduce_locals, list(cases))
        return by_kernel

    return call


def test_all_datatypes_and_operations(reduced, drawn):
    """Counts around the units of a thread and of a tile; buffers aligned to units, or to elements."""
    counts, firsts = (1, 3, 16, 17, 1000, 10_007), ((0, 0), (1, 0), (1, 1))
    cases = [
        (name, op, drawn.choice(counts), DEVICE, drawn.choice(firsts), drawn.getrandbits(30)) for name, op in TAKEN
    ]
    assert reduced(*cases) == [1] * len(cases)


@pytest.mark.parametrize("n", [1, 3, 4, 5, 2047, 2048, 2049, 100_000])
@pytest.mark.parametrize("first", [0, 1])
def test_counts(reduced, n, first):
    assert reduced(("FLOAT", "SUM", n, DEVICE, (first, first), 1), ("INT8_T", "BXOR", n, DEVICE, (first, 0), 2)) == [
        1,
        1,
    ]


@pytest.mark.parametrize("kinds", [("managed", "device"), ("pinned", "device"), ("device", "managed")])
def test_memory_that_the_gpu_reaches(reduced, kinds):
    assert reduced(("DOUBLE", "SUM", 1000, kinds, (0, 0), 3)) == [1]


@pytest.mark.parametrize(
    "kinds", [("host", "device"), ("device", "host"), ("device", "pinned"), ("device 1", "device")]
)
def test_memory_that_it_does_not_reach_is_reduced_on_the_host(reduced, kinds):
    assert reduced(("DOUBLE", "SUM", 1000, kinds, (0, 0), 4)) == [0]


def test_what_has_no_kernel_is_reduced_on_the_host(reduced):
    assert reduced(("C_BOOL", "LOR", 10, DEVICE, (0, 0), 5)) == [0]


def test_no_elements(reduced):
    assert reduced(("INT", "SUM", 0, DEVICE, (0, 0), 6)) == [0]


def test_switched_off(reduced):
    assert reduced(("INT", "SUM", 5, ("host", "host"), (0, 0), 7), TEMPI_NO_SEND="1") == [0]


@needs.fake_device("failures on demand")
def test_a_kernel_that_fails_is_an_error(ranks):
    job = ranks(1, TEMPI_DEVICE="fake", TEMPI_FAKE_FAIL="launch:1")
    with pytest.raises(Exception, match="launch failed on demand"):
        job.call(worker.reduce_locals, [("INT", "SUM", 5, DEVICE, (0, 0), 8)])
