"""The ranks of test_halo_exchange.py."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from halo_arrays import Array
from halo_cases import Field, Halo, expected, own_indices, random_cells
from mpi4py import MPI

import tempi
from support import outcomes
from tempi.cuda.device_memory import DeviceMemory

COMM = MPI.COMM_WORLD
ROUNDS = 2


class Fields:
    """This rank's arrays of a case, and the global ones that they are cut from."""

    def __init__(self, halo: Halo) -> None:
        self.halo = halo
        self.arrays = []
        for i, field in enumerate(halo.fields):
            own = [len(index) for index in own_indices(halo, COMM.rank)]
            local = [n + low + high for n, (low, high) in zip(own, halo.widths, strict=True)]
            junk = random_cells(halo.seed + 77 * i + COMM.rank, (*local, *field.further), field.numpy_dtype.itemsize)
            self.arrays.append(Array(field, COMM.rank, junk))
        self.turn(0)

    def turn(self, number: int) -> None:
        """New contents of all own cells."""
        own = own_indices(self.halo, COMM.rank)
        inside = tuple(slice(low, low + len(index)) for (low, _), index in zip(self.halo.widths, own, strict=True))
        self.wholes = []
        for i, (field, array) in enumerate(zip(self.halo.fields, self.arrays, strict=True)):
            seed = self.halo.seed + 1000 * (number + 1) + i
            whole = random_cells(seed, (*self.halo.shape, *field.further), field.numpy_dtype.itemsize)
            array.write(inside, whole[np.ix_(*own)])
            self.wholes.append(whole)
        self.before = [array.cells() for array in self.arrays]

    def exchange(self) -> tempi.HaloExchange:
        halo, comm = self.halo, COMM
        if halo.cartesian:
            comm = COMM.Create_cart(halo.dims, halo.periods)
        axes = [field.axes or tuple(range(len(halo.dims))) for field in halo.fields]
        made = tempi.HaloExchange(
            comm,
            [array.array for array in self.arrays],
            halo.widths,
            None if halo.cartesian else halo.periods,
            dims=None if halo.cartesian else halo.dims,
            neighbours=halo.neighbours,
            axes=axes,
        )
        if halo.cartesian:
            comm.Free()
        return made

    def check(self) -> None:
        for array, whole, before in zip(self.arrays, self.wholes, self.before, strict=True):
            array.check(expected(self.halo, COMM.rank, whole, before))


def exchange(halo: Halo) -> None:
    fields = Fields(halo)
    with fields.exchange() as made:
        for turn in range(ROUNDS):
            fields.turn(turn)
            made()
            fields.check()


def two_at_once(first: Halo, second: Halo) -> None:
    """Several exchanges on one communicator; the ranks start and finish them in different orders."""
    fields = [Fields(first), Fields(second)]
    made = [each.exchange() for each in fields]
    for turn in range(ROUNDS):
        for each in fields:
            each.turn(turn)
        forward = (COMM.rank + turn) % 2 == 0
        for one in made if forward else made[::-1]:
            one.start()
        for one in made[::-1] if COMM.rank % 3 else made:
            one.finish()
        for each in fields:
            each.check()
    for one in made:
        one.free()


def strangers(halo: Halo) -> None:
    """The program's own messages to the same ranks, with any tag, while an exchange is under way."""
    fields = Fields(halo)
    with fields.exchange() as made:
        mine, theirs = np.full(3, COMM.rank), np.zeros(3, int)
        right, left = (COMM.rank + 1) % COMM.size, (COMM.rank - 1) % COMM.size
        received = COMM.Irecv(theirs, MPI.ANY_SOURCE, MPI.ANY_TAG)
        made.start()
        COMM.Send(mine, right)
        received.Wait()
        made.finish()
    fields.check()
    assert (theirs == left).all()


def messages_of(halo: Halo) -> outcomes.Rows:
    """The counters of the calls by which this rank makes an exchange and uses it twice."""
    fields = Fields(halo)
    before = outcomes.rows()
    with fields.exchange() as made:
        made()
        made()
    return outcomes.rows() - before


def error_of(make: Callable[..., object], *arguments: object) -> tuple[str, str]:
    """The type and the text of what a function raises on this rank."""
    try:
        made = make(COMM, *arguments)
    except Exception as error:
        return type(error).__name__, str(error)
    raise AssertionError(f"it should have raised, and returned {made}")


def memory_after_free(kind: str) -> int:
    """Bytes of an exchange's own that are left once it is freed. It has more than a mebibyte in GPU memory."""
    shape, face_bytes = (3, 512, 512), 512 * 512 * 8
    fields = Fields(Halo((1, 1, 1), shape, ((1, 1), (0, 0), (0, 0)), (True,) * 3, fields=(Field(kind=kind),)))
    fields.exchange().free()  # what is imported, and kept, once
    tracemalloc.start()
    before = own_memory()
    made = fields.exchange()
    if kind == "device":
        assert own_memory() - before > face_bytes // 2
    made.free()
    gc.collect()
    left = own_memory() - before
    tracemalloc.stop()
    return left


def own_memory() -> int:
    """Bytes on the host that Python knows of, and on the GPU for messages, where each has at least 2 MiB here."""
    on_gpu = sum(isinstance(one, DeviceMemory) for one in gc.get_objects())
    return tracemalloc.get_traced_memory()[0] + on_gpu * (2 << 20)


def check_grid(arguments: dict[str, Any], shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
    """The exchange has this grid of ranks, and a periodic one fills the ghost cells of its axes."""
    array, inside = np.zeros(shape), [slice(None)] * len(shape)
    axes = np.ravel(arguments.get("axes", range(len(dims))))
    for axis, width in zip(axes, np.broadcast_to(arguments.get("width", 1), len(dims)), strict=True):
        inside[axis] = slice(width, -width)
    array[tuple(inside)] = 1
    with tempi.HaloExchange(COMM, array, **arguments) as made:
        assert made.grid.dims == dims
        assert made.grid.periods == (True,) * len(dims)
        assert all(type(one) is bool for one in made.grid.periods)
        made()
        assert (array == 1).all()
