"""Structs of more fields than travel as kernel parameters: their boxes lie in a list on the device."""

import pytest

from support import constructors as c
from support import memory
from support.packing import Case, check_pack, check_unpack
from support.typemap import Named

pytestmark = pytest.mark.mpi_process(TEMPI_DEVICE="fake")

BYTE, SHORT, INT, DOUBLE, COMPLEX = map(Named, ("BYTE", "SHORT", "INT", "DOUBLE", "C_DOUBLE_COMPLEX"))
MEMORY = pytest.mark.parametrize(
    ("typed", "packed"), [("device", "device"), ("device", "host"), ("managed", "device 1"), ("host", "host")]
)
COUNTS = pytest.mark.parametrize("count", [1, 2, 7])


def check(spec, typed, packed, count, **shifts):
    case = Case(spec, count, typed=typed, packed=packed, **shifts)
    assert check_pack(case, memory.fake)
    assert check_unpack(case, memory.fake)


def fields(members, gap=16):
    """A struct of `members` one behind the other, no two gaps the same."""
    places, at = [], 0
    for i in range(len(members)):
        places.append(at)
        at += 1024 + gap * (i * i % 7)
    return c.Struct((1,) * len(members), tuple(places), tuple(members))


@MEMORY
@COUNTS
def test_vectors_of_one_word(typed, packed, count):
    check(fields([c.Vector(3 + i, 1 + i % 3, 5 + i % 2, DOUBLE) for i in range(11)]), typed, packed, count)


@MEMORY
@COUNTS
def test_fields_of_mixed_words(typed, packed, count):
    """Odd sizes first: the packed bytes after them are misaligned, whatever their word."""
    leaves = (BYTE, COMPLEX, SHORT, DOUBLE, INT)
    members = [c.Vector(3 + i % 4, 1 + i % 2, 4, leaves[i % len(leaves)]) for i in range(13)]
    check(fields(members), typed, packed, count)
    check(fields(members[::-1]), typed, packed, count)


@MEMORY
@COUNTS
def test_irregular_fields_among_vectors(typed, packed, count):
    """Tables of offsets within a list of boxes."""
    squares = tuple(i * i % 61 for i in range(0, 40, 3))
    irregular = c.IndexedBlock(1, tuple(dict.fromkeys(squares)), DOUBLE)
    ragged = c.Indexed((1, 3, 2, 5), (40, 2, 30, 9), INT)
    members = [(irregular, c.Vector(5, 2, 3, INT), ragged)[i % 3] for i in range(12)]
    check(fields(members), typed, packed, count)
    check(fields([c.Hvector(2, 1, 504, member) for member in members]), typed, packed, count)


@COUNTS
def test_odd_positions_and_buffers(count):
    members = [c.Vector(4, 2, 3, (DOUBLE, COMPLEX)[i % 2]) for i in range(10)]
    for shifts in ({"position": 3}, {"packed_shift": 1}, {"typed_shift": 4, "position": 4}, {"typed_shift": 1}):
        check(fields(members), "device", "device", count, **shifts)


def test_eight_and_nine_fields():
    """The last list that travels as kernel parameters, and the first that does not."""
    for n in (1, 2, 8, 9, 16, 17, 65):
        check(fields([c.Vector(3, 1, 2 + i % 3, INT) for i in range(n)]), "device", "device", 3)
