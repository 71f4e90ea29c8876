"""Datatypes on host memory that a library is known to move wrongly: the shim packs and unpacks them, always.

All other datatypes are left to the library here, so that the counters show the packer.
"""

import pytest
from hypothesis import given

from support import constructors as c
from support import memory
from support.defects import library_name
from support.effort import examples
from support.moved_wrongly import COMPLEX, COMPLEX_LEAVES, RIGHT, WRONG
from support.packing import Case, Seen, cases, check_pack, check_unpack
from support.strategies import specs
from support.typemap import message_map, overlaps

pytestmark = pytest.mark.mpi_process(TEMPI_HOST_PACK="library")


def handled(spec, count=1):
    """The numbers of packs and unpacks by the shim, not the library."""
    case = Case(spec, count)
    with Seen() as seen:
        check_pack(case, memory.fake)
        check_unpack(case, memory.fake)
    return seen.taken("MPI_Pack"), seen.taken("MPI_Unpack")


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("name", WRONG)
def test_what_the_library_moves_wrongly_is_the_shims(name, count):
    check_is_ours(WRONG[name], count)


def check_is_ours(spec, count=1):
    """Bytes that occur twice cannot be unpacked."""
    may_be_unpacked = not overlaps(message_map(spec, count))
    expected = (1, int(may_be_unpacked)) if library_name() == "openmpi" else (0, 0)
    assert handled(spec, count) == expected


@pytest.mark.parametrize("name", RIGHT)
def test_what_it_moves_rightly_stays_its_own(name):
    assert handled(RIGHT[name]) == (0, 0)


@pytest.mark.mpi_process(TEMPI_NO_TYPE_COMMIT="1")
@pytest.mark.parametrize("name", WRONG)
def test_also_where_the_commit_is_not_looked_at(name):
    check_is_ours(WRONG[name])


def test_a_long_list_too():
    """A commit leaves long lists for later."""
    check_is_ours(c.HindexedBlock(1, tuple(range(0, 24 * 5000, 24)), COMPLEX))


@examples(1500)
@given(case=cases(kinds=(memory.HOST,)))
def test_random_datatypes(tally, case):
    tally.add(check_pack(case, memory.fake))
    tally.add(check_unpack(case, memory.fake))


@examples(1500)
@given(spec=specs(leaves=COMPLEX_LEAVES))
def test_random_datatypes_of_complex_numbers(tally, spec):
    case = Case(spec, 2)
    tally.add(check_pack(case, memory.fake))
    tally.add(check_unpack(case, memory.fake))
