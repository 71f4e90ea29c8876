"""Arguments that do not fit together are refused on all ranks with a text that names the place and the remedy."""

import error_cases as cases
import halo_worker as worker
import pytest
from halo_cases import Field, Halo

from support import needs
from support.ranks import Ranks


def errors(ranks, make, n_ranks=2):
    return ranks(n_ranks, preload=False).call(worker.error_of, make)


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (cases.wider_than_own, "ValueError", "dimension 1 has 2 own cells"),
        (cases.no_own_cells, "ValueError", "own cells"),
        (cases.wrong_number_of_ranks, "ValueError", "dims (3,) are for 3 ranks; the communicator has 2"),
        (cases.too_many_dimensions, "ValueError", "1 to 6 dimensions"),
        (cases.which_axes, "ValueError", "dims=(0, 0, 0)"),
        (cases.wrong_axes, "ValueError", "array 0 has shape (8, 8): it has no axis 2 (axes is (0, 2))"),
        (cases.twice_the_same_axis, "ValueError", "it names the same axis twice"),
        (cases.width_of_two_of_three_axes, "ValueError", "width is (1, 1), with 2 entries, but array 0 has 3 axes"),
        (cases.periods_of_two_of_three_axes, "ValueError", "name the axes of the grid, such as axes=(0, 1)"),
        (cases.dims_of_two_of_three_axes, "ValueError", "dims is (0, 0), with 2 entries, but array 0 has 3 axes"),
        (cases.dims_of_four_for_three_axes, "ValueError", "has shape (8, 8, 8), so 3 axes, but the grid has 4 dim"),
        (cases.stagger_of_two_of_three_axes, "ValueError", "stagger of array 0 is (1, 0), with 2 entries"),
        (cases.axes_of_too_few_arrays, "ValueError", "for each of the 2"),
        (cases.different_grids, "ValueError", "array 1 has (6, 7) cells"),
        (cases.width_of_three_sides, "TypeError", "must be an int or (low, high)"),
        (cases.width_of_other_dimensions, "ValueError", "an entry for each of 2 dimensions"),
        (cases.negative_width, "ValueError", "fewer than 0"),
        (cases.some_neighbours, "ValueError", "must be 'all' or 'faces'"),
        (cases.other_periods_than_the_communicator, "ValueError", "leave dims, periods and mask out"),
        (cases.read_only, "ValueError", "array 1 is read-only"),
        (cases.broadcast, "ValueError", "array 0 has cells that share memory"),
        (cases.objects, "TypeError", "Python objects"),
        (cases.no_array, "TypeError", "array 0 is 'array'; it must be an array"),
        (cases.second_array_is_none, "TypeError", "array 1 is None; it must be an array"),
        (cases.array_without_axes, "ValueError", "array 0 has no axes"),
        (cases.nothing, "ValueError", "at least one"),
        (cases.axes_that_are_no_numbers, "TypeError", "axes is (0.0, 1.0)"),
        (cases.axes_of_seven_dimensions, "ValueError", "axes is range(0, 7); a grid has 1 to 6 dimensions"),
        (cases.fractional_dims, "TypeError", "it must be a sequence of integers"),
        (cases.one_number_as_dims, "TypeError", "dims is 2; it must be a sequence of integers"),
        (cases.dims_that_do_not_divide, "ValueError", "dims is (3, 0); no numbers in place of 0"),
        (cases.start_on_a_small_number, "ValueError", "stream is 5; a handle is 0, 1, 2 or the address of a CUDA"),
        (cases.wider_than_the_array, "ValueError", "dimension 0 has no own cells a rank, but ghost widths (low, high)"),
        (cases.fractional_width, "TypeError", "width is 1.5; it must be an int"),
        (cases.width_in_words, "TypeError", "width is 'xy'; it must be an int"),
        (cases.width_as_dict, "TypeError", "width is {0: 1}; it must be an int"),
        (cases.periods_in_words, "TypeError", "periods is 'yes'; it must be a bool"),
        (
            cases.arrays_before_the_communicator,
            "TypeError",
            "comm is of type ndarray; it must be a communicator of mpi4py, which comes first: HaloExchange(comm, ",
        ),
        (cases.communicator_without_this_rank, "ValueError", "comm is MPI.COMM_NULL; it must be"),
        (cases.enqueued_on_none, "TypeError", "stream is None; it must be a stream"),
        (cases.started_on_a_name, "TypeError", "stream is 'stream'; it must be a stream"),
        (cases.periods_before_width, "TypeError", "width is True; it must be an int"),
        (cases.width_as_periods, "TypeError", "periods is 2; it must be a bool"),
        (cases.periods_of_too_many_dimensions, "ValueError", "it must have one entry for each of dims"),
        (cases.no_periods, "ValueError", "periods is (); it must have one entry for each of dims"),
        (cases.flags_as_dims, "TypeError", "it must be a sequence of integers"),
        (cases.the_same_array_twice, "ValueError", "arrays 0 and 1 share memory"),
        (cases.an_array_and_its_reverse, "ValueError", "arrays 1 and 2 share memory"),
        (cases.arrays_that_share_a_row, "ValueError", "arrays 0 and 1 share memory"),
        (cases.wrong_stagger, "TypeError", "stagger is (1, 2); it must be a bool"),
        (cases.stagger_of_too_many_dimensions, "ValueError", "stagger is (1, 0, 0), with 3 entries; the array has"),
        (cases.stagger_of_the_wrong_dimension, "ValueError", "array 1 has (7, 5) cells (grid shape (9, 8)"),
        (cases.too_few_cells_for_a_stagger, "ValueError", "and a point at each border of a cell need at least 4"),
        (cases.wrong_width_of_a_field, "ValueError", "width is (1, 1, 1), with 3 entries; the array has shape (8, 8)"),
        (cases.wrong_axes_of_a_field, "ValueError", "axes is (0, 1, 2), with 3 entries; the array has shape (8, 8)"),
        (cases.mask_of_too_many_places, "ValueError", "the places of mask are for 4 ranks; the communicator has 2"),
        (cases.mask_of_numbers, "TypeError", "mask is of dtype float64; it must be an array of bool"),
        (
            cases.mask_of_other_dims,
            "ValueError",
            "mask has shape (2, 1); it must have one entry for each place of (1, 2)",
        ),
        (cases.empty_mask, "ValueError", "no place for a rank"),
        (cases.mask_of_rows_of_different_lengths, "ValueError", "mask is [[True], [True, False]]; all its rows must"),
        (cases.mask_of_one_value, "TypeError", "mask is True; it must be an array"),
        (cases.mask_with_listed_neighbours, "ValueError", "leave dims, periods and mask out"),
        (cases.no_neighbours, "ValueError", "neighbours is None; it must be 'all' or 'faces', or a dict"),
        (cases.neighbours_in_a_named_direction, "TypeError", "a direction in neighbours is 'left'; it must be a"),
        (cases.neighbours_in_no_direction, "ValueError", "neighbours has the direction (0, 0)"),
        (cases.neighbours_two_steps_away, "ValueError", "neighbours has the direction (0, 2)"),
        (cases.neighbour_that_does_not_exist, "ValueError", "neighbours has rank 2 in direction (0, 1)"),
        (cases.neighbour_by_name, "TypeError", "neighbours has 'left' in direction (0, 1); it must be a rank"),
        (cases.one_sided_neighbours, "ValueError", "rank 0 lists rank 1 in direction (0, 1), but rank 1 lists no rank"),
        (cases.listed_neighbours_whose_faces_differ, "ValueError", "but own 6 and 7 cells along dimension 0"),
        (cases.listed_neighbours_with_few_cells, "ValueError", "dimension 1 has 2 own cells"),
        (cases.boundary_that_is_no_function, "TypeError", "boundary is 1; it must be a function"),
        (cases.accumulate_structures, "TypeError", "accumulate adds integers, float32"),
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
        (
            cases.different_widths,
            "widths of array 0 must be the same on all ranks: rank 0 has ((0, 0), (0, 0)), rank 1",
        ),
        (cases.different_dtypes, "dtype of array 0 must be the same on all ranks: rank 0 has int64, rank 1 float64"),
        (
            cases.different_further_axes,
            "further axes of array 0 must be the same on all ranks: rank 0 has (1,), rank 1",
        ),
        (cases.different_numbers_of_arrays, "the number of arrays must be the same on all ranks: rank 0 has 1, rank 1"),
        (
            cases.different_periods,
            "periods must be the same on all ranks: rank 0 has (False, False), rank 1 (True, True)",
        ),
        (
            cases.different_staggers,
            "stagger of array 0 must be the same on all ranks: rank 0 has (0, 1), rank 1 (1, 0)",
        ),
        (cases.neighbours_on_one_rank, "neighbours must be the same on all ranks: rank 0 has a dict, rank 1 'all'"),
        (cases.different_masks, "mask must be the same on all ranks: rank 0 has a mask with 2 ranks"),
        (cases.different_dims, "dims must be the same on all ranks: rank 0 has (1, 2), rank 1 (2, 1)"),
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
        (cases.finish_without_the_stream_of_start, "one that is under way: pass the stream of start to finish, or no"),
        (cases.finish_on_another_stream, "is started on the stream 0x7700; this call needs one that is started on the"),
        (cases.start_after_free, "is freed"),
        (cases.accumulate_after_free, "is freed"),
        (cases.accumulate_while_under_way, "is under way; this call needs one that is idle"),
        (cases.error_half_way, "is under way; this call needs one that is idle"),
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


