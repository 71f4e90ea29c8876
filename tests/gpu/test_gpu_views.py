"""tempi.view of CuPy's and Numba's arrays: slices, and work still queued on their streams."""

import numpy as np
import pytest
from mpi4py import MPI

from support import needs

try:
    import cupy
except ImportError:
    cupy = None  # then this folder is skipped

pytestmark = pytest.mark.mpi_process()

VALUES = np.arange(6 * 7 * 8.0).reshape(6, 7, 8)
SLICES = (np.s_[1:-1, 0, ::2], np.s_[::-1, 3:, 1], np.s_[..., ::-3], np.s_[2], np.s_[:0])
SPIN_CYCLES = 200_000_000  # a tenth of a second


def transfer(source, target):
    import tempi

    MPI.COMM_SELF.Sendrecv(tempi.view(source), 0, recvbuf=tempi.view(target), source=0)


@pytest.mark.parametrize("index", SLICES, ids=str)
@pytest.mark.parametrize("dtype", ["f8", "c8", "f2", "?"])
def test_slices_of_cupy_arrays(index, dtype):
    values = VALUES.astype(dtype)
    source, target = cupy.asarray(values), cupy.zeros_like(cupy.asarray(values))
    transfer(source[index], target[index])
    wanted = np.zeros_like(values)
    wanted[index] = values[index]
    np.testing.assert_array_equal(target.get(), wanted)


@pytest.mark.parametrize("index", [np.s_[1:-1, 0, ::2], np.s_[2]], ids=str)
def test_slices_of_numba_arrays_to_the_host(index):
    cuda = needs.numba_cuda()
    source, target = cuda.to_device(VALUES), np.zeros_like(VALUES[index])
    transfer(source[index], target)
    np.testing.assert_array_equal(target, VALUES[index])
    back = cuda.to_device(np.zeros_like(VALUES))
    transfer(target, back[index])
    np.testing.assert_array_equal(back.copy_to_host()[index], VALUES[index])


class DlpackOnly:
    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **arguments):
        return self._array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def as_is(array):
    return array


@pytest.mark.parametrize("wrap", [as_is, DlpackOnly])
@pytest.mark.parametrize("own_stream", [False, True], ids=["default stream", "own stream"])
def test_queued_work_is_waited_for(wrap, own_stream):
    """The values are written by a kernel behind one that spins: without waiting, old ones would be sent."""
    from support.busy_gpu import spinner

    spin = spinner()
    source, target = cupy.zeros(VALUES.shape), np.zeros_like(VALUES[::2, 1])
    values = cupy.asarray(VALUES)
    cupy.cuda.runtime.deviceSynchronize()
    with cupy.cuda.Stream(non_blocking=True) if own_stream else cupy.cuda.Stream.null:
        spin(SPIN_CYCLES)
        source[...] = values
        transfer(wrap(source[::2, 1]), target)
    np.testing.assert_array_equal(target, VALUES[::2, 1])


def test_broadcasts_can_only_be_sent():
    source, target = cupy.broadcast_to(cupy.arange(3.0), (4, 3)), np.zeros((4, 3))
    transfer(source, target)
    np.testing.assert_array_equal(target, np.broadcast_to(np.arange(3.0), (4, 3)))
    with pytest.raises(BufferError, match="share memory"):
        transfer(target, source)


@pytest.mark.two_gpus
def test_arrays_on_another_gpu_than_the_current_one():
    with cupy.cuda.Device(1):
        source = cupy.asarray(VALUES)
    target = cupy.zeros_like(cupy.asarray(VALUES))
    transfer(source[::2, ::-1], target[::2, ::-1])
    np.testing.assert_array_equal(target.get()[::2], VALUES[::2])
