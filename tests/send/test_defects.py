"""Defects of MPICH 5.0.2 that random programs leave out, without the shim: each fails, and its neighbours do not."""

import defects_worker as worker
import pytest

from support import constructors as c
from support import defects, needs
from support.ranks import Ranks, RanksFailed
from support.typemap import Named, type_map

pytestmark = needs.mpich("5.0.2")

INT, FLOAT, DOUBLE = Named("INT"), Named("FLOAT"), Named("DOUBLE")
COLUMNS = c.Hvector(3, 16, -133, Named("AINT"))
SEVERAL_SIZES = {
    "pair": Named("LONG_INT"),
    "struct": c.Struct((1, 1), (0, 16), (FLOAT, DOUBLE)),
    "structs at odd displacements": c.Hvector(
        2, 3, 755, c.Struct((6, 4, 2, 33), (9, 59, 93, 102), (DOUBLE, DOUBLE, FLOAT, FLOAT))
    ),
}
ONE_SIZE = {
    "pair of ints": Named("TWOINT"),
    "struct of ints and floats": c.Struct((1, 2), (1, 17), (INT, FLOAT)),
    "complex vector": c.Vector(3, 1, 2, Named("C_DOUBLE_COMPLEX")),
}
EMPTY_DEADLY = {
    "HindexedBlock": c.HindexedBlock(0, (16, 64), COLUMNS),
    "IndexedBlock": c.IndexedBlock(0, (16, 64), COLUMNS),
    "Vector": c.Vector(2, 0, 2, COLUMNS),
    "Hvector": c.Hvector(2, 0, 2, COLUMNS),
}
EMPTY_HARMLESS = {
    "no blocks": c.Vector(0, 1, 2, COLUMNS),
    "Contiguous": c.Contiguous(0, COLUMNS),
    "Indexed": c.Indexed((0, 0), (16, 64), COLUMNS),
    "nothing in it": c.HindexedBlock(0, (16, 64), c.Vector(0, 1, 2, INT)),
}


@pytest.fixture(scope="module")
def two_ranks():
    """A single rank hands bytes to itself whole."""
    with Ranks(2, {}, preload=False) as job:
        yield job


@pytest.mark.parametrize("name", SEVERAL_SIZES | ONE_SIZE)
@pytest.mark.parametrize("n_bytes", [defects.PIECE_BYTES, 40_000])
def test_packed_bytes_to_oneself_arrive_unless_a_piece_ends_within_an_element(two_ranks, name, n_bytes):
    spec = (SEVERAL_SIZES | ONE_SIZE)[name]
    count = n_bytes // type_map(spec).size
    fails = name in SEVERAL_SIZES and n_bytes > defects.PIECE_BYTES
    assert defects.fails_in_pieces(spec, count, True) == fails
    for said in two_ranks.call(worker.receive_from_oneself, spec, count):
        assert ("signature does not match" in said) == fails, said


def with_data(empty):
    return c.Struct((1, 1), (0, 40), (INT, empty))


@pytest.mark.parametrize("name", EMPTY_DEADLY)
def test_a_struct_with_blocks_of_no_elements_kills_the_library(name):
    spec = with_data(EMPTY_DEADLY[name])
    assert defects.crashes_library(spec)
    job = Ranks(1, {}, preload=False)
    with pytest.raises(RanksFailed, match=r"signal 8|Floating point exception"):
        job.call(worker.pack, spec)


@pytest.mark.parametrize("name", EMPTY_HARMLESS)
def test_a_struct_with_another_empty_type_is_packed(two_ranks, name):
    spec = with_data(EMPTY_HARMLESS[name])
    assert not defects.crashes_library(spec)
    two_ranks.call(worker.pack, spec)
