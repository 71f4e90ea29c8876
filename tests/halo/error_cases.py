"""Uses of HaloExchange that must fail; each is called with the communicator on every rank."""

from __future__ import annotations

import copy
import pickle

import numpy as np
from mpi4py import MPI

import tempi

SQUARE = (8, 8)


def square(dtype="f8"):
    return np.zeros(SQUARE, dtype)


def wider_than_own(comm):
    tempi.HaloExchange(comm, square(), (1, 3), periods=True)


def wider_than_own_on_rank_0(comm):
    tempi.HaloExchange(comm, np.zeros((8, 9 if comm.rank else 8)), (1, 3), dims=(comm.size, 1), periods=True)


def no_own_cells(comm):
    tempi.HaloExchange(comm, square(), 4)


def wrong_number_of_ranks(comm):
    tempi.HaloExchange(comm, np.zeros(8), dims=(3,))


def too_many_dimensions(comm):
    tempi.HaloExchange(comm, np.zeros((3,) * 7), dims=(1, comm.size, 1, 1, 1, 1, 1))


def which_axes(comm):
    tempi.HaloExchange(comm, np.zeros((8,) * 4))


def cube():
    return np.zeros((8, 8, 8))


def width_of_two_of_three_axes(comm):
    tempi.HaloExchange(comm, cube(), width=(1, 1))


def periods_of_two_of_three_axes(comm):
    tempi.HaloExchange(comm, cube(), periods=(True, True))


def dims_of_two_of_three_axes(comm):
    tempi.HaloExchange(comm, [cube(), cube()], dims=(0, 0), periods=True)


def dims_of_four_for_three_axes(comm):
    tempi.HaloExchange(comm, cube(), dims=(comm.size, 1, 1, 1))


def stagger_of_two_of_three_axes(comm):
    tempi.HaloExchange(comm, tempi.Field(cube(), stagger=(1, 0)))


def wrong_axes(comm):
    tempi.HaloExchange(comm, square(), axes=(0, 2))


def twice_the_same_axis(comm):
    tempi.HaloExchange(comm, square(), axes=(0, -2))


def axes_of_too_few_arrays(comm):
    tempi.HaloExchange(comm, [square(), square()], axes=[(0, 1)])


def different_grids(comm):
    tempi.HaloExchange(comm, [square(), np.zeros((8, 9))])


def width_of_three_sides(comm):
    tempi.HaloExchange(comm, square(), (1, (1, 2, 3)))


def width_of_other_dimensions(comm):
    tempi.HaloExchange(comm, square(), (1, 1, 1), dims=(comm.size, 1))


def negative_width(comm):
    tempi.HaloExchange(comm, square(), (1, (0, -1)))


def some_neighbours(comm):
    tempi.HaloExchange(comm, square(), neighbours="some")


def other_periods_than_the_communicator(comm):
    cartesian = comm.Create_cart((comm.size, 1), (True, False))
    try:
        tempi.HaloExchange(cartesian, square(), periods=True)
    finally:
        cartesian.Free()


def read_only(comm):
    array = square()
    array.flags.writeable = False
    tempi.HaloExchange(comm, [square(), array])


def broadcast(comm):
    tempi.HaloExchange(comm, np.lib.stride_tricks.as_strided(np.zeros(8), SQUARE, (0, 8)))


def objects(comm):
    tempi.HaloExchange(comm, square(object))


def no_array(comm):
    tempi.HaloExchange(comm, "array")


def second_array_is_none(comm):
    tempi.HaloExchange(comm, [square(), None])


def array_without_axes(comm):
    tempi.HaloExchange(comm, np.array(1.0))


def nothing(comm):
    tempi.HaloExchange(comm, [])


def different_widths(comm):
    tempi.HaloExchange(comm, square(), comm.rank)


def different_dtypes(comm):
    tempi.HaloExchange(comm, square("f8" if comm.rank else "i8"))


def different_further_axes(comm):
    tempi.HaloExchange(comm, np.zeros((8, 8, comm.rank + 1)), axes=(0, 1))