@needs.fake_device("arrays of the fake device")
def test_gpu_arrays_that_nobody_reaches(ranks):
    found = ranks(1, preload=False, TEMPI_DEVICE="fake").call(worker.error_of, cases.device_arrays)
    assert found[0][0] == "RuntimeError"
    assert "import tempi before mpi4py.MPI" in found[0][1]


def test_gpu_arrays_that_the_shim_does_not_reach(ranks):
    for device in ("none", "fake"):
        job = ranks(1, TEMPI_DEVICE=device, TEMPI_CUDA_AWARE="0")
        ((name, text),) = job.call(worker.error_of, cases.array_that_says_it_is_on_a_gpu)
        assert name == "RuntimeError"
        assert "which this MPI library does not reach by itself: TEMPI does not reach it either" in text
        assert "TEMPI_DEVICE" in text


@pytest.mark.parametrize(
    ("preload", "case", "advice"),
    [
        (False, cases.device_array_beside_a_host_array, "import tempi before mpi4py.MPI"),
        (True, cases.array_that_says_it_is_on_a_gpu_beside_one_that_does_not, "TEMPI does not reach it either"),
    ],
)
@needs.fake_device("arrays of the fake device")
def test_host_and_gpu_arrays_together_need_the_shim(ranks, preload, case, advice):
    job = ranks(1, preload=preload, TEMPI_DEVICE="fake", TEMPI_CUDA_AWARE="1")
    ((name, text),) = job.call(worker.error_of, case)
    assert name == "RuntimeError"
    assert "make an exchange of each kind" in text
    assert advice in text


