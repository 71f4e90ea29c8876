"""Views of more elements than 32 bits count, in address space that no memory stands behind."""

import mmap
import tempfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI
from slices import cases, check_received, source_of, target_of

from support.effort import examples

pytestmark = pytest.mark.mpi_process(shim=False)

MANY = 2**31 + 3


def view(array):
    import tempi

    return tempi.view(array)


@pytest.fixture(scope="module")
def sparse():
    """Zeros that take no memory as long as nobody writes."""
    with tempfile.TemporaryFile() as file:
        file.truncate(2 * MANY + 64)
        return np.frombuffer(mmap.mmap(file.fileno(), 0), "u1")


@pytest.mark.parametrize(
    ("index", "n_elements", "span"),
    [
        (np.s_[:MANY], MANY, MANY),
        (np.s_[: 2 * MANY : 2], MANY, 2 * MANY - 1),
        (np.s_[2 * MANY - 1 :: -2], MANY, 2 * MANY - 1),
        (np.s_[: 2**31 - 1], 2**31 - 1, 2**31 - 1),
    ],
    ids=["dense", "strided", "backwards", "as many as fit"],
)
def test_more_elements_than_32_bits_count(sparse, index, n_elements, span):
    buffer, count, datatype = view(sparse[index])
    assert count <= 2**31 - 1
    assert count * datatype.Get_size() == n_elements
    assert len(buffer) == span
    if count == 1:
        assert datatype.Get_true_extent() == (0, span)
    MPI.COMM_SELF.Isend([buffer, count, datatype], MPI.PROC_NULL).Wait()


@pytest.mark.parametrize("index", [np.s_[: 2 * MANY : 2], np.s_[2 * MANY - 1 :: -2]], ids=["strided", "backwards"])
def test_many_rows_of_more_blocks_than_32_bits_count(sparse, index):
    rows = np.lib.stride_tricks.as_strided(sparse[index], (MANY, 3, 2), (sparse[index].strides[0], 0, 1))
    _, count, datatype = view(rows)
    assert count * datatype.Get_size() == 6 * MANY


@pytest.mark.parametrize("index", [np.s_[: 2 * MANY : 2], np.s_[2 * MANY - 1 :: -2]], ids=["strided", "backwards"])
def test_tempi_sees_few_boxes_in_them(sparse, index):
    import tempi

    assert tempi.explain(view(sparse[index])[2]).boxes.count(" B blocks, the first at") <= 2


@pytest.fixture
def short_loops(monkeypatch):
    """Lowers the limit of counts, so that the construction of long loops is tested on short ones."""
    from tempi.arrays import loop_types, views

    def shorten(most_count, most_displacements):
        for module in (loop_types, views):
            monkeypatch.setattr(module, "MOST_COUNT", most_count)
        monkeypatch.setattr(loop_types, "MOST_DISPLACEMENTS", most_displacements)
        views._layout.cache_clear()

    yield shorten
    views._layout.cache_clear()


@examples(400)
@given(cases(), st.integers(2, 5), st.integers(2, 5))
def test_long_loops_are_the_elements_in_their_order(short_loops, case, most_count, most_displacements):
    short_loops(most_count, most_displacements)
    source, target = source_of(case), target_of(case)
    MPI.COMM_SELF.Sendrecv(view(source.array), 0, recvbuf=view(target.array), source=0)
    check_received(case, target)
