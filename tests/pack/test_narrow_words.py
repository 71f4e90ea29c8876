"""Blocks of bytes at odd strides and addresses: 16 bytes are read at a time, through the tile's memory.

`narrow.fit` is a profile of the fake device by which short transfers do so too. The fake device lets no kernel read
or write beyond an allocation; those of these tests end where the data ends. Unpacking is checked with its gaps: they
may belong to messages that arrive at the same time.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import constructors as c
from support import memory
from support.effort import examples
from support.packing import Case, Seen, cases, check_pack, check_unpack
from support.typemap import Named

PROFILE = str(Path(__file__).with_name("narrow.fit"))
pytestmark = pytest.mark.mpi_process(TEMPI_DEVICE="fake", TEMPI_PROFILE=PROFILE)

BYTE, SHORT, DOUBLE = map(Named, ("BYTE", "SHORT", "DOUBLE"))
PLACES = ((0, 0, 0), (1, 0, 0), (0, 3, 0), (5, 0, 7), (13, 15, 1))


def check(spec, count=1, places=PLACES):
    for typed_shift, packed_shift, position in places:
        case = Case(spec, count, "device", "device", typed_shift, packed_shift, position)
        assert check_pack(case, memory.fake)
        assert check_unpack(case, memory.fake)


@pytest.mark.parametrize("block", range(1, 16))
def test_blocks_of_bytes_at_all_strides(block):
    for stride in sorted({block + 1, 2 * block, 7, 13, 16, 32, 33, 64}):
        if stride > block:
            check(c.Hvector(4001 // block + 1, block, stride, BYTE), places=PLACES[stride % 2 :: 2])


@pytest.mark.parametrize("block", [17, 31, 64, 101, 255, 1001, 5000])
def test_long_blocks_at_odd_places(block):
    for stride in (block + 1, 2 * block, 2 * block + 1):
        check(c.Hvector(9001 // block + 2, block, stride, BYTE))


def test_doubles_behind_an_odd_header():
    """Aligned data, but a packed position that is not."""
    check(c.Vector(700, 2, 3, DOUBLE), places=((0, 0, 1), (8, 0, 3)))
    check(c.Vector(40, 64, 100, DOUBLE), places=((0, 0, 1), (8, 0, 3)))


@pytest.mark.parametrize("leaf", [BYTE, SHORT], ids=["byte", "short"])
def test_rows_and_planes(leaf):
    check(c.Subarray((5, 41, 97), (3, 30, 61), (1, 5, 7), "C", leaf))
    check(c.Hvector(9, 1, 4097, c.Hvector(300, 3, 7, leaf)) if leaf == BYTE else c.Vector(9, 501, 1003, leaf))
    check(c.Hvector(3, 1, 9001, c.Hvector(7, 1, 1201, c.Hvector(90, 5, 9, BYTE))), places=PLACES[:2])


@pytest.mark.parametrize("count", [2, 3])
def test_odd_counts_and_extents(count):
    check(c.Resized(0, 7 * 1003 + 2, c.Hvector(1001, 3, 7, BYTE)), count)
    check(c.Resized(0, 4099, c.Hvector(2, 1021, 2049, BYTE)), count)


def test_several_boxes():
    """Large boxes of bytes have launches of their own; the others share one."""
    members = (c.Hvector(1001, 3, 7, BYTE), c.Vector(50, 1, 2, DOUBLE), c.Hvector(777, 2, 5, BYTE))
    check(c.Struct((1, 1, 1), (0, 8000, 9001), members), count=3)


def test_large_boxes_of_bytes_are_unpacked_by_launches_of_their_own():
    members = (c.Hvector(1001, 3, 7, BYTE), c.Vector(50, 1, 2, DOUBLE), c.Hvector(777, 2, 5, BYTE))
    case = Case(c.Struct((1, 1, 1), (0, 8000, 9001), members), 1, "device", "device")
    with Seen() as seen:
        assert check_unpack(case, memory.fake)
    assert seen.outcomes["GPU", "kernel launches"] == len(members)


def test_negative_and_transposed_strides():
    check(c.Hvector(700, 3, -7, BYTE))
    check(c.Hvector(30, 1, -300, c.Hvector(40, 3, 7, BYTE)))
    check(c.Hvector(3, 1, 1, c.Hvector(1000, 1, 5, BYTE)))
    check(c.Hvector(5, 1, -9000, c.Hvector(7, 1, -1201, c.Hvector(60, 5, 9, BYTE))))
    check(c.Hvector(12, 1, -3003, c.Hvector(1, 501, 1, BYTE)))


@examples(1000)
@given(case=cases(kinds=("device",)))
def test_random_packs(tally, case):
    tally.add(check_pack(case, memory.fake))


@examples(1000)
@given(case=cases(kinds=("device",)))
def test_random_unpacks(tally, case):
    tally.add(check_unpack(case, memory.fake))


@examples(300)
@given(
    st.integers(1, 40),
    st.integers(1, 50),
    st.integers(20, 300),
    st.integers(1, 8),
    st.integers(0, 90),
    st.integers(0, 15),
)
def test_random_rows(block, gap, n, rows, row_gap, shift):
    row = n * (block + gap) + row_gap
    spec = c.Hvector(rows, 1, row, c.Hvector(n, block, block + gap, BYTE))
    check(spec, places=((shift, shift * 7 % 16, shift % 3),))


@examples(300)
@given(
    st.sampled_from((BYTE, SHORT)),
    st.integers(1, 20),
    st.integers(1, 40),
    st.integers(20, 90),
    st.tuples(st.integers(1, 6), st.integers(1, 5)),
    st.tuples(st.booleans(), st.booleans()),
    st.integers(0, 15),
)
def test_random_planes(leaf, block, gap, n, outer, backward, shift):
    """Up to four dims, the outer two in either direction."""
    unit = 2 if leaf == SHORT else 1
    spec, stride = c.Hvector(n, block, unit * (block + gap), leaf), unit * (n * (block + gap) + 3)
    for count, is_backward in zip(outer, backward, strict=True):
        spec = c.Hvector(count, 1, -stride if is_backward else stride, spec)
        stride *= count
    check(spec, places=((shift * unit, shift * 7 % 16 * unit, shift % 3 * unit),))
