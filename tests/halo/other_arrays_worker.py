"""The ranks of test_other_arrays.py."""

from __future__ import annotations

import numpy as np
from grid_cases import Grid
from grid_worker import COMM, OneField, as_bytes, make

import tempi
from support import equal

SHAPE = (6, 6)


def two_at_once(grid: Grid, other: Grid) -> None:
    """The ranks start and finish them in different orders; then the adjoint of the second one alone."""
    first, second = ([OneField(each, i, "bytes") for i in range(len(each.fields))] for each in (grid, other))
    one = make(grid, first)
    two = one.with_arrays([field.array.array for field in second])
    for exchange in (one, two) if COMM.rank % 2 else (two, one):
        exchange.start()
    for exchange in (one, two) if COMM.rank % 3 else (two, one):
        exchange.finish()
    for field in (*first, *second):
        field.array.check(field.filled())
    one.free()
    two()
    two.free()
    accumulate(grid, other)


def accumulate(grid: Grid, other: Grid) -> None:
    first, second = ([OneField(each, i, "numbers") for i in range(len(each.fields))] for each in (grid, other))
    with make(grid, first) as one, one.with_arrays([field.array.array for field in second]) as two:
        wanted = [field.accumulated() for field in (*second, *first)]
        two.accumulate()
        one.accumulate()
    for field, after in zip((*second, *first), wanted, strict=True):
        field.array.check(as_bytes(after))


def many(count: int) -> int:
    """The number of tags that so many exchanges take, two at a time."""
    tags = set()
    with tempi.HaloExchange(COMM, np.zeros(SHAPE), periods=True) as first:
        for number in range(count):
            array = np.zeros(SHAPE)
            array[1:-1, 1:-1] = number
            with first.with_arrays(array) as made:
                made()
                tags.add(made._bound._tag)
            assert (array == number).all()
    return len(tags) + 1


def boundary() -> None:
    def fill(face: tempi.Face) -> None:
        face.array[face.ghost] = face.number + 1

    one, two = np.zeros(SHAPE), np.zeros(SHAPE)
    with tempi.HaloExchange(COMM, one, dims=(COMM.size, 1), boundary=fill) as exchange:
        with exchange.with_arrays(two) as other:
            other()
        assert (one == 0).all()
        exchange()
    equal.check(one, two)
    assert (two[1:-1, 0] == 1).all()


def fewer_arrays(comm):
    with tempi.HaloExchange(comm, [np.zeros(SHAPE), np.zeros(SHAPE)]) as exchange:
        exchange.with_arrays(np.zeros(SHAPE))


def another_dtype(comm):
    with tempi.HaloExchange(comm, np.zeros(SHAPE)) as exchange:
        exchange.with_arrays(np.zeros(SHAPE, "f4"))


def another_shape(comm):
    with tempi.HaloExchange(comm, np.zeros(SHAPE)) as exchange:
        exchange.with_arrays(np.zeros((6, 7)))


def another_stagger(comm):
    with tempi.HaloExchange(comm, np.zeros(SHAPE)) as exchange:
        exchange.with_arrays(tempi.Field(np.zeros(SHAPE), stagger=(1, 0)))


def of_a_freed_exchange(comm):
    with tempi.HaloExchange(comm, np.zeros(SHAPE)) as exchange:
        pass
    exchange.with_arrays(np.zeros(SHAPE))
