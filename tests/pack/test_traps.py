"""The traps that datatype engines are known to fall into, each by name, on host and on fake device memory."""

import ctypes

import numpy as np
import pytest
from mpi4py import MPI

from support import calls, memory, shim
from support import constructors as c
from support.building import Builder
from support.defects import dies_of_empty_members
from support.packing import Case, Seen, check_pack, check_unpack
from support.typemap import NAMED, PAIRS, Named, message_map, reference_pack, type_map

pytestmark = pytest.mark.mpi_process(TEMPI_DEVICE="fake")

INT, DOUBLE, BYTE = Named("INT"), Named("DOUBLE"), Named("BYTE")
MEMORY = pytest.mark.parametrize("kind", ["host", "device"])


def check(spec, kind, count=1):
    case = Case(spec, count, typed=kind, packed=kind)
    would_die = dies_of_empty_members(spec) and (kind == memory.HOST or type_map(spec).size == 0)  # the library, alone
    assert check_pack(case, memory.fake) != would_die
    assert check_unpack(case, memory.fake) != would_die


@MEMORY
@pytest.mark.parametrize("count", [1, 2])
def test_subarray_with_subsize_1_at_a_nonzero_start(kind, count):
    check(c.Subarray((4, 5, 6), (2, 1, 3), (1, 3, 2), "C", INT), kind, count)
    check(c.Subarray((4, 5, 6), (1, 1, 1), (3, 4, 5), "F", INT), kind, count)


@MEMORY
def test_padded_1d_subarray_with_count_2(kind):
    check(c.Subarray((10,), (3,), (4,), "C", INT), kind, count=2)


@MEMORY
@pytest.mark.parametrize("count", [1, 3])
def test_transposing_vector_of_vector(kind, count):
    """A column-major walk of a row-major matrix: the outer stride is smaller than the inner one."""
    column = c.Vector(6, 1, 8, DOUBLE)
    check(c.Hvector(8, 1, 8, column), kind, 1)
    check(c.Contiguous(4, c.Resized(0, 8, column)), kind, 1)
    check(c.Hvector(2, 1, 8, c.Hvector(3, 1, 64, c.Hvector(2, 1, 16, INT))), kind, count)


@MEMORY
@pytest.mark.parametrize("name", [name for name in PAIRS if name != "LONG_DOUBLE_INT"])
def test_pair_types_have_holes(kind, name):
    check(c.Vector(3, 2, 3, Named(name)), kind, count=2)
    check(Named(name), kind, count=5)


def test_padding_of_long_double_is_the_only_freedom():
    """MPICH copies 10 of the 16 bytes of MPI_LONG_DOUBLE. Those 10 must be right with any packer."""
    values = np.arange(1, 13, dtype=np.longdouble)
    packed = memory.Host(np.zeros(6 * 16, np.uint8))
    with Builder() as builder:
        datatype = builder.build(c.Vector(6, 1, 2, Named("LONG_DOUBLE"))).Commit()
        result = calls.program().pack(values.ctypes.data, 1, datatype, packed.address, 96)
    assert result == (0, 96)
    np.testing.assert_array_equal(packed.read().view(np.longdouble), values[::2])


@MEMORY
def test_resized_with_negative_lower_bound(kind):
    check(c.Resized(-8, 24, INT), kind, count=3)
    check(c.Vector(3, 2, 3, c.Resized(-16, 20, c.Contiguous(2, INT))), kind, count=2)
    check(c.Resized(-4, 12, c.Hindexed((1, 1), (-4, 4), INT)), kind, count=3)


@MEMORY
def test_resized_with_extent_smaller_than_the_data(kind):
    check(c.Resized(0, 4, c.Vector(3, 1, 4, INT)), kind, count=4)


@MEMORY
def test_hindexed_with_decreasing_offsets(kind):
    check(c.Hindexed((1, 2, 1), (64, 24, 0), INT), kind, count=2)
    check(c.HindexedBlock(1, tuple(range(4000, -1, -16)), DOUBLE), kind)
    check(c.Vector(5, 1, -3, INT), kind, count=2)


@MEMORY
def test_nested_empty_types(kind):
    nothing = c.Contiguous(0, INT)
    check(c.Vector(3, 2, 4, nothing), kind, count=2)
    check(c.Struct((1, 1, 0), (0, 8, 16), (c.Vector(2, 0, 3, INT), INT, DOUBLE)), kind, count=2)
    check(c.Hindexed((), (), c.Struct((), (), ())), kind)
    check(c.Resized(-8, 64, nothing), kind, count=3)


