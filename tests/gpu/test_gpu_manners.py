"""The CUDA manners of the design, each sentence by name."""

import os
import traceback

import numpy as np
import pytest
from mpi4py import MPI

from support import calls, needs, two_memories
from support.gpu_memory import gpu
from support.memory import Host
from support.packing import Seen

try:
    import cupy
except ImportError:
    cupy = None  # then this folder is skipped

pytestmark = pytest.mark.mpi_process(TEMPI_HOST_PACK="ours")

IMAGE = np.random.default_rng(3).integers(0, 256, 1 << 16, np.uint8)
BLOCKS, BLOCK, STRIDE = 1000, 12, 60
SIZE = BLOCKS * BLOCK
EXPECTED = np.stack([IMAGE[i * STRIDE : i * STRIDE + BLOCK] for i in range(BLOCKS)]).ravel()


@pytest.fixture
def vector():
    datatype = MPI.BYTE.Create_vector(BLOCKS, BLOCK, STRIDE).Commit()
    yield datatype
    datatype.Free()


def pack(datatype, address, packed, size=SIZE):
    with Seen() as seen:
        assert calls.program().pack(address, 1, datatype, packed.address, size) == (0, size)
    assert seen.taken("MPI_Pack") == 1


def check_round_trip(datatype, kind, packed_kind):
    source, packed = gpu(kind, IMAGE), gpu(packed_kind, np.zeros(SIZE, np.uint8))
    pack(datatype, source.address, packed)
    np.testing.assert_array_equal(packed.read(), EXPECTED)
    target = gpu(kind, np.zeros_like(IMAGE))
    result = calls.program().unpack(packed.address, SIZE, target.address, 1, datatype)
    assert result == (0, SIZE)
    wanted = np.zeros_like(IMAGE)
    for i in range(BLOCKS):
        wanted[i * STRIDE : i * STRIDE + BLOCK] = IMAGE[i * STRIDE : i * STRIDE + BLOCK]
    np.testing.assert_array_equal(target.read(), wanted)


@pytest.mark.parametrize("kind", ["async", "managed", "pool", "pinned"])
@pytest.mark.parametrize("packed_kind", ["host", "device", "pinned", "managed"])
def test_buffers_of_every_allocator(vector, kind, packed_kind):
    check_round_trip(vector, kind, packed_kind)


@pytest.mark.two_gpus
def test_two_gpus_in_one_process(vector):
    check_round_trip(vector, "device", "device 1")
    check_round_trip(vector, "device 1", "device")
    check_round_trip(vector, "device 1", "host")


@pytest.mark.two_gpus
@pytest.mark.parametrize("current", [0, 1])
def test_the_current_device_is_left_as_it_was(vector, current):
    with cupy.cuda.Device(current):
        check_round_trip(vector, "device", "device 1")
        assert cupy.cuda.runtime.getDevice() == current


@pytest.mark.parametrize("mode", ["Global", "ThreadLocal", "Relaxed"])
def test_program_that_is_capturing_a_graph_survives(vector, mode):
    source, packed = gpu("device", IMAGE), gpu("device", np.zeros(SIZE, np.uint8))
    pack(vector, source.address, packed)  # warm
    values, stream = cupy.arange(1024), cupy.cuda.Stream(non_blocking=True)
    with stream:
        values += 1  # warm: CuPy compiles its kernel now
        stream.synchronize()
        stream.begin_capture(getattr(cupy.cuda.runtime, f"streamCaptureMode{mode}"))
        values += 1
        pack(vector, source.address, packed)
        values += 1
        graph = stream.end_capture()
        graph.launch(stream)
        stream.synchronize()
    np.testing.assert_array_equal(packed.read(), EXPECTED)
    np.testing.assert_array_equal(values.get(), np.arange(1024) + 3)


