"""The ends of small launches, which a flag tells: more shapes than there are flags, threads that come and go."""

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from mpi4py import MPI

from support import calls
from support.gpu_memory import gpu

pytestmark = pytest.mark.mpi_process()

N_SHAPES, STRIDE = 40, 24
IMAGE = np.random.default_rng(5).integers(0, 256, N_SHAPES * STRIDE * 8, np.uint8)


class Shape:
    """A vector of its own; its launch is replayed from the third time on."""

    def __init__(self, number, kinds):
        self.blocks, self.block = 8 * (number + 1), 4 * (number % 5 + 1)
        self.size = self.blocks * self.block
        self.datatype = MPI.BYTE.Create_vector(self.blocks, self.block, STRIDE).Commit()
        self.source, self.packed = (gpu(kind, np.zeros_like(IMAGE)) for kind in kinds)

    def check(self, image):
        self.source.write(image)
        result = calls.program().pack(self.source.address, 1, self.datatype, self.packed.address, self.size)
        assert result == (0, self.size)
        blocks = image[: self.blocks * STRIDE].reshape(self.blocks, STRIDE)
        np.testing.assert_array_equal(self.packed.read()[: self.size], blocks[:, : self.block].ravel())


def pack_many(seed, kinds):
    numbers = random.Random(seed)
    shapes = [Shape(number, kinds) for number in range(N_SHAPES)]
    for _ in range(6 * N_SHAPES):
        few = numbers.random() < 0.5  # these stay in the cache of launches, the others displace each other
        numbers.choice(shapes[:8] if few else shapes).check(np.roll(IMAGE, numbers.randrange(999)))
    for shape in shapes:
        shape.datatype.Free()


@pytest.mark.parametrize("packed", ["device", "pinned", "managed"])
def test_more_shapes_than_flags(packed):
    pack_many(7, ("device", packed))


def test_threads_that_come_and_go():
    for round_ in range(3):
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda seed: pack_many(seed, ("device", "device")), range(4 * round_, 4 * round_ + 4)))
