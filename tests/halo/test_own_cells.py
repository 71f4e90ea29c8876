"""Cells that a rank sends to itself in host memory: copied as NumPy copies them, whatever the strides are."""

import numpy as np
import pytest

from tempi.halo.own_cells import copies_of, pieces
from tempi.halo.region_types import Strided

SEED = 20240611


def cells_of(array):
    return Strided(array.ctypes.data, array.shape, array.strides, array.itemsize)


def check_copied(array, sent, received):
    """`sent` and `received` are regions of the array."""
    expected = array.copy()
    expected[received] = expected[sent]
    pairs = ([cells_of(array[region])] for region in (sent, received))
    for copies in copies_of(*pairs):
        copies.run()
    assert array.tobytes() == expected.tobytes()  # NaNs differ from themselves


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64, np.complex128, "V24"])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("step", [1, -1, 2])
def test_regions_of_any_strides(dtype, order, step):
    whole = np.random.default_rng(SEED).integers(0, 256, (12, 14, 40 * np.dtype(dtype).itemsize), np.uint8)
    array = whole.view(dtype)[:, ::step].transpose(order)
    low, high = slice(0, 2), slice(-2, None)
    check_copied(array, (slice(1, -1), low, slice(3, -3)), (slice(1, -1), high, slice(3, -3)))
    check_copied(array, (low, low, high), (high, high, low))


def test_more_loops_than_a_copy_takes():
    array = np.random.default_rng(SEED).random((3, 3, 3, 3, 3, 3, 6))[:, ::2, :, ::2, :, ::2]
    everywhere = (slice(0, 2),) * 6
    check_copied(array, (*everywhere, slice(0, 2)), (*everywhere, slice(4, 6)))


def test_pieces_are_no_larger_than_asked_but_for_a_single_one():
    sizes = [100, 100, 300, 50, 50]
    pairs = [(Strided(0, (n,), (1,), 1),) * 2 for n in sizes]
    assert [[out.n_bytes for out, _ in piece] for piece in pieces(pairs, 200)] == [[100, 100], [300], [50, 50]]
