"""Datatypes that reach from one memory into another, or very far: the fake device stops a kernel that follows them."""

import numpy as np
import pytest
from mpi4py import MPI

import tempi
from support import calls, memory, two_memories

pytestmark = pytest.mark.mpi_process(TEMPI_DEVICE="fake")

GIB = 1 << 30
IMAGE = np.random.default_rng(5).integers(1, 256, 4096, np.uint8)
KINDS = pytest.mark.parametrize(
    "kinds",
    [
        ("host", "device"),
        ("device", "host"),
        ("device", "device 1"),
        ("device", "managed"),
        ("device", "device"),
        ("host", "device", "device 1"),
        ("device 1", "pinned", "host", "device"),
    ],
    ids="-".join,
)


def images(kinds):
    return [np.roll(IMAGE, -64 * i)[:256] for i in range(len(kinds))]


def check_both_ways(make_type, base, kinds, pieces, count=1):
    """`make_type(addresses)`; `base(addresses)` is the buffer argument; `pieces`: (buffer, first byte, bytes)."""
    sources = [memory.fake(kind, image) for kind, image in zip(kinds, images(kinds), strict=True)]
    size = sum(n for _, _, n in pieces)
    packed = memory.Host(np.zeros(size, np.uint8))
    addresses = [buffer.address for buffer in sources]
    datatype = make_type(addresses).Commit()
    assert calls.program().pack(base(addresses), count, datatype, packed.address, size) == (0, size)
    datatype.Free()
    wanted = np.concatenate([images(kinds)[b][first : first + n] for b, first, n in pieces])
    np.testing.assert_array_equal(packed.read(), wanted)

    targets = [memory.fake(kind, np.zeros(256, np.uint8)) for kind in kinds]
    addresses = [buffer.address for buffer in targets]
    datatype = make_type(addresses).Commit()
    assert calls.program().unpack(packed.address, size, base(addresses), count, datatype) == (0, size)
    datatype.Free()
    for b, target in enumerate(targets):
        expected = np.zeros(256, np.uint8)
        for which, first, n in pieces:
            if which == b:
                expected[first : first + n] = images(kinds)[b][first : first + n]
        np.testing.assert_array_equal(target.read(), expected)


@KINDS
def test_mpi_bottom_struct_of_equal_members(kinds):
    """Two members are always at regular distances: they must not become one box of two memories."""
    pieces = [(b, 0, 48) for b in range(len(kinds))]
    check_both_ways(lambda at: MPI.DOUBLE.Create_hindexed_block(6, at), lambda at: 0, kinds, pieces)


@pytest.mark.parametrize("kinds", [("host", "device"), ("device", "device 1"), ("managed", "device 1")])
def test_mpi_bottom_loop_over_two_memories(kinds):
    """The same distances within both memories: a nest whose outer loop leads from one into the other."""
    pieces = [(b, 24 * i, 8) for b in range(2) for i in range(4)]
    check_both_ways(
        lambda at: MPI.BYTE.Create_hindexed_block(8, [a + 24 * i for a in at for i in range(4)]),
        lambda at: 0,
        kinds,
        pieces,
    )


@pytest.mark.parametrize("kinds", [("host", "device"), ("device", "host"), ("device", "device 1")])
def test_second_element_lies_in_another_memory(kinds):
    """The extent leads from one memory into the other: each element alone is in one place."""

    def make(at):
        block = MPI.INT.Create_vector(4, 1, 2)
        moved = MPI.Datatype.Create_struct([1], [at[0]], [block])
        spread = moved.Create_resized(0, at[1] - at[0])
        block.Free()
        moved.Free()
        return spread

    pieces = [(b, 8 * i, 4) for b in range(2) for i in range(4)]
    check_both_ways(make, lambda at: 0, kinds, pieces, count=2)


@two_memories.cases
def test_mpi_bottom_struct_of_ordinary_and_gpu_memory(order, packed_kind, direction):
    """The packed side has to be copied if one of the two sides is memory unknown to CUDA."""
    two_memories.check(memory.fake, order, packed_kind, direction)


