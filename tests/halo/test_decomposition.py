"""Geometry without MPI: grids of ranks, ghost regions, blocks of global arrays."""

import math
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.effort import examples
from tempi.halo.decomposition import Decomposition
from tempi.halo.ghosts import widths_of
from tempi.halo.layout import Layout
from tempi.halo.process_grid import ProcessGrid, directions, opposite
from tempi.halo.regions import exchanged_regions


@st.composite
def decompositions(draw):
    n_dims = draw(st.integers(1, 4))
    dims = [draw(st.integers(1, 3)) for _ in range(n_dims)]
    widths = [(draw(st.integers(0, 3)), draw(st.integers(0, 3))) for _ in dims]
    shape = [n * max(1, *pair) + draw(st.integers(0, 7)) for n, pair in zip(dims, widths, strict=True)]
    return Decomposition(tuple(shape), tuple(dims), widths, [draw(st.booleans()) for _ in dims])


def cells(region):
    return set(product(*(range(part.start, part.stop) for part in region)))


@examples(200)
@given(decompositions())
def test_blocks_cover_the_grid_once(decomposition):
    owners = np.zeros(decomposition.shape, int)
    for rank in range(decomposition.grid.size):
        owners[decomposition.block(rank)] += 1
    assert (owners == 1).all()


@examples(200)
@given(decompositions(), st.integers(0, 2), st.randoms())
def test_gather_is_the_inverse_of_scatter(decomposition, n_further, drawn):
    order = list(range(len(decomposition.shape) + n_further))
    drawn.shuffle(order)
    axes = tuple(order[: len(decomposition.shape)])
    shape = [0] * len(order)
    for axis, n in zip(order, [*decomposition.shape, 2, 3], strict=False):
        shape[axis] = n
    whole = np.arange(prod(shape)).reshape(shape)
    moved = Decomposition(decomposition.shape, decomposition.dims, decomposition.width, decomposition.periods, axes)
    locals_ = [moved.scatter(whole, rank, fill=-1) for rank in range(moved.grid.size)]
    np.testing.assert_array_equal(moved.gather(locals_), whole)
    for rank, local in enumerate(locals_):
        assert tuple(local.shape[axis] for axis in axes) == moved.local_shape(rank)
        assert np.count_nonzero(local == -1) == local.size - whole[moved_block(moved, rank, whole.ndim)].size


def moved_block(decomposition, rank, n_axes):
    block = [slice(None)] * n_axes
    for axis, part in zip(decomposition.axes, decomposition.block(rank), strict=True):
        block[axis] = part
    return tuple(block)


def regions_of(decomposition, rank, neighbours="all"):
    """What a rank sends and receives, of one array."""
    layout = Layout(decomposition.widths, (0,) * len(decomposition.dims))
    own = layout.cells(decomposition.local_shape(rank))
    found = exchanged_regions(decomposition.grid, rank, [layout], own, neighbours)
    return [{peer: [region for _, region in regions] for peer, regions in each.items()} for each in found]


@examples(200)
@given(decompositions())
def test_ghost_regions_and_own_cells_are_all_cells_once(decomposition):
    """On a torus, where all ghost cells are received."""
    torus = Decomposition(decomposition.shape, decomposition.dims, decomposition.width, True)
    shape = torus.local_shape(0)
    _, received = regions_of(torus, 0)
    regions = [region for each in received.values() for region in each]
    counted = [cells(region) for region in (*regions, torus.interior(0))]
    assert sum(map(len, counted)) == len(set().union(*counted)) == prod(shape)


@examples(200)
@given(decompositions(), st.sampled_from(["all", "faces"]))
def test_both_ends_of_a_message_mean_the_same_global_cells(decomposition, neighbours):
    grid = decomposition.grid
    every = [regions_of(decomposition, rank, neighbours) for rank in range(grid.size)]
    for rank, peer in product(range(grid.size), repeat=2):
        sent, received = every[rank][0].get(peer, []), every[peer][1].get(rank, [])
        assert len(sent) == len(received)
        for here, there in zip(sent, received, strict=True):
            assert global_cells(decomposition, rank, here) == global_cells(decomposition, peer, there)


