"""Contiguous data described by derived datatypes: a CUDA-aware library gets plain bytes of it, others staged ones."""

import pytest

from support.ranks import Ranks


@pytest.fixture(scope="module", params=["auto", "device", "oneshot"])
def job(request):
    with Ranks(2, {"TEMPI_STRATEGY": request.param, "TESTS_MEMORY": "gpu"}) as ranks:
        yield ranks


@pytest.mark.parametrize("kind", ["device", "managed", "pool"])
def test_contiguous_derived_datatypes_arrive(job, kind):
    import gpu_contiguous_worker as worker

    assert all(checked == 30 for checked in job.call(worker.exchange, kind, 11, timeout=60))