def different_numbers_of_arrays(comm):
    tempi.HaloExchange(comm, [square() for _ in range(comm.rank + 1)])


def different_periods(comm):
    tempi.HaloExchange(comm, square(), periods=comm.rank)


def different_dims(comm):
    tempi.HaloExchange(comm, square(), dims=(comm.size, 1) if comm.rank else (1, comm.size))


def blocks_that_do_not_meet(comm):
    tempi.HaloExchange(comm, np.zeros((8, 8 + comm.rank)), dims=(comm.size, 1))


def start_twice(comm):
    exchange = tempi.HaloExchange(comm, square())
    exchange.start()
    try:
        exchange.start()
    finally:
        exchange.finish()
        exchange.free()


def start_on_a_small_number(comm):
    with tempi.HaloExchange(comm, square()) as exchange:
        exchange.start(5)


def finish_without_the_stream_of_start(comm):
    exchange = tempi.HaloExchange(comm, square())
    exchange.start(0x7700)
    try:
        exchange.finish()
    finally:
        exchange.finish(0x7700)
        exchange.free()


def finish_on_another_stream(comm):
    exchange = tempi.HaloExchange(comm, square())
    exchange.start(0x7700)
    try:
        exchange.finish(0x7800)
    finally:
        exchange.finish(0x7700)
        exchange.free()


def wider_than_the_array(comm):
    tempi.HaloExchange(comm, square(), width=5)


def finish_what_has_not_begun(comm):
    with tempi.HaloExchange(comm, square()) as exchange:
        exchange.finish()


def free_while_under_way(comm):
    exchange = tempi.HaloExchange(comm, square())
    exchange.start()
    try:
        exchange.free()
    finally:
        exchange.finish()
        exchange.free()


def start_after_free(comm):
    with tempi.HaloExchange(comm, square()) as exchange:
        exchange()
    exchange.start()


def exception_while_under_way(comm):
    with tempi.HaloExchange(comm, square(), periods=True) as exchange:
        exchange.start()
        return 1 // (comm.size - 1)


def device_arrays(comm):
    from tempi.testing import FakeArray

    tempi.HaloExchange(comm, FakeArray(SQUARE, "f8"))


def periodic_device_array(comm):
    from tempi.testing import FakeArray

    tempi.HaloExchange(comm, FakeArray(SQUARE, "f8"), periods=True)


def device_array_beside_a_host_array(comm):
    from tempi.testing import FakeArray

    tempi.HaloExchange(comm, [FakeArray(SQUARE, "f8"), square()])


class SaysItIsOnAGpu:
    """Host memory."""

    def __init__(self):
        self.memory = square()
        self.__cuda_array_interface__ = self.memory.__array_interface__ | {"version": 3, "stream": None}


def array_that_says_it_is_on_a_gpu(comm):
    tempi.HaloExchange(comm, SaysItIsOnAGpu())


def array_that_says_it_is_on_a_gpu_beside_one_that_does_not(comm):
    tempi.HaloExchange(comm, [SaysItIsOnAGpu(), square()])


def error_half_way(comm):
    exchange = tempi.HaloExchange(comm, square())
    exchange._messages.start = None
    try:
        exchange.start()
    except TypeError:  # None cannot be called
        del exchange._messages.start
    try:
        exchange.start()
    finally:
        exchange.finish()
        exchange.free()


def axes_that_are_no_numbers(comm):
    tempi.HaloExchange(comm, square(), axes=(0.0, 1.0))


def axes_of_seven_dimensions(comm):
    tempi.HaloExchange(comm, np.zeros((3,) * 7), axes=range(7))


def fractional_dims(comm):
    tempi.HaloExchange(comm, square(), dims=(comm.size, 1.0))


def one_number_as_dims(comm):
    tempi.HaloExchange(comm, square(), dims=comm.size)


def dims_that_do_not_divide(comm):
    tempi.HaloExchange(comm, square(), dims=(3, 0))


def fractional_width(comm):
    tempi.HaloExchange(comm, square(), 1.5)


def width_in_words(comm):
    tempi.HaloExchange(comm, square(), "xy")