def global_cells(decomposition, rank, region):
    """In the order of the region's indices; beyond a periodic end it goes on at the other one."""
    begins = [part.start for part in decomposition.block(rank)]
    lows = [low for low, _ in decomposition.widths]
    return [
        tuple((i + begin - low) % n for i, begin, low, n in zip(cell, begins, lows, decomposition.shape, strict=True))
        for cell in product(*(range(part.start, part.stop) for part in region))
    ]


@pytest.mark.parametrize(("n_dims", "all_of_them", "faces"), [(1, 2, 2), (2, 8, 4), (3, 26, 6)])
def test_numbers_of_neighbours(n_dims, all_of_them, faces):
    assert len(list(directions(n_dims))) == all_of_them
    assert len(list(directions(n_dims, "faces"))) == faces


@examples(100)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.lists(st.booleans(), min_size=3, max_size=3))
def test_neighbours_are_mutual(dims, periods):
    grid = ProcessGrid(tuple(dims), tuple(periods[: len(dims)]))
    for rank in range(grid.size):
        assert grid.rank(grid.coords(rank)) == rank
        for direction in directions(grid.n_dims):
            at = [c + d for c, d in zip(grid.coords(rank), direction, strict=True)]
            inside = all(p or 0 <= a < n for a, n, p in zip(at, grid.dims, grid.periods, strict=True))
            there = grid.neighbour(rank, direction)
            assert (there is not None) == inside
            if inside:
                assert grid.coords(there) == tuple(a % n for a, n in zip(at, grid.dims, strict=True))
                assert grid.neighbour(there, opposite(direction)) == rank


def test_worked_example():
    """One dimension, own cells 2 to 7, low ghosts 0 and 1, high ghost 8; rank 1 of 3."""
    sent, received = regions_of(Decomposition((18,), (3,), [(2, 1)]), 1)
    assert received == {0: [(slice(0, 2),)], 2: [(slice(8, 9),)]}
    assert sent == {0: [(slice(2, 3),)], 2: [(slice(6, 8),)]}


def test_the_first_ranks_own_the_cells_that_do_not_divide():
    decomposition = Decomposition((11,), (3,))
    assert [decomposition.block(rank) for rank in range(3)] == [(slice(0, 4),), (slice(4, 8),), (slice(8, 11),)]


def test_widths():
    assert widths_of(2, 2) == ((2, 2), (2, 2))
    assert widths_of((1, (0, 3)), 2) == ((1, 1), (0, 3))