@needs.fake_device("arrays of the fake device")
def test_a_gpu_without_memory_left_on_one_rank():
    """All ranks raise and free their resources: the next exchange works."""
    fails = {1: {"TEMPI_FAKE_FAIL": "allocate:2"}}  # the first is check_reach's
    with Ranks(2, {"TEMPI_DEVICE": "fake"}, fails) as job:
        other, (name, text) = job.call(worker.error_of, cases.periodic_device_array)
        assert name == "MemoryError"
        assert "left on the GPU" in text
        assert other == ("RuntimeError", f"HaloExchange fails on rank 1: MemoryError: {text}")
        job.call(worker.exchange, Halo((2, 1), (8, 8), ((1, 1),) * 2, (True,) * 2, fields=(Field(kind="device"),)))


@needs.fake_device("arrays of the fake device")
def test_gpu_arrays_that_overlap(ranks):
    ((name, text),) = ranks(1, TEMPI_DEVICE="fake").call(worker.error_of, cases.device_arrays_that_overlap)
    assert (name, text.partition(":")[0]) == ("ValueError", "arrays 0 and 1 share memory")


def test_dims_of_the_array_with_the_fewest_axes(ranks):
    assert ranks(2, preload=False).call(cases.dims_of_the_array_with_the_fewest_axes) == [None, None]


def test_arrays_that_lie_between_each_other_are_exchanged(ranks):
    assert ranks(2, preload=False).call(cases.quantities_of_one_array) == [None, None]


def test_gpu_arrays_are_added_with_tempi_only(ranks):
    job = ranks(1, preload=False, TEMPI_CUDA_AWARE="1")
    ((name, text),) = job.call(worker.error_of, cases.accumulate_on_a_gpu_without_tempi)
    assert (name, text) == ("RuntimeError", "accumulate adds arrays in GPU memory with TEMPI only, which is off")


@pytest.mark.parametrize("use", [cases.copied, cases.copied_deeply, cases.pickled])
def test_an_exchange_cannot_be_copied(ranks, use):
    for name, text in errors(ranks, use):
        assert name == "TypeError"
        assert "cannot be copied or pickled: make another one" in text


def test_an_exchange_says_what_it_does(ranks):
    for rank, (text, html, freed) in enumerate(ranks(2, preload=False).call(cases.texts)):
        assert text.startswith(
            "<HaloExchange, idle: grid of 2 x 1 ranks, periodic along 0, 1, 6 x 6 cells a rank, 2 arrays"
        )
        assert "2 arrays in host memory" in text
        assert "2 neighbours, " in text
        assert "; 1 x copied, without a message)" in text
        assert "(1 x one message of an MPI datatype; " in text or "(1 x packed, one message; " in text
        assert f'<td style="text-align: right">{1 - rank}</td>' in html
        assert "one message" in html
        assert freed.startswith("<HaloExchange, freed")