def test_first_call_inside_a_capture_survives():
    """Cold: module loading and allocation happen while the program captures."""
    datatype = MPI.INT.Create_hindexed([1] * 999, [i * i * 4 % 60000 // 4 * 4 for i in range(999)]).Commit()
    source, packed = gpu("device", IMAGE), gpu("device", np.zeros(4 * 999, np.uint8))
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture(cupy.cuda.runtime.streamCaptureModeGlobal)
        pack(datatype, source.address, packed, 4 * 999)
        stream.end_capture()
    wanted = np.concatenate([IMAGE[i * i * 4 % 60000 // 4 * 4 :][:4] for i in range(999)])
    np.testing.assert_array_equal(packed.read(), wanted)
    datatype.Free()


def test_never_waits_for_the_legacy_stream(vector):
    """Work is on a stream of our own: a pack returns while the program's other streams are still busy."""
    source, packed = gpu("device", IMAGE), gpu("device", np.zeros(SIZE, np.uint8))
    pack(vector, source.address, packed)
    from support.busy_gpu import spinner

    spin, done = spinner(), cupy.cuda.Event()
    spin(4_000_000_000)  # about two seconds
    done.record(cupy.cuda.Stream.null)
    pack(vector, source.address, packed)
    still_busy = not done.done
    cupy.cuda.Device().synchronize()
    assert still_busy


def test_child_after_fork_passes_everything_through(vector):
    check_round_trip(vector, "device", "host")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:  # the child may use no CUDA, but its host calls must work
            source, packed = Host(IMAGE), Host(np.zeros(SIZE, np.uint8))
            result = calls.program().pack(source.address, 1, vector, packed.address, SIZE)
            code = 0 if result.error == 0 and np.array_equal(packed.read(), EXPECTED) else 2
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    check_round_trip(vector, "device", "host")


def test_type_that_starts_before_and_after_the_buffer_argument():
    """The buffer argument lies outside of the allocation; the first data byte is what counts."""
    source = gpu("device", IMAGE)
    packed = Host(np.zeros(16, np.uint8))
    far = 1 << 40
    for argument in (source.address - far, source.address + far):
        datatype = MPI.BYTE.Create_hindexed(
            [8, 8], [source.address + 64 - argument, source.address - argument]
        ).Commit()
        pack(datatype, argument, packed, 16)
        np.testing.assert_array_equal(packed.read(), np.concatenate([IMAGE[64:72], IMAGE[:8]]))
        datatype.Free()


def check_bottom(kinds):
    """A struct at absolute addresses: a host header, then strided data on GPUs; there and back."""
    buffers = [gpu(kind, IMAGE[i * 4096 : (i + 1) * 4096]) for i, kind in enumerate(kinds)]
    column = MPI.INT.Create_vector(64, 1, 16)

    def struct(of):
        return MPI.Datatype.Create_struct([1] * len(of), [b.address for b in of], [column] * len(of)).Commit()

    size = 256 * len(kinds)
    packed, datatype = Host(np.zeros(size, np.uint8)), struct(buffers)
    assert calls.program().pack(0, 1, datatype, packed.address, size) == (0, size)
    columns = [IMAGE[i * 4096 : (i + 1) * 4096].view(np.int32)[::16] for i in range(len(kinds))]
    np.testing.assert_array_equal(packed.read().view(np.int32), np.concatenate(columns))

    cleared = [gpu(kind, np.zeros(4096, np.uint8)) for kind in kinds]
    back = struct(cleared)
    assert calls.program().unpack(packed.address, size, 0, 1, back) == (0, size)
    for buffer, values in zip(cleared, columns, strict=True):
        np.testing.assert_array_equal(buffer.read().view(np.int32)[::16], values)
    for made in (column, datatype, back):
        made.Free()


def test_mpi_bottom_struct_of_host_header_and_device_arrays():
    check_bottom(("host", "device", "device", "managed"))


@pytest.mark.two_gpus
def test_mpi_bottom_struct_of_host_header_and_device_arrays_on_two_gpus():
    check_bottom(("host", "device", "device 1", "device"))


@two_memories.cases
def test_mpi_bottom_struct_of_ordinary_and_gpu_memory(order, packed_kind, direction):
    """Pageable memory and cudaMalloc: on the GPU's way, without falling back."""
    two_memories.check(gpu, order, packed_kind, direction)


def test_span_above_4_gib():
    """A payload of 1 GiB, every offset behind the first quarter beyond 32 bits."""
    free, _ = cupy.cuda.runtime.memGetInfo()
    needs.free_gpu_memory(12, free)
    rows, row, stride = 1 << 20, 1 << 10, 1 << 13
    source = cupy.zeros((rows, stride), cupy.uint8)
    source[:, :row] = (cupy.arange(rows, dtype=cupy.uint32) * 7 % 251).astype(cupy.uint8)[:, None]
    packed = cupy.zeros((rows, row), cupy.uint8)
    cupy.cuda.Device().synchronize()
    datatype = MPI.BYTE.Create_hvector(rows, row, stride).Commit()
    assert calls.program().pack(source.data.ptr, 1, datatype, packed.data.ptr, rows * row) == (0, rows * row)
    assert bool((packed == source[:, :row]).all())
    datatype.Free()