def test_an_open_dimension_of_one_rank_may_be_narrower_than_its_ghost_cells():
    assert Decomposition((8, 1), (2, 1), (2, 3)).local_shape(0) == (8, 7)
    with pytest.raises(ValueError, match="dimension 1 has 1 own cells a rank"):
        Decomposition((8, 1), (2, 1), (2, 3), (False, True))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Decomposition((8, 8), (2,)), "must be of the same length"),
        (lambda: Decomposition((3,), (4,)), "has 0 own cells a rank (dims is (4,)): the shape comes first, then dims"),
        (lambda: Decomposition((3, 9), (4, 1)), "dimension 0 has no own cells"),
        (lambda: Decomposition((-8, 8), (1, 1)), "shape is (-8, 8); every dimension needs at least one cell"),
        (lambda: Decomposition((8, 8), (1, 1), (1, 1, 1)), "width is (1, 1, 1); it must be one number, or have an"),
        (lambda: Decomposition((8, 8), (1, 1), 2**31), "width is 2147483648; a side can have at most 2,147,483,647"),
        (lambda: Decomposition((8, 8), (1, 1), 10**400), "0000; a side can have at most 2,147,483,647 ghost cells"),
        (lambda: Decomposition((8,), (2,), mask=[[True], [True, False]]), "all its rows must have the same length"),
        (lambda: Decomposition((8,), (0,)), "at least one rank"),
        (lambda: Decomposition((8,), (2,), periods=(True, False)), "periods is"),
        (lambda: Decomposition((8, 8), (2, 1), axes=(0,)), "must name one axis for each"),
        (lambda: Decomposition((8, 8), (2, 1), axes=(0, 0)), "axes is (0, 0); the axes must be different ones"),
        (lambda: Decomposition((8, 8), (2, 1), axes=(0, 5)).scatter(np.zeros((8, 8)), 0), "it has no axis 5"),
        (lambda: Decomposition((8, 8), (2, 1), axes=(0, -2)).scatter(np.zeros((8, 8)), 0), "the same axis twice"),
        (
            lambda: Decomposition((8, 8), (2, 1)).scatter(np.zeros(8), 0),
            "has shape (8,), so 1 axis, but the grid has 2",
        ),
        (lambda: Decomposition((8,), (2,)).block(2), "rank is 2; the grid of 2 ranks has ranks 0 to 1"),
        (lambda: Decomposition((8,), (1,)).block(1), "rank is 1; the grid of 1 rank has rank 0 only"),
        (lambda: Decomposition((8,), (2,)).scatter(np.zeros(9), 0), "the global array has shape (9,)"),
        (lambda: Decomposition((8,), (2,)).gather([np.zeros(6)]), "local_arrays has 1 array; dims (2,) have 2"),
        (lambda: Decomposition((8,), (2,)).gather([np.zeros(6), np.zeros(5)]), "the array of rank 1 has shape (5,)"),
        (
            lambda: Decomposition((8,), (2,)).gather([np.zeros(6, int), np.full(6, 0.5)]),
            "dtype must be the same in all arrays: rank 0 has int64, rank 1 float64",
        ),
        (
            lambda: Decomposition((8,), (2,)).gather([np.zeros(6, "S2"), np.zeros(6, "S3")]),
            "dtype must be the same in all arrays: rank 0 has |S2, rank 1 |S3",
        ),
        (
            lambda: Decomposition((8,), (2,)).gather([np.zeros((6, 3)), np.zeros((6, 1))]),
            "further axes must be the same in all arrays: rank 0 has (3,), rank 1 (1,)",
        ),
    ],
)
def test_errors_say_what_does_not_fit(make, words):
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        make()
    assert words in str(raised.value)


WHOLE = np.zeros((8, 8))


