"""Datatypes on host memory that a library is known to move wrongly: the shim packs and unpacks them, always.

Everything else is left to the library here, so that it shows who did it.
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

pytestmark = pytest.mark.mpi_process(TEMPI_HOST_PACK="library")


def handled(spec, count=1):
    """How often the shim, not the library, has packed and unpacked."""
    case = Case(spec, count)
    with Seen() as seen:
        check_pack(case, memory.fake)
        check_unpack(case, memory.fake)
    return seen.taken("MPI_Pack"), seen.taken("MPI_Unpack")


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("name", WRONG)
def test_what_the_library_moves_wrongly_is_the_shims(name, count):
    packed, unpacked = handled(WRONG[name], count)
    if library_name() == "openmpi":
        assert packed == 1
        assert unpacked in (0, 1)  # 0: bytes that occur twice cannot be unpacked


@pytest.mark.parametrize("name", RIGHT)
def test_what_it_moves_rightly_stays_its_own(name):
    assert handled(RIGHT[name]) == (0, 0)


@pytest.mark.mpi_process(TEMPI_NO_TYPE_COMMIT="1")
@pytest.mark.parametrize("name", WRONG)
def test_also_where_the_commit_is_not_looked_at(name):
    handled(WRONG[name])


def test_a_long_list_too():
    """A commit leaves long lists for later."""
    handled(c.HindexedBlock(1, tuple(range(0, 24 * 5000, 24)), COMPLEX))


@examples(1500)
@given(cases(kinds=(memory.HOST,)))
def test_random_datatypes(case):
    check_pack(case, memory.fake)
    check_unpack(case, memory.fake)


@examples(1500)
@given(specs(leaves=COMPLEX_LEAVES))
def test_random_datatypes_of_complex_numbers(spec):
    handled(spec, 2)
