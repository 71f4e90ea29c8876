"""Messages of tempi.view: whether they may be received into, and the lifetime of the view and its datatype."""

import gc
import mmap
import os
import sys
import weakref
from array import array as numbers

import dlpack_objects
import numpy as np
import pytest
from mpi4py import MPI

from support import shim
from support.programs import succeed

ALONE = pytest.mark.mpi_process(shim=False)
FAKE = pytest.mark.mpi_process(TEMPI_DEVICE="fake")
COMM = MPI.COMM_SELF


def view(array):
    import tempi

    return tempi.view(array)


def transfer(source, target):
    COMM.Sendrecv(view(source), 0, recvbuf=view(target), source=0)


def read_only(array):
    array.flags.writeable = False
    return array


SHARED = {
    "broadcast": np.broadcast_to(np.arange(3.0), (4, 3)),
    "windows": np.lib.stride_tricks.sliding_window_view(np.arange(9.0), 3),
    "writable windows": np.lib.stride_tricks.as_strided(np.arange(9.0), (4, 3), (8, 8)),
}


def check_only_sent(source, refusal):
    target = np.zeros(source.shape)
    transfer(source, target)
    np.testing.assert_array_equal(target, source)
    with pytest.raises(BufferError, match=refusal):
        COMM.Irecv(view(source), 0)


@ALONE
@pytest.mark.parametrize("name", SHARED)
def test_elements_that_share_memory_can_only_be_sent(name):
    check_only_sent(SHARED[name], r"share memory.*receive a copy")


@ALONE
@pytest.mark.parametrize("slices", [np.s_[:], np.s_[::2, ::-1], np.s_[:0]], ids=str)
def test_read_only_arrays_can_only_be_sent(slices):
    check_only_sent(read_only(np.arange(12.0).reshape(3, 4))[slices], r"read-only.*receive a copy")


@ALONE
def test_transposed_and_reversed_elements_share_nothing():
    """Neither do those between the elements of another dimension."""
    transfer(np.ones((3, 4)), np.zeros((4, 3))[::-1].T)
    transfer(np.ones((4, 3)), np.zeros((4, 6))[:, ::2])
    transfer(np.ones((3, 1, 4)), np.zeros((3, 1, 8))[..., ::-2])


@ALONE
def test_errors_of_what_cannot_be_sent():
    with pytest.raises(TypeError, match=r"array is \[1.0, 2.0\]; it must be an array"):
        view([1.0, 2.0])
    with pytest.raises(TypeError, match="Python objects"):
        view(np.array([{}, {}]))


@ALONE
def test_contiguous_arrays_are_elements_in_a_row():
    for array in (np.zeros((3, 4)), np.zeros((3, 4, 2))[1:, :, :], np.zeros((2, 3))[None, 1]):
        _, count, datatype = view(array)
        assert (count, datatype) == (array.size, MPI.DOUBLE)


@ALONE
@pytest.mark.parametrize("index", [np.s_[1:-1, 0, ::2], np.s_[::-1, 1:, ::-2], np.s_[:, 2, 5], np.s_[::2, ::-1]])
def test_tempi_sees_one_box_in_any_slice(index):
    import tempi

    boxes = tempi.explain(view(np.zeros((5, 6, 7))[index])[2]).boxes
    assert boxes.count(" B blocks, the first at") == 1


@ALONE
def test_arrays_alike_share_a_datatype():
    first, second = np.zeros((2, 6, 5))[:, ::2, 1]
    assert view(first)[2] is view(second)[2]
    assert view(first)[2] is not view(first[:2])[2]


@ALONE
def test_datatypes_are_kept_in_bounds_and_freed_with_their_last_message(monkeypatch):
    from tempi.arrays import views

    freed = []
    monkeypatch.setattr(views._Datatype, "Free", lambda datatype: freed.append(MPI.Datatype.Free(datatype)))
    source, target = np.arange(2 * 4000.0).reshape(-1, 2)[:5, 0], np.zeros(5)
    held = view(source)
    for stride in range(3, views.CACHED_LAYOUTS + 20):
        view(np.zeros((2, stride))[:, 0])
    gc.collect()
    assert views._layout.cache_info().currsize == views.CACHED_LAYOUTS
    assert len(freed) >= 16
    COMM.Sendrecv(held, 0, recvbuf=target, source=0)  # its datatype has left the cache
    np.testing.assert_array_equal(target, source)
    before = len(freed)
    del held
    assert len(freed) == before + 1


@ALONE
@pytest.mark.parametrize("lock", [False, True], ids=["writable", "read-only"])
def test_messages_and_requests_keep_their_array_alive(lock):
    source = np.arange(100_000.0)[::2]
    watched = weakref.ref(source)
    wanted, target = source.copy(), np.zeros(source.size)
    source.flags.writeable = not lock
    message = view(source)
    del source
    gc.collect()
    assert watched() is not None
    request = COMM.Isend(message, 0)
    del message
    gc.collect()
    assert watched() is not None
    COMM.Recv(target, 0)
    request.Wait()
    np.testing.assert_array_equal(target, wanted)
    del request
    gc.collect()
    assert watched() is None