@pytest.mark.parametrize(
    ("method", "arguments", "words"),
    [
        *((method, ("a",), "rank is 'a'; it must be an integer") for method in ("block", "local_shape", "interior")),
        ("local_shape", (1.0,), "rank is 1.0; it must be an integer"),
        ("local_shape", (None,), "rank is None; it must be an integer"),
        ("scatter", (WHOLE, "a"), "rank is 'a'; it must be an integer"),
        ("scatter", (0, WHOLE), "the global array is 0; it must be an array"),
        ("scatter", (WHOLE, 0, "x"), "fill is 'x'; it must be a scalar that float64 can hold"),
        ("scatter", (WHOLE.astype("u1"), 0, -1), "fill is -1; it must be a scalar that uint8 can hold"),
        ("gather", (None,), "local_arrays is None; it must be a sequence of arrays, one for each rank"),
        ("gather", (iter([WHOLE]),), "local_arrays is of type list_iterator; it must be a sequence of arrays"),
        ("gather", (WHOLE[:2],), "local_arrays is of type ndarray; it must be a sequence of arrays, one for each"),
        ("gather", ([None, None],), "the array of rank 0 is None; it must be an array"),
    ],
)
def test_wrong_types_of_methods_are_named(method, arguments, words):
    with pytest.raises(TypeError) as raised:
        getattr(Decomposition((8, 8), (2, 1)), method)(*arguments)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        *(("i4", fill) for fill in (math.nan, math.inf, 1e30, 1.5, 2**31, "1", None, 1j)),
        *(("i2", fill) for fill in (math.inf, np.float32(1e9), np.int64(1 << 20))),
        *(("f4", fill) for fill in (1e300, -1e300, 10**400, 10**50, 1 + 1j, "1", None)),
        ("i8", 2.0**63),
        ("?", 2),
        ("f8", None),
        ("c8", 1e300),
        ("c8", "1"),
        ("S3", "abcdef"),
        ("U3", "abcdef"),
        ("S9", None),
    ],
)
def test_fill_values_that_the_dtype_cannot_hold_are_refused(dtype, fill):
    with pytest.raises(TypeError) as raised:
        Decomposition((8, 8), (2, 1)).scatter(np.zeros((8, 8), dtype), 0, fill)
    assert f"it must be a scalar that {np.dtype(dtype)} can hold" in str(raised.value)


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        *(("i4", fill) for fill in (-7, 2.0, True, np.uint8(3), -(2**31))),
        *(("f4", fill) for fill in (0.1, math.nan, math.inf, -math.inf, 1e-300, 7, Fraction(1, 2), np.float64(2))),
        *(("c8", fill) for fill in (1j, 0.1, math.nan, complex(0, math.inf))),
        *(("?", fill) for fill in (True, 0, np.False_)),
        *(("S3", fill) for fill in ("abc", b"a", 0)),
        ("U3", "abc"),
        ("O", None),
        ("M8[s]", 0),
        ([("x", "f8"), ("n", "i4")], 0),
    ],
)
def test_fill_values_that_the_dtype_can_hold_are_taken(dtype, fill):
    local = Decomposition((8, 8), (2, 1)).scatter(np.zeros((8, 8), dtype), 0, fill)
    np.testing.assert_array_equal(local[0], np.full(10, fill, dtype))


@pytest.mark.parametrize("periods", [1, np.bool_(True), np.array([True, True]), (1, np.True_)])
def test_numbers_of_any_type(periods):
    found = Decomposition(np.array([8, 8]), np.array([2, 1]), np.int32(1), periods, axes=np.array([1, 0]))
    assert found.grid == ProcessGrid((2, 1), (True, True))
    assert found.local_shape(np.int64(1)) == (6, 10)
    whole = np.arange(64).reshape(8, 8)
    np.testing.assert_array_equal(found.gather([found.scatter(whole, rank) for rank in range(2)]), whole)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"shape": shape} for shape in (8, "8", None, (8.0,))),
        *({"dims": dims} for dims in (2, "2", None, (2.0,), ("2",), iter((2,)))),
        *({"width": width} for width in ("x", "1", 1.5, None, True, {1: 2}, ("x",), ((1, 2, 3),), [[]])),
        *({"periods": periods} for periods in ("y", None, 2, (1.0,), ("y",))),
        *({"axes": axes} for axes in (0, "x", ("x",), (0.0,))),
        *({"stagger": stagger} for stagger in ("x", None, 2, 0.5)),
        *({"mask": mask} for mask in ("x", 3, True, [1, 1])),
    ],
    ids=lambda wrong: " ".join(f"{name} {type(value).__name__} {value}" for name, value in wrong.items())[:40],
)
def test_wrong_types_are_named(wrong):
    (name,) = wrong
    with pytest.raises(TypeError, match=f"{name} is "):
        Decomposition(**{"shape": (8,), "dims": (2,)} | wrong)


def test_ghost_cells_may_be_wider_than_a_block_only_without_neighbours():
    assert Decomposition((8,), (1,), width=9).local_shape(0) == (26,)
    assert Decomposition((8, 8), (1, 2), width=((9, 9), (4, 4))).local_shape(0) == (26, 12)
    for dims, width, periods in (((1,), 9, True), ((2,), 5, False), ((2,), ((0, 5),), False)):
        with pytest.raises(ValueError, match="ghost widths"):
            Decomposition((8,), dims, width, periods)
