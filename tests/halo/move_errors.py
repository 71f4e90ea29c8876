"""Uses of Decomposition with a communicator that must fail on two ranks."""

import numpy as np
from mpi4py import MPI

import tempi

SHAPE = (8, 8)


def grid(dims=(2, 1), **arguments):
    return tempi.Decomposition(SHAPE, dims, **arguments)


def local(comm, dtype="f8"):
    return np.zeros(grid().local_shape(comm.rank), dtype)


def other_shape(comm):
    grid().redistribute(comm, local(comm), tempi.Decomposition((8, 9), (2, 1)))


def no_decomposition(comm):
    grid().redistribute(comm, local(comm), (1, 2))


def too_few_ranks(comm):
    grid().redistribute(comm, local(comm), grid((1, 1)))


def too_many_ranks(comm):
    grid((4, 1)).collect(comm, np.zeros((4, 10)))


def wrong_local_shape(comm):
    grid().collect(comm, np.zeros(SHAPE))


def wrong_local_shape_on_rank_1(comm):
    grid().save(comm, "/nonexistent/file.npy", np.zeros((6 + comm.rank, 10)))


def too_few_axes(comm):
    grid().redistribute(comm, np.zeros(6), grid((1, 2)))


def wrong_out(comm):
    grid().collect(comm, local(comm), np.zeros((8, 9)))


def read_only_out(comm):
    out = np.zeros(SHAPE)
    out.flags.writeable = False
    grid().collect(comm, local(comm), out)


def out_of_another_dtype(comm):
    grid().collect(comm, local(comm), np.zeros(SHAPE, "i8"))


def different_dtypes(comm):
    grid().redistribute(comm, local(comm, "f8" if comm.rank else "f4"), grid((1, 2)))


def no_such_root(comm):
    grid().collect(comm, local(comm), root=2)


def staggered_mask(comm):
    masked = grid((2, 2), mask=[[True, True], [False, False]], stagger=1)
    masked.collect(comm, np.zeros(masked.local_shape(comm.rank)))


def arrays_before_the_communicator(comm):
    grid().redistribute(local(comm), comm, grid((1, 2)))


def no_communicator_to_collect(comm):
    grid().collect(None, local(comm))


def communicator_without_this_rank(comm):
    grid().collect(MPI.COMM_NULL, local(comm))


def no_communicator_to_save(comm):
    grid().save("/nonexistent/file.npy", comm, local(comm))


def array_before_the_path(comm):
    grid().save(comm, local(comm), "/nonexistent/file.npy")


def root_by_name(comm):
    grid().collect(comm, local(comm), root="first")


def no_array(comm):
    grid().redistribute(comm, None, grid((1, 2)))


def root_as_out(comm):
    grid().collect(comm, local(comm), 0)


def objects(comm):
    grid().collect(comm, local(comm, object))


def different_paths(comm):
    grid().save(comm, f"/nonexistent/{comm.rank}", local(comm))


def path_that_does_not_exist(comm):
    try:
        grid().save(comm, "/nonexistent/file.npy", local(comm))
    except MPI.Exception as error:  # each library has its own words
        raise OSError("MPI raises an exception") from error


def gpu_array_without_out(comm):
    from tempi.testing import FakeArray

    array = FakeArray(grid().local_shape(comm.rank), "f8")
    grid().redistribute(comm, array, grid((1, 2)))
