"""MPI_Pack_external and MPI_Unpack_external of GPU memory: the library's bytes, positions and errors on host memory."""

import numpy as np
import pytest
from mpi4py import MPI

from support import calls, memory, needs

pytestmark = pytest.mark.mpi_process(TEMPI_DEVICE="fake")

BYTES = 512
POSITION = 24
KINDS = [(typed, packed) for typed in memory.KINDS for packed in memory.KINDS]
MEMORY = pytest.mark.parametrize(("typed", "packed"), KINDS)
ON_GPU = pytest.mark.parametrize(("typed", "packed"), [("device", "host"), ("host", "device"), ("device", "device")])
FORMS = pytest.mark.parametrize("suffix", ["", "_c"])


def _contiguous() -> MPI.Datatype:
    return MPI.INT.Create_contiguous(5)


def _vector() -> MPI.Datatype:
    return MPI.DOUBLE.Create_vector(3, 2, 4)


def _struct() -> MPI.Datatype:
    """Elements of several sizes, of which a long has another one in external32; behind a gap."""
    made = MPI.Datatype.Create_struct([1, 2, 1, 3], [8, 24, 4, 40], [MPI.DOUBLE, MPI.SHORT, MPI.CHAR, MPI.LONG])
    return made.Create_resized(-8, 80)


OF_SEVERAL_SIZES = needs.open_mpi("MPICH 5.0 crashes in MPI_Pack_external_size of such a datatype, without the shim")
TYPES = pytest.mark.parametrize("make", [_contiguous, _vector, pytest.param(_struct, marks=OF_SEVERAL_SIZES)])


@pytest.fixture
def contents(drawn):
    """Of the typed buffer, and of the packed one."""
    return [np.array([drawn.randrange(256) for _ in range(BYTES)], np.uint8) for _ in range(2)]


@pytest.fixture
def datatype(make):
    made = make().Commit()
    yield made
    made.Free()


class Buffers:
    """A typed and a packed buffer; the address of the typed one has room before it."""

    def __init__(self, maker, kinds, contents) -> None:
        self._both = [maker(kind, content) for kind, content in zip(kinds, contents, strict=True)]

    def pack(self, symbols, suffix, count, datatype, position=POSITION, size=BYTES, representation="external32"):
        typed, packed = (each.address for each in self._both)
        return symbols.pack_external(typed + 16, count, datatype, packed, size, position, suffix, representation)

    def unpack(self, symbols, suffix, count, datatype, position=POSITION, size=BYTES, representation="external32"):
        typed, packed = (each.address for each in self._both)
        return symbols.unpack_external(packed, size, typed + 16, count, datatype, position, suffix, representation)

    def read(self):
        return [each.read().tolist() for each in self._both]


def _on_host(contents):
    return Buffers(memory.fake, ("host", "host"), contents)


@MEMORY
@TYPES
@FORMS
@pytest.mark.parametrize("call", ["pack", "unpack"])
def test_the_bytes_are_those_of_host_memory(contents, typed, packed, suffix, call, datatype):
    if not calls.library().has(f"MPI_Pack_external{suffix}"):
        pytest.skip("this MPI has no MPI_Pack_external_c: take one of a newer standard")
    expected, found = _on_host(contents), Buffers(memory.fake, (typed, packed), contents)
    result = getattr(expected, call)(calls.library(), suffix, 3, datatype)
    assert result.error == 0
    assert result.position > POSITION
    assert getattr(found, call)(calls.program(), suffix, 3, datatype) == result
    assert found.read() == expected.read()


@ON_GPU
def test_there_and_back_are_big_endian_numbers(typed, packed):
    values, nothing = np.arange(BYTES // 4, dtype="i4").view("u1"), np.zeros(BYTES, np.uint8)
    there = Buffers(memory.fake, (typed, packed), (values, nothing))
    assert there.pack(calls.program(), "", 9, MPI.INT, position=0) == (0, 36)
    image = np.array(there.read()[1], np.uint8)
    np.testing.assert_array_equal(image[:36].view(">i4"), np.arange(4, 13))
    back = Buffers(memory.fake, (typed, packed), (nothing, image))
    assert back.unpack(calls.program(), "", 9, MPI.INT, position=0) == (0, 36)
    np.testing.assert_array_equal(np.array(back.read()[0], np.uint8)[16:52].view("i4"), np.arange(4, 13))


@ON_GPU
@pytest.mark.parametrize("call", ["pack", "unpack"])
@pytest.mark.parametrize("make", [_vector])
@pytest.mark.parametrize("room", [0, 1, 143])
def test_too_little_room(contents, typed, packed, call, room, datatype):
    buffers = Buffers(memory.fake, (typed, packed), contents)
    found = getattr(buffers, call)(calls.program(), "", 3, datatype, size=POSITION + room)
    assert found == (MPI.ERR_TRUNCATE, POSITION)
    assert buffers.read() == [each.tolist() for each in contents]


@ON_GPU
@pytest.mark.parametrize("call", ["pack", "unpack"])
@pytest.mark.parametrize("make", [_vector])
def test_exactly_enough_room(contents, typed, packed, call, datatype):
    buffers = Buffers(memory.fake, (typed, packed), contents)
    assert getattr(buffers, call)(calls.program(), "", 3, datatype, size=POSITION + 144) == (0, POSITION + 144)


@ON_GPU
@pytest.mark.parametrize("call", ["pack", "unpack"])
@pytest.mark.parametrize("make", [_vector])
@pytest.mark.parametrize("wrong", [{"count": -1}, {"representation": "nobody's"}, {"count": 0}])
def test_errors_are_the_librarys(contents, typed, packed, call, datatype, wrong):
    arguments = {"suffix": "", "count": 3, "datatype": datatype} | wrong
    expected, found = _on_host(contents), Buffers(memory.fake, (typed, packed), contents)
    result = getattr(expected, call)(calls.library(), **arguments)
    assert getattr(found, call)(calls.program(), **arguments) == result
    assert found.read() == expected.read()


@ON_GPU
def test_a_datatype_that_is_not_committed(contents, typed, packed):
    loose = _vector()
    buffers = Buffers(memory.fake, (typed, packed), contents)
    assert buffers.pack(calls.program(), "", 1, loose).error == MPI.ERR_TYPE
    loose.Free()


def test_mpi4py_packs_device_arrays():
    from tempi.testing import FakeArray

    source, packed = FakeArray.from_numpy(np.arange(6, dtype="f8")), FakeArray.from_numpy(np.zeros(48, np.uint8))
    assert MPI.DOUBLE.Pack_external_size("external32", 6) == 48
    assert MPI.DOUBLE.Pack_external("external32", source, packed, 0) == 48
    np.testing.assert_array_equal(packed.to_numpy().view(">f8"), np.arange(6))
    target = FakeArray.from_numpy(np.zeros(6, "f8"))
    assert MPI.DOUBLE.Unpack_external("external32", packed, 0, target) == 48
    np.testing.assert_array_equal(target.to_numpy(), np.arange(6))
