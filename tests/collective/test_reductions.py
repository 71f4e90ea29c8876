"""Reductions of any memory: predefined operations, and one of the program's on a derived datatype, against NumPy."""

import pytest
import reductions_worker as worker

from support import effort

PER_TEST = 200


@pytest.mark.sample(2)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("strategy", ["auto", "oneshot"])
def test_random_reductions(ranks, drawn, strategy, size):
    seeds = [drawn.getrandbits(30) for _ in range(effort.scaled(PER_TEST, least=20))]
    job = ranks(size, TEMPI_DEVICE="fake", TEMPI_STRATEGY=strategy)
    assert job.call(worker.check_seeds, seeds, timeout=120) == [len(seeds)] * size
