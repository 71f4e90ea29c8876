"""MPI_Pack and MPI_Unpack by TEMPI on the CPU, wherever source and destination lie in their pages: long blocks are
copied in another way where the processor's own copy is slow."""

import numpy as np
import pytest
from mpi4py import MPI

pytestmark = pytest.mark.mpi_process(TEMPI_HOST_PACK="ours")

PAGE, N_BLOCKS = 4096, 5


def memory(n_bytes, offset):
    """Bytes that begin at an offset in a page; all are 0xee."""
    whole = np.full(n_bytes + 2 * PAGE, 0xEE, "u1")
    begin = -whole.ctypes.data % PAGE + offset
    return whole[begin : begin + n_bytes]


@pytest.mark.parametrize("after", [0, 1, 8, 15, 16, PAGE - 8])
@pytest.mark.parametrize("block", [65, 1023, 1024, 2500, PAGE, 4 * PAGE + 3, 2 << 20])
@pytest.mark.parametrize("n_blocks", [1, N_BLOCKS])
def test_long_blocks_anywhere_in_their_pages(n_blocks, block, after):
    stride = block + PAGE - block % PAGE
    datatype = MPI.BYTE.Create_vector(n_blocks, block, stride).Commit()
    source, packed = memory(n_blocks * stride, 16), memory(n_blocks * block + 1, (16 + after) % PAGE)
    source[:] = np.random.default_rng(block).integers(0, 200, source.size, "u1")
    extent = datatype.Get_extent()[1]
    datatype.Pack(source[:extent], packed[:-1], 0, MPI.COMM_SELF)
    blocks = source.reshape(n_blocks, stride)[:, :block]
    assert np.array_equal(packed[:-1], blocks.reshape(-1))
    assert packed[-1] == 0xEE
    back = memory(n_blocks * stride, (16 + 2 * after) % PAGE)
    datatype.Unpack(packed[:-1], 0, back[:extent], MPI.COMM_SELF)
    expected = np.full((n_blocks, stride), 0xEE, "u1")
    expected[:, :block] = blocks
    assert np.array_equal(back, expected.reshape(-1))
    datatype.Free()