@MEMORY
def test_zero_count(kind):
    check(c.Vector(3, 2, 4, INT), kind, count=0)


@MEMORY
def test_types_that_reach_before_the_buffer_address(kind):
    check(c.Hindexed((1, 1), (-256, -4096), DOUBLE), kind)


def pack_bytes(datatype, memory_image, count=1, kind="device"):
    typed = memory.fake(kind, memory_image)
    packed = memory.Host(np.zeros(datatype.Get_size() * count, np.uint8))
    with Seen() as seen:
        result = calls.program().pack(typed.address, count, datatype, packed.address, len(packed.read()))
    assert result == (0, len(packed.read()))
    if kind == "device":
        assert seen.taken("MPI_Pack") == 1
    return packed.read()


def expected_bytes(spec, memory_image, count=1):
    return reference_pack(message_map(spec, count), memory_image, 0)


IMAGE = np.random.default_rng(2).integers(0, 256, 4096, np.uint8)


@MEMORY
def test_handle_reuse_after_free(kind):
    """The libraries hand out the handle of a freed type again; a stale plan would be silent corruption."""
    handles = set()
    for i in range(64):
        spec = c.Vector(3 + i % 5, 1 + i % 2, 4 + i % 7, INT)
        with Builder() as builder:
            datatype = builder.build(spec).Commit()
            handles.add(calls.handle(datatype).value)
            np.testing.assert_array_equal(pack_bytes(datatype, IMAGE, kind=kind), expected_bytes(spec, IMAGE))
    if not shim.is_sanitized():  # sanitizers keep freed memory, which handles point to, out of use
        assert len(handles) < 64, "no handle was ever reused: this test says nothing here"


@MEMORY
def test_inner_type_freed_while_the_outer_lives(kind):
    """The library frees the inner type itself, with the outer one: its handle comes back without our MPI_Type_free."""
    for i in range(32):
        inner_spec = c.Vector(2, 1, 3 + i % 5, INT)
        inner = MPI.INT.Create_vector(2, 1, 3 + i % 5).Commit()
        assert len(pack_bytes(inner, IMAGE, kind=kind)) == 8
        outer = inner.Create_contiguous(2).Commit()
        inner.Free()
        spec = c.Contiguous(2, inner_spec)
        np.testing.assert_array_equal(pack_bytes(outer, IMAGE, kind=kind), expected_bytes(spec, IMAGE))
        outer.Free()
        other_spec = c.Vector(2, 1, 9 + i % 3, INT)
        other = MPI.INT.Create_vector(2, 1, 9 + i % 3).Commit()
        np.testing.assert_array_equal(pack_bytes(other, IMAGE, kind=kind), expected_bytes(other_spec, IMAGE))
        other.Free()


@MEMORY
def test_type_freed_past_the_shim(kind):
    """Freed as by Fortran bindings and the library's own code, without a call of MPI_Type_free."""
    free = ctypes.CDLL(calls.library_path()).MPI_Type_free
    for i in range(16):
        spec = c.Vector(3, 1, 4 + i % 7, INT)
        datatype = MPI.INT.Create_vector(3, 1, 4 + i % 7).Commit()
        np.testing.assert_array_equal(pack_bytes(datatype, IMAGE, kind=kind), expected_bytes(spec, IMAGE))
        assert free(ctypes.c_void_p(MPI._addressof(datatype))) == 0


@MEMORY
def test_type_freed_inside_the_library_with_a_communicator(kind):
    """A library layer keeps a type as an attribute, whose delete callback frees it when the communicator goes."""
    free = ctypes.CDLL(calls.library_path()).MPI_Type_free
    kept = []
    keyval = MPI.Comm.Create_keyval(delete_fn=lambda *_: free(ctypes.c_void_p(MPI._addressof(kept.pop()))))
    for i in range(16):
        comm = MPI.COMM_SELF.Dup()
        spec = c.Vector(3, 1, 4 + i % 7, INT)
        datatype = MPI.INT.Create_vector(3, 1, 4 + i % 7).Commit()
        np.testing.assert_array_equal(pack_bytes(datatype, IMAGE, kind=kind), expected_bytes(spec, IMAGE))
        kept.append(datatype)
        comm.Set_attr(keyval, i)
        comm.Free()
        assert not kept, "the delete callback was not called"
    MPI.Comm.Free_keyval(keyval)


