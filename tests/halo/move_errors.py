"""Uses of Decomposition with a communicator that must fail on two ranks."""

import os
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import numpy as np
from mpi4py import MPI

import tempi
from tempi.halo import block_file

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
    grid().save(comm, "/nonexistent/file.npy", local(comm))


def path_of_a_folder(comm):
    grid().save(comm, "/tmp", local(comm))


@contextmanager
def in_folder(name):
    before = os.getcwd()
    os.chdir(name)
    try:
        yield
    finally:
        os.chdir(before)


def path_that_one_rank_lacks(comm):
    """The file is relative to the folder of each rank."""
    with TemporaryDirectory() as folder, in_folder(folder):
        if comm.rank == 0:
            os.mkdir("results")
        grid().save(comm, "results/file.npy", local(comm))


def file_that_cannot_be_opened(comm):
    grid().save(comm, "/proc/file.npy", local(comm))


def header_that_one_rank_cannot_write(comm):
    """The file is open, and the next steps are collective: the other rank must not begin them."""
    write_header = block_file._write_header

    def fails(*arguments):
        write_header(*arguments)
        raise MPI.Exception(MPI.ERR_NO_SPACE)

    block_file._write_header = fails if comm.rank == 0 else write_header
    try:
        with TemporaryDirectory() as folder:
            grid().save(comm, comm.bcast(f"{folder}/file.npy"), local(comm))
    finally:
        block_file._write_header = write_header


def different_roots(comm):
    grid().collect(comm, local(comm), root=comm.rank)


def different_dims(comm):
    dims = (2, 1) if comm.rank else (1, 2)
    grid(dims).collect(comm, np.zeros(grid(dims).local_shape(comm.rank)))


def different_dims_of_other(comm):
    grid().redistribute(comm, local(comm), grid((2, 1) if comm.rank else (1, 2)))


def different_staggers(comm):
    uneven = grid(stagger=comm.rank)
    uneven.save(comm, "/nonexistent/file.npy", np.zeros(uneven.local_shape(comm.rank)))


def different_shapes(comm):
    uneven = tempi.Decomposition((8, 8 + comm.rank), (2, 1))
    uneven.collect(comm, np.zeros(uneven.local_shape(comm.rank)))


def different_axes(comm):
    uneven = tempi.Decomposition(SHAPE, (2, 1), axes=(1, 0) if comm.rank else (0, 1))
    shape = uneven.local_shape(comm.rank)
    uneven.save(comm, "/nonexistent/file.npy", np.zeros(shape[::-1] if comm.rank else shape))


def gpu_array_without_out(comm):
    from tempi.testing import FakeArray

    array = FakeArray(grid().local_shape(comm.rank), "f8")
    grid().redistribute(comm, array, grid((1, 2)))
