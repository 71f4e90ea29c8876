"""What does not fit together is refused on all ranks with a text that says where and what to do."""

import error_cases as cases
import halo_worker as worker
import pytest


def errors(ranks, make, n_ranks=2):
    return ranks(n_ranks, preload=False).call(worker.error_of, make)


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (cases.wider_than_own, "ValueError", "dimension 1 has 2 own cells"),
        (cases.no_own_cells, "ValueError", "own cells"),
        (cases.wrong_number_of_ranks, "ValueError", "dims (3,) are for 3 ranks; the communicator has 2"),
        (cases.too_many_dimensions, "ValueError", "1 to 3 dimensions"),
        (cases.which_axes, "ValueError", "dims=(0, 0, 0)"),
        (cases.wrong_axes, "ValueError", "array 0 has shape (8, 8); the grid's axes (0, 2)"),
        (cases.twice_the_same_axis, "ValueError", "must be different ones"),
        (cases.axes_of_too_few_arrays, "ValueError", "for each of the 2"),
        (cases.different_grids, "ValueError", "array 1 has a grid of (8, 9) cells, array 0 one of (8, 8)"),
        (cases.width_of_three_sides, "TypeError", "must be an int or (low, high)"),
        (cases.width_of_other_dimensions, "ValueError", "an entry for each of 2 dimensions"),
        (cases.negative_width, "ValueError", "fewer than 0"),
        (cases.some_neighbours, "ValueError", "must be 'all' or 'faces'"),
        (cases.other_periods_than_the_communicator, "ValueError", "leave dims and periods out"),
        (cases.read_only, "ValueError", "array 1 is read-only"),
        (cases.broadcast, "ValueError", "array 0 has cells that share memory"),
        (cases.objects, "TypeError", "Python objects"),
        (cases.no_array, "TypeError", "is no array"),
        (cases.nothing, "ValueError", "at least one"),
    ],
)
def test_wrong_arguments(ranks, make, kind, words):
    for name, text in errors(ranks, make):
        assert name == kind
        assert words in text


def test_one_ranks_error_is_raised_by_all(ranks):
    (_, first), (name, second) = errors(ranks, cases.wider_than_own_on_rank_0)
    assert "own cells" in first
    assert name == "ValueError"
    assert second == f"HaloExchange fails on rank 0: ValueError: {first}"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (cases.different_widths, "widths must be the same on all ranks: rank 0 has ((0, 0), (0, 0)), rank 1"),
        (cases.different_dtypes, "arrays must be the same on all ranks"),
        (cases.different_dims, "grid must be the same on all ranks"),
        (cases.blocks_that_do_not_meet, "ranks 0 and 1 are at the same place along dimension 1"),
    ],
)
def test_ranks_that_contradict_each_other(ranks, make, words):
    for name, text in errors(ranks, make):
        assert name == "ValueError"
        assert words in text


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (cases.start_twice, "is under way; this call needs one that is idle"),
        (cases.finish_what_has_not_begun, "is idle; this call needs one that is under way"),
        (cases.free_while_under_way, "is under way; this call needs one that is idle"),
        (cases.start_after_free, "is freed"),
    ],
)
def test_calls_in_the_wrong_order(ranks, use, words):
    for name, text in errors(ranks, use):
        assert name == "RuntimeError"
        assert words in text


def test_an_exception_inside_with_is_not_hidden(ranks):
    assert errors(ranks, cases.exception_while_under_way, 1) == [
        ("ZeroDivisionError", "integer division or modulo by zero")
    ]


def test_gpu_arrays_that_nobody_reaches(ranks):
    found = ranks(1, preload=False, TEMPI_DEVICE="fake").call(worker.error_of, cases.device_arrays)
    assert found[0][0] == "RuntimeError"
    assert "import tempi before mpi4py.MPI" in found[0][1]


def test_a_gpu_without_memory_left(ranks):
    job = ranks(1, TEMPI_DEVICE="fake", TEMPI_FAKE_FAIL="allocate:1")
    (name, text), *_ = job.call(worker.error_of, cases.periodic_device_array)
    assert name == "MemoryError"
    assert "left on the GPU" in text