@MEMORY
def test_negative_extent(kind):
    """The second element lies before the first one."""
    for extent in (-16, -40):
        check(c.Resized(0, extent, c.Vector(2, 1, 2, INT)), kind, count=3)
        check(c.Resized(-8, extent - 8, c.Hindexed((1, 2), (8, -8), INT)), kind, count=2)
    check(c.Contiguous(3, c.Resized(0, -64, c.Vector(600, 1, 3, DOUBLE))), kind)  # three lattices that interleave


@MEMORY
def test_odd_positions_with_wide_words(kind):
    for position, typed_shift, packed_shift in ((1, 0, 0), (3, 0, 0), (8, 1, 0), (0, 4, 1), (7, 1, 1)):
        for leaf in (DOUBLE, Named("C_DOUBLE_COMPLEX")):
            spec = c.Vector(300, 2, 3, leaf)
            case = Case(spec, 2, kind, kind, typed_shift, packed_shift, position, spare=5)
            assert check_pack(case, memory.fake)
            assert check_unpack(case, memory.fake)


@MEMORY
def test_duplicate_outlives_its_original(kind):
    original = MPI.INT.Create_vector(3, 1, 5).Commit()
    pack_bytes(original, IMAGE, kind=kind)
    copy = original.Dup()
    original.Free()
    spec = c.Vector(3, 1, 5, INT)
    np.testing.assert_array_equal(pack_bytes(copy, IMAGE, kind=kind), expected_bytes(spec, IMAGE))
    copy.Free()


def check_type_committed_past_the_shim():
    spec = c.Vector(7, 1, 3, DOUBLE)
    datatype = MPI.DOUBLE.Create_vector(7, 1, 3)
    assert calls.library().commit(datatype) == 0
    np.testing.assert_array_equal(pack_bytes(datatype, IMAGE), expected_bytes(spec, IMAGE))
    datatype.Free()


def test_type_never_committed_through_the_shim():
    check_type_committed_past_the_shim()


@pytest.mark.mpi_process(TEMPI_NO_TYPE_COMMIT="1")
def test_type_never_committed_through_the_shim_with_commit_switched_off():
    check_type_committed_past_the_shim()


@pytest.mark.mpi_process(TEMPI_NO_TYPE_COMMIT="1")
@MEMORY
def test_empty_type_is_unpacked_first_of_all(kind):
    """The library must survive the queries about a new type."""
    with Builder() as builder:
        for spec in (c.Contiguous(0, INT), c.Vector(3, 2, 5, c.Contiguous(0, DOUBLE)), c.Hindexed((), (), INT)):
            typed = memory.fake(kind, IMAGE)
            result = calls.program().unpack(IMAGE.ctypes.data, 0, typed.address, 2, builder.build(spec).Commit())
            assert result == (0, 0)


def test_named_types_need_no_commit():
    for name in ("INT", "DOUBLE_INT"):
        runs, _ = NAMED[name]
        assert len(pack_bytes(getattr(MPI, name), IMAGE, count=5)) == 5 * sum(n for _, n in runs)


def absolute_struct(buffers):
    """A struct of two int vectors at absolute addresses, for MPI_BOTTOM."""
    vector = MPI.INT.Create_vector(4, 1, 2)
    datatype = MPI.Datatype.Create_struct([1] * len(buffers), [b.address for b in buffers], [vector] * len(buffers))
    vector.Free()
    return datatype.Commit()


@pytest.mark.parametrize(
    "kinds",
    [
        ("host", "host"),
        ("device", "device"),
        ("host", "device"),
        ("device 1", "device"),
        ("managed", "pinned"),
    ],
)
def test_mpi_bottom_with_absolute_addresses(kinds):
    images = [IMAGE[:64], IMAGE[64:128]]
    buffers = [memory.fake(kind, image) for kind, image in zip(kinds, images, strict=True)]
    datatype = absolute_struct(buffers)
    packed = memory.Host(np.zeros(32, np.uint8))
    assert calls.program().pack(0, 1, datatype, packed.address, 32) == (0, 32)
    wanted = [image.view(np.int32)[:8:2] for image in images]
    np.testing.assert_array_equal(packed.read().view(np.int32), np.concatenate(wanted))

    cleared = [memory.fake(kind, np.zeros(64, np.uint8)) for kind in kinds]
    back = absolute_struct(cleared)
    assert calls.program().unpack(packed.address, 32, 0, 1, back) == (0, 32)
    for buffer, values in zip(cleared, wanted, strict=True):
        np.testing.assert_array_equal(buffer.read().view(np.int32)[:8:2], values)
    datatype.Free()
    back.Free()