def width_as_dict(comm):
    tempi.HaloExchange(comm, square(), {0: 1})


def periods_in_words(comm):
    tempi.HaloExchange(comm, square(), periods="yes")


def the_same_array_twice(comm):
    array = square()
    tempi.HaloExchange(comm, [array, array])


def an_array_and_its_reverse(comm):
    array = square()
    tempi.HaloExchange(comm, [square(), array, array[::-1]])


def arrays_that_share_a_row(comm):
    array = np.zeros((15, 8))
    tempi.HaloExchange(comm, [array[:8], array[7:]])


def device_arrays_that_overlap(comm):
    from tempi.testing import FakeArray

    array = FakeArray(SQUARE, "f8")
    tempi.HaloExchange(comm, [array, array])


def copied(comm):
    with tempi.HaloExchange(comm, square()) as exchange:
        copy.copy(exchange)


def copied_deeply(comm):
    with tempi.HaloExchange(comm, square()) as exchange:
        copy.deepcopy([exchange])


def pickled(comm):
    with tempi.HaloExchange(comm, square()) as exchange:
        pickle.dumps(exchange)


def quantities_of_one_array():
    """They lie between each other, and share no cell."""
    comm = MPI.COMM_WORLD
    array = np.zeros((8, 8, 3))
    halves = np.zeros((8, 16))
    with tempi.HaloExchange(comm, [*np.moveaxis(array, 2, 0), halves[:, ::2], halves[:, 1::2]]) as exchange:
        exchange()


def arrays_before_the_communicator(comm):
    tempi.HaloExchange(square(), comm)


def communicator_without_this_rank(comm):
    tempi.HaloExchange(MPI.COMM_NULL, square())


def enqueued_on_none(comm):
    with tempi.HaloExchange(comm, square()) as exchange:
        exchange.enqueue(None)


def started_on_a_name(comm):
    with tempi.HaloExchange(comm, square()) as exchange:
        exchange.start("stream")


def periods_before_width(comm):
    tempi.HaloExchange(comm, square(), True)


def width_as_periods(comm):
    tempi.HaloExchange(comm, square(), 1, 2)


def periods_of_too_many_dimensions(comm):
    tempi.HaloExchange(comm, square(), periods=(True, True, True), dims=(comm.size, 1))


def no_periods(comm):
    tempi.HaloExchange(comm, square(), periods=(), dims=(comm.size, 1))


def flags_as_dims(comm):
    tempi.HaloExchange(comm, square(), dims=(True, comm.size))


def wrong_stagger(comm):
    tempi.HaloExchange(comm, tempi.Field(square(), stagger=(1, 2)))


def stagger_of_too_many_dimensions(comm):
    tempi.HaloExchange(comm, [square(), tempi.Field(square(), stagger=(1, 0, 0))], dims=(comm.size, 1))


def stagger_of_the_wrong_dimension(comm):
    tempi.HaloExchange(comm, [square(), tempi.Field(np.zeros((9, 8)), stagger=(0, 1))])


def too_few_cells_for_a_stagger(comm):
    array = tempi.Field(np.zeros((8, 8)), width=(1, 3), stagger=True)
    tempi.HaloExchange(comm, array, periods=True)


def wrong_width_of_a_field(comm):
    tempi.HaloExchange(comm, tempi.Field(square(), width=(1, 1, 1)), dims=(comm.size, 1))


def wrong_axes_of_a_field(comm):
    tempi.HaloExchange(comm, [square(), tempi.Field(square(), axes=(0, 1, 2))], dims=(comm.size, 1))


def dims_of_the_array_with_the_fewest_axes():
    """Both arrays, so that `dims` leaves out no axis of all arrays; the third axis of one are values."""
    comm = MPI.COMM_WORLD
    one, three = np.zeros((4, 4)), np.zeros((4, 4, 3))
    one[1:-1, 1:-1] = three[1:-1, 1:-1] = 1
    with tempi.HaloExchange(comm, [three, one], dims=(0, 0), periods=True) as exchange:
        exchange()
    assert (one == 1).all()
    assert (three == 1).all()


