"""Decomposition.redistribute, collect and save: own cells at their places in other arrays, and nothing else changed."""

import halo_worker
import move_errors as cases
import moves_worker as worker
import pytest
from halo_cases import DTYPES, LAYOUTS, Field
from halo_strategies import dims_of
from hypothesis import given
from hypothesis import strategies as st

from support import needs
from support.effort import examples
from support.messages import KINDS

FAKE = {"TEMPI_DEVICE": "fake"}


@st.composite
def pairs(draw, n_ranks, kinds=("host",)):
    """Two grids with the same global array."""
    n_dims = draw(st.integers(1, 4))
    further = draw(st.sampled_from(((), (2,), (1, 3), (0,))))
    dtype = draw(st.sampled_from(DTYPES))
    stagger = tuple(draw(st.integers(0, 1)) for _ in range(n_dims))
    periods = tuple(draw(st.booleans()) for _ in range(n_dims))
    dims = [draw(st.sampled_from(dims_of(n_ranks, n_dims))) for _ in "ab"]
    widths = [tuple((draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in range(n_dims)) for _ in "ab"]
    shape = tuple(max(dims[0][d], dims[1][d]) * 3 + draw(st.integers(0, 4)) for d in range(n_dims))
    made = []
    for i in range(2):
        order = draw(st.none() | st.permutations(range(n_dims + len(further))))
        layouts = tuple(draw(st.lists(st.sampled_from(LAYOUTS), min_size=1, max_size=2)))
        axes = None if order is None else tuple(order[:n_dims])
        field = Field(dtype, further, axes, layouts, draw(st.sampled_from(kinds)))
        made.append(worker.Grid(shape, dims[i], widths[i], periods, stagger, field))
    return made


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
@examples(30, shrinks=False)
@given(data=st.data())
def test_redistribute_without_the_shim(ranks, n_ranks, data):
    ranks(n_ranks, preload=False).call(worker.redistribute, *data.draw(pairs(n_ranks)), data.draw(st.integers(0, 999)))


@pytest.mark.parametrize("n_ranks", [1, 4, 6])
@examples(20, shrinks=False)
@given(data=st.data())
def test_redistribute_in_any_memory(ranks, n_ranks, data):
    one, other = data.draw(pairs(n_ranks, ("device", *KINDS)))
    ranks(n_ranks, **FAKE).call(worker.redistribute, one, other, data.draw(st.integers(0, 999)))


@pytest.mark.parametrize("kinds", [("host",), ("device", *KINDS)], ids=["host", "any memory"])
@pytest.mark.parametrize("n_ranks", [1, 2, 4])
@examples(20, shrinks=False)
@given(data=st.data())
def test_collect_and_save(ranks, tmp_path_factory, n_ranks, kinds, data):
    grid, _ = data.draw(pairs(n_ranks, kinds))
    job = ranks(n_ranks, preload=False) if kinds == ("host",) else ranks(n_ranks, **FAKE)
    path = str(tmp_path_factory.mktemp("files") / "array.npy")
    job.call(worker.collect_and_save, grid, data.draw(st.integers(0, 999)), path)


def test_places_without_a_rank_are_zero(ranks, tmp_path):
    mask = (True, False, True, True)
    grid = worker.Grid((5, 6), (2, 2), ((1, 1), (0, 2)), (False, True), (0, 0), Field("<f4", (2,)), mask)
    ranks(3, preload=False).call(worker.collect_and_save, grid, 5, str(tmp_path / "array.npy"))


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (cases.other_shape, "ValueError", "the global array has shape (8, 8), that of other (8, 9)"),
        (cases.no_decomposition, "TypeError", "other is (1, 2); it must be a Decomposition"),
        (
            cases.arrays_before_the_communicator,
            "TypeError",
            "comm is of type ndarray; it must be a communicator of mpi4py, which comes first: redistribute(comm, ",
        ),
        (cases.no_communicator_to_collect, "TypeError", "comm is None; it must be a communicator of mpi4py"),
        (cases.communicator_without_this_rank, "ValueError", "comm is MPI.COMM_NULL; it must be"),
        (cases.no_communicator_to_save, "TypeError", "which comes first: save(comm, path, array)"),
        (cases.array_before_the_path, "TypeError", "path is of type ndarray; it must be a str or a path"),
        (cases.root_by_name, "TypeError", "root is 'first'; it must be an integer"),
        (cases.no_array, "TypeError", "the array is None; it must be an array"),
        (cases.root_as_out, "TypeError", "out is 0; it must be an array"),
        (cases.too_few_ranks, "ValueError", "dims (1, 1) are for 1 rank; the communicator has 2"),
        (cases.too_many_ranks, "ValueError", "dims (4, 1) are for 4 ranks; the communicator has 2"),
        (cases.wrong_local_shape, "ValueError", "the array has shape (8, 8); along axes (0, 1) it must be (6, 10)"),
        (cases.wrong_local_shape_on_rank_1, "ValueError", "the array has shape (7, 10)"),
        (cases.too_few_axes, "ValueError", "the array has shape (6,), so 1 axis, but the grid has 2"),
        (cases.wrong_out, "ValueError", "out has shape (8, 9)"),
        (cases.read_only_out, "ValueError", "out is read-only"),
        (cases.out_of_another_dtype, "ValueError", "must have the same dtype and further axes"),
        (cases.different_dtypes, "ValueError", "an array of rank 0 has dtype float32, one of rank 1 dtype float64"),
        (cases.no_such_root, "ValueError", "root is 2; the communicator has 2 ranks"),
        (cases.staggered_mask, "ValueError", "two ranks may own a point"),
        (cases.objects, "TypeError", "Python objects"),
        (cases.different_paths, "ValueError", "path must be the same on all ranks: rank 0 has /nonexistent/0"),
        (cases.path_that_does_not_exist, "OSError", "file.npy cannot be written: this node has no folder /nonexist"),
        (cases.path_of_a_folder, "OSError", "the file /tmp cannot be written: it is a folder"),
        (cases.path_that_one_rank_lacks, "OSError", "file.npy cannot be written: this node has no folder results"),
        (cases.file_that_cannot_be_opened, "OSError", "the file /proc/file.npy cannot be opened for writing: "),
        (cases.header_that_one_rank_cannot_write, "OSError", "file.npy cannot be written"),
        (cases.different_roots, "ValueError", "root must be the same on all ranks: rank 0 has 0, rank 1 1"),
        (cases.different_dims, "ValueError", "dims must be the same on all ranks: rank 0 has (1, 2), rank 1 (2, 1)"),
        (cases.different_dims_of_other, "ValueError", "dims of other must be the same on all ranks"),
        (cases.different_staggers, "ValueError", "global_shape must be the same on all ranks: rank 0 has (8, 8), "),
        (cases.different_shapes, "ValueError", "shape must be the same on all ranks: rank 0 has (8, 8), rank 1 (8, 9)"),
        (cases.different_axes, "ValueError", "axes must be the same on all ranks: rank 0 has [0, 1], rank 1 [1, 0]"),
    ],
)
def test_errors_on_all_ranks(ranks, make, kind, words):
    found = ranks(2, preload=False).call(halo_worker.error_of, make)
    assert all(words in text for _, text in found)
    assert kind in {name for name, _ in found} <= {kind, "ValueError"}


@needs.fake_device("arrays of the fake device")
def test_gpu_arrays_need_out(ranks):
    for name, text in ranks(2, **FAKE).call(halo_worker.error_of, cases.gpu_array_without_out):
        assert (name, text) == ("ValueError", "the array is in GPU memory: pass out, an array of the same library")
