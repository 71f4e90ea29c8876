"""TEMPI_VERIFY finds a wrong byte: here the fake device spoils one copy."""

import numpy as np
import pytest
from mpi4py import MPI

from support import calls, memory
from support.packing import Seen

SIZE = 4096
IMAGE = np.random.default_rng(7).integers(0, 256, 4 * SIZE, np.uint8)


@pytest.fixture
def vector():
    datatype = MPI.INT.Create_vector(SIZE // 8, 2, 6).Commit()
    yield datatype
    datatype.Free()


def check_is_found(call, capfd):
    """The second copy is the one that brings the packed bytes over; the first one takes the picture to compare with."""
    with Seen() as seen:
        result = call()
    assert result == (MPI.ERR_INTERN, 0)
    assert not seen.taken("MPI_Pack")
    assert not seen.taken("MPI_Unpack")
    said = capfd.readouterr().err
    assert "TEMPI_VERIFY: wrong byte at offset" in said
    assert "strided" in said.lower(), "the datatype's tree is missing"
    assert call().error == 0, "only one byte was spoilt"
    assert capfd.readouterr().err == ""


@pytest.mark.mpi_process(TEMPI_DEVICE="fake", TEMPI_VERIFY="1", TEMPI_FAKE_FAIL="flip:2", TEMPI_FAKE_SEED="21")
def test_wrong_packed_byte_is_found(vector, capfd):
    typed, packed = memory.fake("host", IMAGE), memory.fake("device", np.zeros(SIZE, np.uint8))
    check_is_found(lambda: calls.program().pack(typed.address, 1, vector, packed.address, SIZE), capfd)


@pytest.mark.mpi_process(TEMPI_DEVICE="fake", TEMPI_VERIFY="1", TEMPI_FAKE_FAIL="flip:2", TEMPI_FAKE_SEED="22")
def test_wrong_unpacked_byte_is_found(vector, capfd):
    typed, packed = memory.fake("host", IMAGE), memory.fake("device", IMAGE[:SIZE])
    check_is_found(lambda: calls.program().unpack(packed.address, SIZE, typed.address, 1, vector), capfd)


@pytest.mark.mpi_process(TEMPI_DEVICE="fake", TEMPI_FAKE_FAIL="flip:1", TEMPI_FAKE_SEED="23")
def test_without_verify_the_wrong_byte_stays(vector):
    typed, packed = memory.fake("host", IMAGE), memory.fake("device", np.zeros(SIZE, np.uint8))
    assert calls.program().pack(typed.address, 1, vector, packed.address, SIZE) == (0, SIZE)
    wanted = IMAGE.reshape(-1)[: 24 * (SIZE // 8)].reshape(-1, 24)[:, :8].ravel()
    assert (packed.read() != wanted).sum() == 1
