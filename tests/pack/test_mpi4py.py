"""The same calls by mpi4py: over a library with _c functions it uses those, over one without the int forms."""

import numpy as np
import pytest
from mpi4py import MPI

from support.packing import Seen

pytestmark = pytest.mark.mpi_process(TEMPI_DEVICE="fake")


def test_mpi4py_packs_device_arrays():
    from tempi.testing import FakeArray

    values = np.arange(64, dtype=np.int32)
    column = MPI.INT.Create_vector(8, 1, 8).Commit()
    source, packed = FakeArray.from_numpy(values), np.zeros(8, np.int32)
    with Seen() as seen:
        assert column.Pack(source, packed, 0, MPI.COMM_SELF) == 32
    np.testing.assert_array_equal(packed, values.reshape(8, 8)[:, 0])
    assert seen.taken("MPI_Pack") == 1

    target = FakeArray.from_numpy(np.zeros(64, np.int32))
    with Seen() as seen:
        assert column.Unpack(packed, 0, target, MPI.COMM_SELF) == 32
    wanted = np.zeros((8, 8), np.int32)
    wanted[:, 0] = packed
    np.testing.assert_array_equal(target.to_numpy().reshape(8, 8), wanted)
    assert seen.taken("MPI_Unpack") == 1
    column.Free()


def test_messages_still_work_beside_the_shim():
    """A shim that exports a _c symbol which the library lacks breaks every Send of mpi4py."""
    received = np.zeros(4, np.int32)
    MPI.COMM_SELF.Sendrecv(np.arange(4, dtype=np.int32), 0, recvbuf=received, source=0)
    np.testing.assert_array_equal(received, np.arange(4))
