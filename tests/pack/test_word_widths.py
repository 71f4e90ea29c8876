"""The words that a kernel moves are as wide as every offset, stride and block of both sides allows, and no wider.

A GPU faults on a misaligned word. The fake device's processor does not: only the plan tells.
"""

import re

import pytest

import tempi
from support import constructors as c
from support.building import Builder
from support.typemap import Named

pytestmark = pytest.mark.mpi_process(TEMPI_DEVICE="fake")

BYTE, INT, DOUBLE = Named("BYTE"), Named("INT"), Named("DOUBLE")
WIDE = c.Vector(400, 16, 32, BYTE)  # blocks of 16 bytes, 32 bytes apart
PLANS = {
    "all aligned": (WIDE, 16),
    "block": (c.Hvector(4, 8, 32, BYTE), 8),
    "stride": (c.Hvector(4, 16, 36, BYTE), 4),
    "outer stride": (c.Hvector(3, 1, 12_804, WIDE), 4),
    "place in the array": (c.Hindexed((1,), (8,), WIDE), 8),
    "place among the packed bytes": (c.Struct((1, 1), (0, 8192), (c.Vector(101, 3, 8, INT), WIDE)), 4),
    "a list of offsets": (c.HindexedBlock(16, (0, 48, 72, 200), BYTE), 8),
}


@pytest.mark.parametrize("name", PLANS)
def test_words_are_as_wide_as_is_aligned(name):
    spec, n_bytes = PLANS[name]
    with Builder() as builder:
        plan = tempi.explain(builder.build(spec).Commit()).plan
    widths = {int(width) for found in re.findall(r"words of ([\d, ]+) B", plan) for width in found.split(",")}
    assert widths == {n_bytes}, plan
