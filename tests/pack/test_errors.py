"""Bad input: the same error class as the library alone gives on host memory, and nothing written anywhere."""

import sys
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

from support import calls, memory, shim
from support.programs import succeed

pytestmark = pytest.mark.mpi_process(TEMPI_DEVICE="fake")

SIZE = 256
MEMORY = pytest.mark.parametrize(
    ("typed", "packed"), [("host", "host"), ("device", "host"), ("host", "device"), ("device", "device")]
)


class Attempt:
    """One call on two buffers: the result of the library alone on host memory, and the program's."""

    def __init__(self, typed: str, packed: str) -> None:
        self.kinds = (typed, packed)
        self.pattern = np.random.default_rng(1).integers(0, 256, SIZE, np.uint8)

    def check(self, call) -> int:
        """`call(calls, typed address, packed address)` -> Result. Returns the error class, the same on both sides.

        MPICH does not look at the sizes and writes past the end. If the library does the work, that is accepted; if the
        shim does it, there is an error and nothing is written.
        """
        expected = call(calls.library(), *self._addresses(memory.Host, ("host", "host")))
        buffers = [memory.fake(kind, self.pattern) for kind in self.kinds]
        found = call(calls.program(), *(buffer.address for buffer in buffers))
        if expected.error == 0 and self.kinds == ("host", "host"):
            assert found == expected
            return 0
        assert found.error == (expected.error or MPI.ERR_TRUNCATE)
        for buffer in buffers:
            np.testing.assert_array_equal(buffer.read(), self.pattern)
        return found.error

    def _addresses(self, make, kinds):
        self._kept = [make(self.pattern) for _ in kinds]
        return [buffer.address for buffer in self._kept]


@pytest.fixture
def vector():
    datatype = MPI.INT.Create_vector(4, 2, 4).Commit()
    yield datatype
    datatype.Free()


@pytest.fixture
def uncommitted():
    datatype = MPI.INT.Create_vector(4, 2, 4)
    yield datatype
    datatype.Free()


@MEMORY
@pytest.mark.parametrize("size", [0, 1, 31])
def test_pack_into_too_little_room(typed, packed, size, vector):
    Attempt(typed, packed).check(lambda c, t, p: c.pack(t, 1, vector, p, size))


@MEMORY
def test_pack_behind_the_end(typed, packed, vector):
    Attempt(typed, packed).check(lambda c, t, p: c.pack(t, 1, vector, p, 64, position=40))


@MEMORY
def test_unpack_of_too_few_bytes(typed, packed, vector):
    Attempt(typed, packed).check(lambda c, t, p: c.unpack(p, 31, t, 1, vector))


@MEMORY
def test_negative_counts(typed, packed, vector):
    Attempt(typed, packed).check(lambda c, t, p: c.pack(t, -1, vector, p, SIZE))
    Attempt(typed, packed).check(lambda c, t, p: c.unpack(p, SIZE, t, -1, vector))


@MEMORY
def test_null_datatype(typed, packed):
    Attempt(typed, packed).check(lambda c, t, p: c.pack(t, 1, MPI.DATATYPE_NULL, p, SIZE))
    Attempt(typed, packed).check(lambda c, t, p: c.unpack(p, SIZE, t, 1, MPI.DATATYPE_NULL))


@MEMORY
def test_uncommitted_datatype(typed, packed, uncommitted):
    """Some libraries take uncommitted types in MPI_Pack; then a program may go on relying on it."""
    host = memory.Host(np.zeros(SIZE, np.uint8))
    alone = calls.library().pack(host.address, 1, uncommitted, host.address + 128, 128)
    if alone.error:
        Attempt(typed, packed).check(lambda c, t, p: c.pack(t, 1, uncommitted, p, SIZE))
        Attempt(typed, packed).check(lambda c, t, p: c.unpack(p, SIZE, t, 1, uncommitted))
    else:
        buffers = [memory.fake(kind, np.zeros(SIZE, np.uint8)) for kind in (typed, packed)]
        found = calls.program().pack(buffers[0].address, 1, uncommitted, buffers[1].address, SIZE)
        assert found == alone


def test_committing_a_null_datatype_is_the_librarys_error():
    assert calls.program().commit(MPI.DATATYPE_NULL) == calls.library().commit(MPI.DATATYPE_NULL) != 0


@pytest.mark.sample(2)
@pytest.mark.parametrize("nth", [1, 2, 5])
@pytest.mark.parametrize("step", ["allocate", "pinned", "launch", "copy", "finish"])
def test_a_failing_device_loses_nothing(step, nth):
    """An internal failure falls back to the library where the data allows it, and says so once."""
    check_failing("failing_device.py", step, nth)


@pytest.mark.sample(2)
@pytest.mark.parametrize("nth", [1, 2, 4])
@pytest.mark.parametrize("step", ["pinned", "copy", "finish"])
def test_a_failing_device_loses_nothing_of_types_over_several_memories(step, nth):
    check_failing("failing_places.py", step, nth)


def check_failing(program, step, nth):
    environment = shim.preloaded(TEMPI_DEVICE="fake", TEMPI_FAKE_FAIL=f"{step}:{nth}")
    environment["PYTHONPATH"] = ":".join(filter(None, sys.path))
    output = succeed([sys.executable, str(Path(__file__).with_name(program))], environment)
    assert output.out.strip() == "right"
    assert len(output.err.splitlines()) <= 1