def different_staggers(comm):
    array = np.zeros((9, 8)) if comm.rank else np.zeros((8, 9))
    tempi.HaloExchange(comm, tempi.Field(array, stagger=(1, 0) if comm.rank else (0, 1)))


def mask_of_too_many_places(comm):
    tempi.HaloExchange(comm, square(), mask=np.ones((2, 2), bool))


def mask_of_numbers(comm):
    tempi.HaloExchange(comm, square(), mask=np.ones((comm.size, 1)))


def mask_of_other_dims(comm):
    tempi.HaloExchange(comm, square(), dims=(1, comm.size), mask=np.ones((comm.size, 1), bool))


def empty_mask(comm):
    tempi.HaloExchange(comm, square(), mask=np.zeros((comm.size, 1), bool))


def different_masks(comm):
    mask = [[True, True, False], [True, False, True]][comm.rank]
    tempi.HaloExchange(comm, np.zeros(6), mask=mask)


def mask_of_rows_of_different_lengths(comm):
    tempi.HaloExchange(comm, square(), mask=[[True], [True, False]])


def mask_of_one_value(comm):
    tempi.HaloExchange(comm, square(), mask=True)


def mask_with_listed_neighbours(comm):
    tempi.HaloExchange(comm, square(), neighbours={(0, 1): comm.rank}, mask=np.ones((1, 1), bool))


def no_neighbours(comm):
    tempi.HaloExchange(comm, square(), neighbours=None)


def neighbours_in_a_named_direction(comm):
    tempi.HaloExchange(comm, square(), neighbours={"left": 1})


def neighbours_in_no_direction(comm):
    tempi.HaloExchange(comm, square(), neighbours={(0, 0): 1})


def neighbours_two_steps_away(comm):
    tempi.HaloExchange(comm, square(), neighbours={(0, 2): 1})


def neighbour_that_does_not_exist(comm):
    tempi.HaloExchange(comm, square(), neighbours={(0, 1): comm.size})


def neighbour_by_name(comm):
    tempi.HaloExchange(comm, square(), neighbours={(0, 1): "left"})


def one_sided_neighbours(comm):
    tempi.HaloExchange(comm, square(), neighbours={} if comm.rank else {(0, 1): 1})


def neighbours_on_one_rank(comm):
    tempi.HaloExchange(comm, square(), neighbours="all" if comm.rank else {})


def listed_neighbours_whose_faces_differ(comm):
    neighbours = {(0, -1): 0} if comm.rank else {(0, 1): 1}
    tempi.HaloExchange(comm, np.zeros((8 + comm.rank, 8)), neighbours=neighbours)


def listed_neighbours_with_few_cells(comm):
    neighbours = {(0, -1): 0} if comm.rank else {(0, 1): 1}
    tempi.HaloExchange(comm, square(), 3, neighbours=neighbours)


def boundary_that_is_no_function(comm):
    tempi.HaloExchange(comm, square(), boundary=1)


def accumulate_structures(comm):
    with tempi.HaloExchange(comm, square("f4,i4")) as exchange:
        exchange.accumulate()


def accumulate_on_a_gpu_without_tempi(comm):
    exchange = tempi.HaloExchange(comm, SaysItIsOnAGpu())
    try:
        exchange()
        exchange.accumulate()
    finally:
        exchange.free()


def accumulate_after_free(comm):
    with tempi.HaloExchange(comm, square()) as exchange:
        exchange.accumulate()
    exchange.accumulate()


def accumulate_while_under_way(comm):
    exchange = tempi.HaloExchange(comm, square())
    exchange.start()
    try:
        exchange.accumulate()
    finally:
        exchange.finish()
        exchange.free()


def texts():
    """Of an exchange on a periodic ring: while it lives, and when it is freed."""
    comm = MPI.COMM_WORLD
    with tempi.HaloExchange(comm, [square(), square("f4")], periods=True, dims=(comm.size, 1)) as exchange:
        exchange()
        alive = repr(exchange), exchange._repr_html_()
    return *alive, repr(exchange)
