"""MPI_Alltoallw in host memory: a process's own block is copied by us, from layout to layout."""

import own_blocks_worker as worker
import pytest

HOST = {"TEMPI_STRATEGY": "host"}
PACKED = "taken: host packer"


@pytest.mark.sample(2)
@pytest.mark.parametrize("device", ["none", "fake"])
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("n", [2, 7, 64])
def test_layouts_of_the_two_ends_differ(ranks, device, size, n):
    for by_outcome in ranks(size, TEMPI_DEVICE=device, **HOST).call(worker.transposed, n):
        assert by_outcome == {PACKED: 3}


@pytest.mark.sample(3)
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("n", [10, 1000, 2000])
def test_irregular_blocks_are_packed(ranks, size, n):
    for by_outcome in ranks(size, **HOST).call(worker.irregular, n):
        assert by_outcome == {PACKED: 1}


def test_the_other_blocks_are_in_gpu_memory(ranks):
    for by_outcome in ranks(3, TEMPI_DEVICE="fake", **HOST).call(worker.others_on_the_gpu, 50):
        assert sum(by_outcome.values()) == 1
        assert all(outcome.startswith("taken") for outcome in by_outcome)


def test_many_layouts(ranks):
    ranks(2, **HOST).call(worker.many_layouts, 80)


@pytest.mark.sample(2)
@pytest.mark.parametrize("settings", [{"TEMPI_PROFILE": "none"}, {"TEMPI_STRATEGY": "library"}])
@pytest.mark.parametrize("size", [2, 3])
def test_without_a_profile_all_is_the_library_s(ranks, settings, size):
    for by_outcome in ranks(size, TEMPI_DEVICE="fake", **settings).call(worker.transposed, 5):
        assert all(outcome.startswith("passed on") for outcome in by_outcome)


def test_ends_of_different_sizes_are_the_library_s(ranks):
    with_us = ranks(2, **HOST).call(worker.of_different_sizes)
    assert with_us == ranks(2, TEMPI_DISABLE="1").call(worker.of_different_sizes)
