"""The random datatypes of tests/pack on real GPU memory."""

import pytest
from hypothesis import given

from support import constructors as c
from support import gpu_memory
from support.effort import examples
from support.packing import Case, cases, check_pack, check_unpack
from support.tuned import trial_of
from support.typemap import Named
from tempi.model.tuning import values_of

pytestmark = pytest.mark.mpi_process()

LEAVES = [Named(name) for name in ("BYTE", "C_DOUBLE_COMPLEX", "SHORT", "DOUBLE", "INT")]
IRREGULAR = c.IndexedBlock(1, (0, 1, 9, 36, 20, 3, 59, 13), Named("DOUBLE"))


def _struct(members):
    places = tuple(1024 * i + 16 * (i * i % 7) for i in range(len(members)))
    return c.Struct((1,) * len(members), places, tuple(members))


LISTS = (
    _struct([c.Vector(3 + i, 1 + i % 3, 5, Named("DOUBLE")) for i in range(11)]),
    _struct([c.Vector(3 + i % 4, 1 + i % 2, 4, LEAVES[i % 5]) for i in range(13)]),
    _struct([(IRREGULAR, c.Vector(5, 2, 3, Named("INT")))[i % 2] for i in range(12)]),
    c.IndexedBlock(1, tuple(dict.fromkeys(i * i % 9973 for i in range(4000))), Named("INT")),
)
BYTE, SHORT = Named("BYTE"), Named("SHORT")
NARROW = (
    c.Hvector(9001, 3, 7, BYTE),
    c.Hvector(5001, 15, 16, BYTE),
    c.Hvector(90, 1, 1021, c.Hvector(101, 3, 7, BYTE)),
    c.Hvector(5, 1, -50000, c.Hvector(31, 1, -1201, c.Hvector(60, 5, 9, BYTE))),
    c.Hvector(301, 101, 203, BYTE),
    c.Hvector(41, 1001, 1500, BYTE),
    c.Vector(5001, 3, 7, SHORT),
)
KINDS = tuple(kind for kind in gpu_memory.KINDS if kind != "device 1")


@examples(1500)
@given(case=cases(kinds=KINDS))
def test_pack_between_any_two_kinds_of_memory(tally, case):
    tally.add(check_pack(case, gpu_memory.gpu))


@examples(1500)
@given(case=cases(kinds=KINDS))
def test_unpack_between_any_two_kinds_of_memory(tally, case):
    tally.add(check_unpack(case, gpu_memory.gpu))


@examples(2000)
@given(case=cases(kinds=("device",)))
def test_pack_within_device_memory(tally, case):
    tally.add(check_pack(case, gpu_memory.gpu))


@examples(2000)
@given(case=cases(kinds=("device",)))
def test_unpack_within_device_memory(tally, case):
    tally.add(check_unpack(case, gpu_memory.gpu))


@pytest.mark.parametrize("spec", LISTS, ids=["boxes", "mixed words", "tables", "table"])
def test_long_lists_of_boxes_and_tables(spec):
    """Data kept on the device: more boxes than travel as parameters, tables of offsets, and both."""
    for count, shift in ((1, 0), (3, 0), (2, 1)):
        case = Case(spec, count, "device", "device", typed_shift=shift, position=shift)
        assert check_pack(case, gpu_memory.gpu)
        assert check_unpack(case, gpu_memory.gpu)


@pytest.mark.parametrize("unpacks", [False, True], ids=["pack", "unpack"])
@pytest.mark.parametrize("spec", NARROW, ids=["3 of 7", "15 of 16", "rows", "planes", "lines apart", "long", "shorts"])
def test_blocks_of_bytes_within_device_memory(spec, unpacks):
    """Through shared memory, short as they are."""
    assert trial_of(spec, unpacks).measure(values_of({"window_bytes": 1 << 10}), 0.0, 1)


@pytest.mark.two_gpus
@examples(500)
@given(case=cases(kinds=("device", "device 1")))
def test_pack_and_unpack_between_two_gpus(tally, case):
    tally.add(check_pack(case, gpu_memory.gpu))
    tally.add(check_unpack(case, gpu_memory.gpu))
