"""HaloExchange of arrays of other libraries, without a copy. CuPy's and Numba's: gpu/test_gpu_halo.py."""

import library_arrays_worker as worker
import pytest

from support import needs


@pytest.mark.parametrize("layout", ["C", "F"])
def test_views_with_the_methods_of_dlpack_only(ranks, layout):
    ranks(3, preload=False).call(worker.of_dlpack, layout)


@needs.torch()
def test_views_of_torch(ranks):
    ranks(3, preload=False).call(worker.of_torch, timeout=60)


@needs.jax()
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_arrays_of_jax(ranks, dtype):
    for error in ranks(3, XLA_PYTHON_CLIENT_PREALLOCATE="false").call(worker.of_jax, dtype, timeout=60):
        assert dtype == "bfloat16" or "array 0 is read-only" in error


def test_read_only_arrays_that_may_be_written(ranks):
    ranks(3, preload=False).call(worker.of_read_only)
