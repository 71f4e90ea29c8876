"""Datatypes and operations of float16 and bfloat16 in host memory. In GPU memory: tests/collective."""

import dlpack_objects as of_dlpack
import float16_worker as worker
import numpy as np
import pytest

from tempi import _native

OPERATIONS = {"SUM": np.add, "PROD": np.multiply, "MIN": np.minimum, "MAX": np.maximum}
EVERY_FLOAT16 = np.arange(1 << 16, dtype="u2").view("f2")


def reduced(scalar, operation, a, b):
    result = np.array(b)
    _native.reduce_float16(scalar, operation, a, result)
    return result


def assert_same_floats(found, wanted):
    """The same bits, but for the payload of NaNs."""
    nan = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), nan)
    np.testing.assert_array_equal(found.view("u2")[~nan], wanted.view("u2")[~nan])


@pytest.mark.parametrize("other", [1.0, -0.5, 2.0**-14, 3.0, 2.0**-24, 65504.0, np.inf])
@pytest.mark.parametrize("operation", ["SUM", "PROD"])
@np.errstate(all="ignore")
def test_every_float16(operation, other):
    others = np.full_like(EVERY_FLOAT16, other)
    found = reduced("float16", operation, EVERY_FLOAT16, others)
    assert_same_floats(found, OPERATIONS[operation](others, EVERY_FLOAT16))


@pytest.mark.parametrize("operation", OPERATIONS)
@np.errstate(all="ignore")
def test_random_float16(operation):
    draw = np.random.default_rng(5)
    a, b = (draw.choice(EVERY_FLOAT16, 100_001) for _ in "ab")
    keep = ~(np.isnan(a) | np.isnan(b)) | (operation in ("SUM", "PROD"))
    a, b = a[keep], b[keep]
    found, wanted = reduced("float16", operation, a, b), OPERATIONS[operation](b, a)
    differs = found.view("u2") != wanted.view("u2")
    is_zero = (operation in ("MIN", "MAX")) & (found == 0) & (wanted == 0)  # of -0 and 0 either is the minimum
    assert_same_floats(found[~(differs & is_zero)], wanted[~(differs & is_zero)])


def bfloat16(values):
    bits = np.asarray(values, "f4").view("u4")
    assert (bits & 0xFFFF == 0).all()
    return (bits >> 16).astype("u2")


@pytest.mark.parametrize(
    ("operation", "a", "b", "wanted"),
    [
        ("SUM", 1.0, 2.0**-8, 1.0),  # halfway: to the even one
        ("SUM", 1.0 + 2.0**-7, 2.0**-8, 1.0 + 2.0**-6),
        ("SUM", 1.0, 2.0**-8 + 2.0**-15, 1.0 + 2.0**-7),
        ("SUM", 255 * 2.0**120, 2.0**120, np.inf),
        ("SUM", np.inf, 1.0, np.inf),
        ("PROD", -3.0, 0.5, -1.5),
        ("PROD", 2.0**-126, 2.0**-7, 2.0**-133),
        ("MIN", -2.0, 3.0, -2.0),
        ("MAX", -np.inf, -3.0, -3.0),
    ],
)
def test_bfloat16_is_rounded_to_the_nearest_value(operation, a, b, wanted):
    for pair in ((a, b), (b, a)):
        a_bits, b_bits = (bfloat16(np.full(11, one)) for one in pair)
        found = reduced("bfloat16", operation, a_bits, b_bits)
        np.testing.assert_array_equal(found, bfloat16(np.full(11, wanted)))


def test_bfloat16_of_inf_minus_inf_is_no_number():
    found = reduced("bfloat16", "SUM", bfloat16([np.inf]), bfloat16([-np.inf]))
    assert np.isnan((found.astype("u4") << 16).view("f4")).all()


@pytest.mark.parametrize("buffers", [(bytes(4), bytearray(6)), (bytes(3), bytearray(3))], ids=str)
def test_buffers_that_do_not_fit_are_refused(buffers):
    with pytest.raises(ValueError, match="two buffers of one size: SUM of float16"):
        _native.reduce_float16("float16", "SUM", *buffers)