BUFFERS = {
    "bytearray": (lambda: bytearray(64), lambda made: made.extend(made)),
    "array": (lambda: numbers("d", range(8)), lambda made: made.extend(made)),
    "mmap": (lambda: mmap.mmap(-1, 4096), lambda made: made.resize(8192)),
}


@ALONE
@pytest.mark.parametrize("through", [lambda made: made, memoryview], ids=["itself", "memoryview"])
@pytest.mark.parametrize("name", BUFFERS)
def test_a_buffer_cannot_be_resized_while_a_message_of_it_lives(name, through):
    make, resize = BUFFERS[name]
    made = make()
    message = view(through(made))
    request = COMM.Recv_init(message, 0)
    del message
    gc.collect()
    with pytest.raises(BufferError):
        resize(made)
    request.Free()
    del request
    gc.collect()
    resize(made)


@ALONE
def test_a_dlpack_capsule_lives_as_long_as_a_message_of_it():
    exported = dlpack_objects.Counted(np.arange(8.0))
    message = view(exported)
    assert exported.n_exported == 1
    del message
    gc.collect()
    assert exported.n_exported == 0


@ALONE
@pytest.mark.parametrize(
    "source",
    [np.arange(12.0)[::2], np.arange(6) * 1j, np.arange(6, dtype=">i4"), (np.arange(12) * 1j)[::-2]],
    ids=["strided", "complex", "bytes", "strided complex"],
)
def test_a_view_after_its_datatype_was_freed_has_a_new_one(source):
    for _ in range(2):
        view(source)[2].Free()
        target = np.zeros_like(source)
        transfer(source, target)
        np.testing.assert_array_equal(target, source)
    view(source)[2].Free()
    other = source.repeat(2)[::2]
    target = np.zeros_like(other)
    transfer(other, target)  # of other strides, and perhaps of the same element
    np.testing.assert_array_equal(target, other)


HOST = "bytes in host memory"
PADDED = np.dtype("i1,f8", align=True)
EMPTY = np.zeros((0, 3), "i2")
TEXTS = {
    "slice": (np.zeros((4, 6))[:, ::2], f"float64, shape (4, 3), strides (48, 16): 96 {HOST}"),
    "empty": (EMPTY, f"int16, shape (0, 3), strides {EMPTY.strides}: 0 {HOST}"),
    "padded": (np.zeros(3, PADDED), f"{PADDED}, shape (3,), strides (16,): 27 {HOST}"),
    "read-only": (
        read_only(np.zeros(3, "f4")),
        f"float32, shape (3,), strides (4,): 12 {HOST}, can only be sent: it is read-only",
    ),
    "broadcast": (
        np.broadcast_to(np.zeros(3), (2, 3)),
        f"float64, shape (2, 3), strides (0, 8): 48 {HOST}, can only be sent: it has elements that share memory",
    ),
}


@ALONE
@pytest.mark.parametrize("name", TEXTS)
def test_a_view_tells_its_array(name):
    array, text = TEXTS[name]
    assert repr(view(array)) == f"<tempi.view of an array of {text}>"


@FAKE
def test_a_view_of_gpu_memory_tells_its_stream():
    from tempi.testing import FakeArray, FakeStream

    array, stream = FakeArray((2, 3), "f8"), FakeStream()
    assert repr(view(array)).endswith("shape (2, 3), strides (24, 8): 48 bytes in GPU memory>")
    array.stream = stream
    assert repr(view(array)).endswith(f"48 bytes in GPU memory, filled by stream {stream.handle:#x}>")


@ALONE
def test_a_view_is_a_table_in_notebooks_and_a_list_for_programs():
    made = view(np.zeros((4, 6))[:, ::2])
    assert "<td>(48, 16)</td>" in made._repr_html_()
    assert '<td style="text-align: right">96</td>' in made._repr_html_()
    _, count, datatype = made
    assert isinstance(made, list)
    assert made[1:] == [count, datatype]


@ALONE
def test_a_view_keeps_its_text_after_its_datatype_was_freed():
    made = view(np.zeros((4, 6))[:, ::2])
    before = repr(made)
    made[2].Free()
    assert repr(made) == before


def test_importing_tempi_does_not_import_mpi():
    code = "import sys, tempi; assert 'mpi4py.MPI' not in sys.modules; tempi.view; assert 'mpi4py.MPI' in sys.modules"
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    succeed([sys.executable, "-c", code], shim.clean_environment() | path)


def test_the_text_of_a_view_needs_no_mpi():
    """A traceback or a log may ask for it after MPI_Finalize."""
    program = (
        "import numpy, tempi\nfrom mpi4py import MPI\n"
        "view, half = tempi.view(numpy.zeros((3, 4))[:, :2]), tempi.datatype('float16')\n"
        "MPI.Finalize()\nprint(view, half)"
    )
    done = succeed([sys.executable, "-c", program], shim.clean_environment())
    assert "shape (3, 2)" in done.out
    assert "float16" in done.out
