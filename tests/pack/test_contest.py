"""The choice between the shim and the library on host memory: the first calls of a structure take turns, then one does
it.

No test depends on the faster one.
"""

import pytest

from support import constructors as c
from support import memory
from support.packing import Case, Seen, check_pack, check_unpack
from support.typemap import Named

FACE = c.Subarray((8, 8, 8), (8, 8, 3), (0, 0, 1), "C", Named("DOUBLE"))
PARTICLES = c.IndexedBlock(1, tuple(3 * i + i % 2 for i in range(50)), Named("DOUBLE"))
TYPES = {"face": FACE, "particles": PARTICLES, "dense": c.Contiguous(100, Named("INT"))}
ALL = pytest.mark.parametrize("name", TYPES)


def taken(spec, calls, count=1):
    """The numbers of packs and unpacks out of `calls` each that the shim did itself; every byte is checked."""
    case = Case(spec, count)
    with Seen() as seen:
        for _ in range(calls):
            assert check_pack(case, memory.fake)
            assert check_unpack(case, memory.fake)
    return seen.taken("MPI_Pack"), seen.taken("MPI_Unpack")


@pytest.mark.sample(4)
@pytest.mark.mpi_process
@ALL
@pytest.mark.parametrize("count", [1, 5, 70])
def test_the_first_calls_take_turns_then_one_does_them_all(name, count):
    assert taken(TYPES[name], 6, count) == (3, 3)
    taken(TYPES[name], 100, count)
    assert set(taken(TYPES[name], 5, count)) <= {0, 5}


@pytest.mark.mpi_process(TEMPI_HOST_PACK="ours")
@ALL
def test_ours(name):
    assert taken(TYPES[name], 10) == (10, 10)


@pytest.mark.mpi_process(TEMPI_HOST_PACK="library")
@ALL
def test_the_librarys(name):
    assert taken(TYPES[name], 10) == (0, 0)