@pytest.mark.mpi_process(shim=False)
def test_datatypes_of_dtypes():
    from mpi4py import MPI

    import tempi

    assert tempi.datatype("f8") == MPI.DOUBLE
    assert tempi.datatype(np.int32) == MPI.INT32_T
    half, brain = tempi.datatype(np.float16), tempi.datatype("bfloat16")
    assert half != brain
    assert tempi.datatype("float16") is half
    assert [half.Get_size(), brain.Get_size()] == [2, 2]
    for named in ("torch.float16", "torch.bfloat16", "torch.float32"):
        dtype = type("dtype", (), {"__str__": lambda self, named=named: named})()
        assert tempi.datatype(dtype) == tempi.datatype(named.removeprefix("torch."))


@pytest.mark.mpi_process(shim=False)
@pytest.mark.parametrize(
    ("wrong", "shown"),
    [
        ("no type", "'no type'"),
        (None, "None"),
        (3, "3"),
        ({"a": 1}, "{'a': 1}"),
        (np.zeros((9, 9)), "of type ndarray"),
        (type("dtype", (), {"__repr__": lambda _: "torch.float8"})(), "torch.float8"),
    ],
    ids=["text", "None", "number", "dict", "array", "torch"],
)
def test_what_is_no_dtype(wrong, shown):
    import tempi

    with pytest.raises(TypeError) as raised:
        tempi.datatype(wrong)
    assert str(raised.value).startswith(f"dtype is {shown}; it must be a dtype (that of an array is array.dtype)")


@pytest.mark.mpi_process(shim=False)
@pytest.mark.parametrize("wrong", ["SUM", None, sum], ids=str)
def test_what_is_no_operation(wrong):
    import tempi

    with pytest.raises(TypeError) as raised:
        tempi.operation(wrong)
    assert str(raised.value) == f"op is {wrong!r}; it must be MPI.SUM, MPI.PROD, MPI.MIN or MPI.MAX of mpi4py"


@pytest.mark.mpi_process(shim=False)
def test_datatypes_and_operations_tell_what_they_are():
    from mpi4py import MPI

    import tempi

    half = tempi.datatype("float16")
    assert repr(half) == "<tempi.datatype of float16, 2 bytes>"
    assert repr(tempi.datatype("bfloat16")) == "<tempi.datatype of bfloat16, 2 bytes>"
    assert "tempi.datatype" not in repr(half.Create_vector(2, 1, 2))  # it is no float
    assert repr(tempi.operation(MPI.MAX)) == "<tempi.operation of MPI.MAX, for float16 and bfloat16>"


@pytest.mark.mpi_process(shim=False)
def test_views_have_the_datatypes_of_reductions():
    import tempi

    assert tempi.view(np.zeros(3, "f2"))[1:] == [3, tempi.datatype("float16")]
    memory = np.zeros(3, "u2")
    brain = of_dlpack.Handmade(memory.ctypes.data, (3,), code=of_dlpack.BFLOAT, bits=16)
    assert tempi.view(brain)[1:] == [3, tempi.datatype("bfloat16")]


@pytest.mark.mpi_process(shim=False)
def test_they_are_shared_and_cannot_be_freed():
    from mpi4py import MPI

    import tempi

    add = tempi.operation(MPI.SUM)
    assert tempi.operation(MPI.SUM) is add
    for shared in (add, tempi.datatype("float16"), tempi.datatype("bfloat16")):
        with pytest.raises(MPI.Exception):
            shared.Free()
    with pytest.raises(ValueError, match=r"MPI\.SUM, MPI\.PROD, MPI\.MIN and MPI\.MAX"):
        tempi.operation(MPI.BAND)


@pytest.mark.parametrize("how", [{}, {"TEMPI_DISABLE": "1"}], ids=["on", "off"])
def test_host_memory(ranks, how):
    ranks(3, **how).call(worker.host_memory)