@KINDS
def test_members_are_reached_from_a_header_elsewhere(kinds):
    """Displacements from the first buffer into the others, not MPI_BOTTOM: a host header with device arrays."""

    def make(at):
        column = MPI.SHORT.Create_vector(10, 1, 3)
        struct = MPI.Datatype.Create_struct([1] * len(at), [a - at[0] for a in at], [column] * len(at))
        column.Free()
        return struct

    pieces = [(b, 6 * i, 2) for b in range(len(kinds)) for i in range(10)]
    check_both_ways(make, lambda at: at[0], kinds, pieces)


class Sparse:
    """A large array on the fake device, of which only a few places are used."""

    def __init__(self, n_bytes, ordinal=0):
        from tempi.testing import FakeArray

        self.array = FakeArray(n_bytes, np.uint8, ordinal=ordinal)
        self.address = self.array.address

    def write(self, at, values):
        view = self.array.from_element(at)
        view.shape = (len(values),)
        view.copy_from(values)

    def read(self, at, n_bytes):
        view = self.array.from_element(at)
        view.shape = (n_bytes,)
        return view.to_numpy()


def check_far(datatype, source, target, places, block):
    for i, at in enumerate(places):
        source.write(at, IMAGE[i * block : (i + 1) * block])
        target.write(at - 16, np.zeros(block + 32, np.uint8))
    size = len(places) * block
    packed = memory.Host(np.zeros(size, np.uint8))
    assert calls.program().pack(source.address, 1, datatype, packed.address, size) == (0, size)
    np.testing.assert_array_equal(packed.read(), IMAGE[:size])
    assert calls.program().unpack(packed.address, size, target.address, 1, datatype) == (0, size)
    for i, at in enumerate(places):
        wanted = np.pad(IMAGE[i * block : (i + 1) * block], 16)
        np.testing.assert_array_equal(target.read(at - 16, block + 32), wanted)
    datatype.Free()


def test_span_above_4_gib():
    source, target = Sparse(7 * GIB), Sparse(7 * GIB)
    step = 5 * GIB // 4 + 96
    places = [64 + i * step for i in range(5)]
    assert places[-1] > 5 * GIB
    regular = MPI.BYTE.Create_hvector(5, 32, step)
    check_far(MPI.BYTE.Create_struct([1], [64], [regular]).Commit(), source, target, places, 32)
    regular.Free()
    irregular = [64, 5 * GIB + 80, 3 * GIB, 2 * GIB + 160, 6 * GIB, 4 * GIB + 240]
    check_far(MPI.BYTE.Create_hindexed_block(32, irregular).Commit(), source, target, irregular, 32)
    odd = [65, 5 * GIB + 81, 3 * GIB + 7, 6 * GIB + 3]
    check_far(MPI.BYTE.Create_hindexed_block(31, odd).Commit(), source, target, odd, 31)


@pytest.mark.mpi_process(TEMPI_FAKE_SEED="11")  # a process of its own, whose memory is not cut up yet
def test_regular_distances_over_two_gpus_above_4_gib():
    """Four members at one distance, the middle of which leads from one GPU into the next."""
    first, second = Sparse(18 * GIB), Sparse(18 * GIB, ordinal=1)
    distance = 16 * GIB
    start = second.address - 2 * distance + GIB
    assert first.address <= start < first.address + GIB * 2
    addresses = [start + i * distance for i in range(4)]
    owners = [first, first, second, second]
    for i, (owner, address) in enumerate(zip(owners, addresses, strict=True)):
        owner.write(address - owner.address, IMAGE[i * 64 : (i + 1) * 64])
    datatype = MPI.DOUBLE.Create_hindexed_block(8, addresses).Commit()
    packed = memory.Host(np.zeros(256, np.uint8))
    assert calls.program().pack(0, 1, datatype, packed.address, 256) == (0, 256)
    np.testing.assert_array_equal(packed.read(), IMAGE[:256])
    reversed_image = memory.Host(IMAGE[:256][::-1])
    assert calls.program().unpack(reversed_image.address, 256, 0, 1, datatype) == (0, 256)
    for i, (owner, address) in enumerate(zip(owners, addresses, strict=True)):
        np.testing.assert_array_equal(owner.read(address - owner.address, 64), IMAGE[:256][::-1][i * 64 : (i + 1) * 64])
    datatype.Free()


def test_nothing_is_left_queued():
    assert tempi._library.library().fake_unfinished() == 0
